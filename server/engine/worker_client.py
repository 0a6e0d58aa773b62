"""One vLLM server that generates for us over HTTP, or a router with several behind it.

    worker = WorkerClient("http://10.0.0.2:8000", http, wanted)
    await worker.look()                        # worker.standing is Standing.UP
    async for output in worker.generate(…):    # raises `WorkerLostError` when the worker goes away
        …

A worker is only used once it has been seen to serve our model. One that goes away is asked again: what comes
back at its address may be another model.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath
from typing import Any

import httpx2

from server.engine import wire
from server.engine.protocol import EngineError, Output, WorkerLostError
from server.telemetry.tracing import trace_headers

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often a worker is asked for its health."""
UNFIT_SECONDS = 10.0
"""How often one is looked at that serves something else."""
ANSWER_SECONDS = 5.0
"""How long its answer about itself may take."""
TRIAL_SECONDS = 180.0
"""How long it may take to be tried: with its first tokens, vLLM may compile, and it may be busy."""
RETRY_SECONDS = 2
"""What clients are told to wait when a worker was lost: others may serve them at once."""


class Standing(Enum):
    """What is known of a worker."""

    UNKNOWN = "unknown"
    """It has not answered, or not since it went away."""
    UP = "up"
    FAILED = "failed"
    """It lost a request, and has not been asked since."""
    UNFIT = "unfit"
    """It serves something else."""


USABLE = (Standing.UP, Standing.FAILED)
"""A worker that failed once is still the best there is if no other is up."""


class SlowError(WorkerLostError):
    """A worker takes its time to answer."""


class UnfitError(EngineError):
    """A worker does not serve our model."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a worker has to serve: one of these names, and token ids below `vocabulary`."""

    names: tuple[str, ...]
    vocabulary: int

    def names_one(self, name: str) -> bool:
        """Whether a name is one of ours. Directories differ from machine to machine: the last part counts."""
        return last_part(name) in map(last_part, self.names)


def last_part(name: str) -> str:
    return PurePosixPath(name).name.casefold()


class WorkerClient:
    """A worker and what is known of it; belongs to one event loop."""

    def __init__(self, url: str, http: httpx2.AsyncClient, wanted: Wanted) -> None:
        self.url = url.rstrip("/")
        self.standing = Standing.UNKNOWN
        self.trouble = "it was not asked yet"
        """Why it is not up."""
        self.settled = asyncio.Event()
        """Set once it is known whether it serves our model."""
        self.running = 0
        self.model = ""
        self.max_model_len = 0
        self.version = "vllm"
        self._http = http
        self._wanted = wanted

    async def generate(
        self,
        request_id: str,
        prompt: Sequence[int],
        sampling: Mapping[str, Any],
        structural_tag: str | None = None,
        *,
        alternatives: int = 0,
    ) -> AsyncGenerator[Output, None]:
        """Generate one sequence. Closing the iterator closes the stream, which aborts it in the worker.

        Raises `WorkerLostError` if the stream ends before the answer does, `EngineError` if it is refused.
        """
        body = wire.request_body(request_id, self.model, prompt, sampling, structural_tag)
        last: Output | None = None
        self.running += 1
        try:
            async with aclosing(self._events(body, alternatives)) as events:
                async for event in events:
                    match event:
                        case wire.Usage(cached_tokens) if last is not None:
                            last = Output(last.token_ids, last.finish, last.logprobs, cached_tokens)
                        case Output(finish=None):
                            yield event
                        case Output():
                            last = event  # what the prefix cache paid for is told after it
        except WorkerLostError:
            if last is None:
                raise
        finally:
            self.running -= 1
        if last is None:
            raise self._lost("its stream ended without a finish reason")
        yield last

    async def _events(self, body: Mapping[str, Any], alternatives: int) -> AsyncGenerator[wire.Event, None]:
        try:
            async with self._http.stream(
                "POST", f"{self.url}{wire.PATH}", json=body, headers=trace_headers()
            ) as response:
                if response.status_code != httpx2.codes.OK:
                    await response.aread()
                    raise self._failed(wire.refusal(response.status_code, response.text))
                async for line in response.aiter_lines():
                    data = line.removeprefix("data:").strip()
                    if line.startswith("data:") and data != wire.DONE:
                        event = wire.read_event(data, alternatives)
                        if isinstance(event, wire.Failure):
                            raise self._failed(event)
                        if isinstance(event, wire.Stopped):
                            raise self._lost("it is being stopped")
                        yield event
        except httpx2.HTTPError as error:
            raise self._lost(reason_of(error)) from error

    def _failed(self, failure: wire.Failure) -> EngineError:
        """What a failure means: ours are told to whoever asked, the worker's may go better elsewhere."""
        busy = failure.status in (httpx2.codes.REQUEST_TIMEOUT, httpx2.codes.TOO_MANY_REQUESTS)
        if failure.status < 500 and not busy:
            return EngineError(f"The engine refused the request: {failure.message}")
        return self._lost(failure.message)

    def _lost(self, reason: str) -> WorkerLostError:
        if self.standing is Standing.UP:
            self.standing = Standing.FAILED
        self.trouble = reason
        # Clients need not know addresses and the like: the reason is for the log.
        return WorkerLostError("The engine worker of this request was lost.", RETRY_SECONDS)

    async def watch(self) -> None:
        """Keep what is known of the worker up to date, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(UNFIT_SECONDS if self.standing is Standing.UNFIT else LOOK_SECONDS)

    async def look(self) -> None:
        """Ask the worker how it is and, if it is new, what it serves."""
        before, trouble = self.standing, self.trouble
        try:
            await self._ask_health()
            if before in (Standing.UNKNOWN, Standing.UNFIT):
                async with asyncio.timeout(TRIAL_SECONDS):
                    await self._admit()
        except UnfitError as error:
            self.standing, self.trouble = Standing.UNFIT, str(error)
        except SlowError:
            # Not gone, so it need not be tried again, which would only make it slower.
            self.standing = Standing.FAILED if before in USABLE else Standing.UNKNOWN
        except EngineError:
            self.standing = Standing.UNKNOWN
        except TimeoutError:
            self.standing, self.trouble = Standing.UNKNOWN, f"no token came within {TRIAL_SECONDS:.0f} s"
        else:
            self.standing = Standing.UP
        if self.standing in (Standing.UP, Standing.UNFIT):
            self.settled.set()
        if self.standing is not before or (self.standing is not Standing.UP and self.trouble != trouble):
            self._tell()

    async def _ask_health(self) -> None:
        try:
            await self._get("/health")
        except SlowError:
            raise
        except WorkerLostError:
            # A router's health is that of all its workers, while its readiness needs only one of them.
            await self._get("/readiness")

    def _tell(self) -> None:
        if self.standing is Standing.UP:
            log.info("The engine worker %s is up.", self.url)
        else:
            log.error("The engine worker %s is not used: %s", self.url, self.trouble)

    async def _admit(self) -> None:
        """See that it serves our model. Raises `UnfitError` if not, `WorkerLostError` if it goes away."""
        await self._read_card()
        await self._read_version()
        await self._try(self._wanted.vocabulary - 1)
        try:
            await self._try(self._wanted.vocabulary)
        except UnfitError:
            return
        raise UnfitError(f"The worker {self.url} has more than our {self._wanted.vocabulary} tokens.")

    async def _read_card(self) -> None:
        response = await self._get("/v1/models")
        try:
            cards = response.json()["data"]
            card = next((each for each in cards if self._serves_ours(each)), None)
            if card is not None:
                self.model, self.max_model_len = str(card["id"]), int(card["max_model_len"])
                return
            served = ", ".join(repr(each["id"]) for each in cards)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnfitError(f"The worker {self.url} does not answer as vLLM does.") from error
        raise UnfitError(
            f"The worker {self.url} serves {served}, not {self._wanted.names[0]!r}. If they are the same "
            "model, name them alike with --served-model-name."
        )

    async def _read_version(self) -> None:
        """Find out what `/version` of ours will name; not every router passes the question on."""
        with suppress(EngineError, ValueError, KeyError, TypeError):
            self.version = f"vllm {(await self._get('/version')).json()['version']}"

    def _serves_ours(self, card: Mapping[str, Any]) -> bool:
        return any(self._wanted.names_one(card[key]) for key in ("id", "root") if card.get(key))

    async def _try(self, token: int) -> None:
        """Have one token generated behind `token`. Raises `UnfitError` if the worker does not know it."""
        try:
            async for _ in self.generate("trial", [token], {"max_tokens": 1, "detokenize": False}):
                pass
        except WorkerLostError:
            raise
        except EngineError as error:
            raise UnfitError(f"The worker {self.url} does not take our tokens: {error}") from error

    async def _get(self, path: str) -> httpx2.Response:
        try:
            response = await self._http.get(f"{self.url}{path}", timeout=ANSWER_SECONDS)
        except httpx2.TimeoutException as error:
            self.trouble = f"{path} does not answer within {ANSWER_SECONDS:.0f} s"
            raise SlowError(self.trouble, RETRY_SECONDS) from error
        except httpx2.HTTPError as error:
            raise self._lost(reason_of(error)) from error
        if response.status_code in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            raise UnfitError(f"The worker {self.url} does not take our key: see --engine-api-key.")
        if response.status_code != httpx2.codes.OK:
            raise self._lost(f"{path} answers {response.status_code}")
        return response


def reason_of(error: httpx2.HTTPError) -> str:
    return str(error) or type(error).__name__
