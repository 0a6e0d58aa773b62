"""Engines elsewhere: vLLM workers that take and give token ids over HTTP, behind the `Engine` protocol.

    engine = await RemoteEngine.connect(["http://10.0.0.2:8000", "http://10.0.0.3:8000"], identity)
    async for output in engine.generate("req-1-0", prompt_ids, sampling, structural_tag):
        output.token_ids     # (28, 42)

A request goes to the worker with the fewest of ours. If that one is lost before it gave a token, the request
goes to another; afterwards it ends with `WorkerLostError`, as the client may have read a part of the answer.
For more than that, name one `vllm-router` as the only worker.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Self

import httpx2

from server.engine.protocol import EngineDeadError, EngineError, Output, WorkerLostError
from server.engine.sampling import model_defaults
from server.engine.wire import sampling_body
from server.engine.worker_client import RETRY_SECONDS, USABLE, Standing, Wanted, WorkerClient
from server.request import SamplingParams
from server.telemetry.labels import Loss

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""How often a request is sent that has given no token."""
PAUSE_SECONDS = 0.5
"""Before it is sent to the same worker again; doubled each time."""
START_SECONDS = 600.0
"""How long the first worker may take to come up: it may be loading its model."""
CONNECT_SECONDS = 5.0
IDLE_SECONDS = 2.0
"""How long a connection is kept for the next request: less than a worker keeps it, so that none is written to
that the worker is about to close."""

Option = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Identity:
    """What the workers have to serve, as this machine knows it."""

    wanted: Wanted
    defaults: Mapping[str, Any]
    """What the model's generation config sets."""

    @classmethod
    def load(cls, model: str, names: Sequence[str]) -> Self:
        """Read it from a directory or hub name. Raises `EngineError` if there is no configuration."""
        from transformers import AutoConfig

        try:
            rows = AutoConfig.from_pretrained(model).get_text_config().vocab_size
        except (OSError, ValueError) as error:
            raise EngineError(f"The configuration of {model!r} cannot be read: {error}") from error
        return cls(Wanted((*names, model), rows), model_defaults(model))


class RemoteEngine:
    """Generates with whichever worker is up. Made by `connect`; belongs to the loop that it was made in."""

    undrafted: str | None = "that is up to the workers"
    """Whether forced tokens are drafted is told by the workers' own metrics."""

    def __init__(
        self,
        workers: Sequence[WorkerClient],
        http: httpx2.AsyncClient,
        defaults: Mapping[str, Any],
        counted: Callable[[Loss], None],
    ) -> None:
        self.max_model_len = 0
        self.version = "vllm"
        self._workers = workers
        self._http = http
        self._defaults = defaults
        self._counted = counted
        self._closed = False
        self._watching = [asyncio.create_task(worker.watch()) for worker in workers]

    @classmethod
    async def connect(
        cls,
        urls: Sequence[str],
        identity: Identity,
        *,
        api_key: str | None = None,
        counted: Callable[[Loss], None],
    ) -> Self:
        """Return once a worker can generate; others may come later. `counted` is told of each loss.

        Raises `EngineError` if one serves another model, or none comes up within `START_SECONDS`.
        """
        http = client(api_key)
        workers = [WorkerClient(url, http, identity.wanted) for url in urls]
        engine = cls(workers, http, identity.defaults, counted)
        try:
            await engine._first()
        except BaseException:  # also where the start is cancelled; it goes on
            await engine.close()
            raise
        return engine

    async def _first(self) -> None:
        waits = [asyncio.create_task(worker.settled.wait()) for worker in self._workers]
        await asyncio.wait(waits, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        for worker in self._workers:
            if worker.standing is Standing.UNFIT:
                raise EngineError(worker.trouble)
        up = [worker for worker in self._workers if worker.standing is Standing.UP]
        if not up:
            told = "; ".join(f"{worker.url}: {worker.trouble}" for worker in self._workers)
            raise EngineError(f"No engine worker came up within {START_SECONDS:.0f} s. {told}")
        self.max_model_len = min(worker.max_model_len for worker in up)
        self.version = up[0].version

    async def generate(
        self, request_id: str, prompt: Sequence[int], sampling: SamplingParams, structural_tag: str | None
    ) -> AsyncGenerator[Output, None]:
        """Generate one sequence; see `server.engine.protocol.Engine.generate`."""
        body = sampling_body(sampling, self._defaults)
        lost: list[WorkerClient] = []
        while True:
            worker = self._choose(lost)
            if worker in lost:
                await asyncio.sleep(PAUSE_SECONDS * 2 ** (len(lost) - 1))
            outputs = worker.generate(
                request_id, prompt, body, structural_tag, alternatives=sampling.logprobs or 0
            )
            begun = False
            try:
                async with aclosing(outputs):
                    async for output in outputs:
                        begun = True
                        yield output
            except WorkerLostError:
                lost.append(worker)
                log.warning("%s was lost by %s: %s", request_id, worker.url, worker.trouble)
                if begun or len(lost) == ATTEMPTS or self._closed:
                    self._counted(Loss.FAILED)
                    raise
                self._counted(Loss.RESENT)
            else:
                return

    def _choose(self, lost: Collection[WorkerClient]) -> WorkerClient:
        """Return the worker to ask: one that has not lost the request, is up, and has the fewest of ours."""
        self._living()
        known = [worker for worker in self._workers if worker.standing in USABLE]
        if not known:
            raise self._none_up()
        return min(known, key=lambda one: (one in lost, one.standing is not Standing.UP, one.running))

    def _living(self) -> None:
        if self._closed:
            raise EngineDeadError("The engine was stopped.")

    def _none_up(self) -> WorkerLostError:
        return WorkerLostError("No engine worker answers at this moment.", RETRY_SECONDS)

    @property
    def unfinished(self) -> int:
        """How many requests of this front end the workers have not finished."""
        return sum(worker.running for worker in self._workers)

    async def check(self) -> None:
        """Raise `WorkerLostError` while no worker is up; each is asked every second."""
        self._living()
        if all(worker.standing is not Standing.UP for worker in self._workers):
            raise self._none_up()

    async def close(self) -> None:
        """Leave the workers; they stay. Requests that are running end with an `EngineError`."""
        self._closed = True
        for task in self._watching:
            task.cancel()
        for task in self._watching:
            with suppress(asyncio.CancelledError):
                await task
        await self._http.aclose()


def client(api_key: str | None) -> httpx2.AsyncClient:
    """An HTTP client that waits as long as a worker lives: a request may wait for its turn for minutes."""
    return httpx2.AsyncClient(
        headers={"authorization": f"Bearer {api_key}"} if api_key else {},
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        transport=httpx2.AsyncHTTPTransport(
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=IDLE_SECONDS),
            socket_options=keep_alive(),
        ),
    )


def keep_alive() -> list[Option]:
    """Have the kernel notice within half a minute that the machine at the other end is gone."""
    options: list[Option] = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if number := getattr(socket, name, None):  # each system has its own
            options.append((socket.IPPROTO_TCP, number, value))
    return options
