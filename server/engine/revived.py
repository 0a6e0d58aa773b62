"""An engine that is started anew when it has died, behind the same `Engine` protocol.

    engine = RevivedEngine(await start(), start, attempts=5, took=20, counted=metrics.count_restart)
    async for output in engine.generate(…):    # raises `EngineRestartingError` if the engine dies meanwhile
        …
    await engine.check()                       # so does this, until the new one can generate

What ran in the old engine is lost with it: its requests end with an error, and can be sent again. The server
process stays, and with it the port, the metrics and all that a request needs but the engine.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from server.engine.memory import return_memory
from server.engine.protocol import Engine, EngineDeadError, EngineError, EngineRestartingError, Output
from server.request import SamplingParams
from server.telemetry.labels import Restart

log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 1.0
"""Before the second attempt; doubled before each one after it."""
LONGEST_PAUSE_SECONDS = 60.0
LONGEST_RETRY_SECONDS = 60
"""The official SDKs do not wait longer than that, whatever they are told."""


@dataclass(frozen=True, slots=True)
class Serving:
    """There is an engine."""

    engine: Engine


@dataclass(frozen=True, slots=True)
class Restarting:
    """The engine has died, and another one is started."""

    since: float


@dataclass(frozen=True, slots=True)
class Lost:
    """There is no engine, and will be none."""

    reason: str


class RevivedEngine:
    """An engine and how to start it; belongs to the event loop of its first use."""

    def __init__(
        self,
        engine: Engine,
        start: Callable[[], Awaitable[Engine]],
        *,
        attempts: int,
        took: float,
        counted: Callable[[Restart], None],
    ) -> None:
        """`start` makes another engine, or raises `EngineError`; `attempts` may fail in a row.

        `took`: the seconds that the first one needed, from which clients are told when to come again.
        """
        self.max_model_len = engine.max_model_len
        self.version = engine.version
        self._start = start
        self._attempts = attempts
        self._took = took
        self._counted = counted
        self._state: Serving | Restarting | Lost = Serving(engine)
        self._reviving: asyncio.Task[None] | None = None

    async def generate(
        self, request_id: str, prompt: Sequence[int], sampling: SamplingParams, structural_tag: str | None
    ) -> AsyncGenerator[Output, None]:
        """Generate one sequence; see `server.engine.protocol.Engine.generate`."""
        engine = self._living()
        try:
            async with aclosing(engine.generate(request_id, prompt, sampling, structural_tag)) as outputs:
                async for output in outputs:
                    yield output
        except EngineDeadError as error:
            raise self._died(engine) from error

    @property
    def unfinished(self) -> int:
        """How many requests the engine has not finished; none while there is no engine."""
        return self._state.engine.unfinished if isinstance(self._state, Serving) else 0

    async def check(self) -> None:
        """Raise `EngineRestartingError` while another is started, `EngineDeadError` if none will be."""
        engine = self._living()
        try:
            await engine.check()
        except EngineDeadError as error:
            raise self._died(engine) from error

    async def close(self) -> None:
        """Stop the engine; one that is being started is awaited, as it cannot be left half made."""
        state, self._state = self._state, Lost("The engine was stopped.")
        if self._reviving is not None:
            await self._reviving
        if isinstance(state, Serving):
            await state.engine.close()

    def _living(self) -> Engine:
        match self._state:
            case Serving(engine):
                return engine
            case Restarting(since):
                left = math.ceil(self._took - (time.monotonic() - since))
                seconds = min(max(left, 1), LONGEST_RETRY_SECONDS)
                raise EngineRestartingError("The engine has stopped and is being started again.", seconds)
            case Lost(reason):
                raise EngineDeadError(reason)

    def _died(self, engine: Engine) -> EngineError:
        """What those are told that used this engine. The first of them has it started anew."""
        if self._state == Serving(engine):
            log.error("The engine has stopped; it is started again.")
            self._state = Restarting(time.monotonic())
            self._reviving = asyncio.create_task(self._revive(engine))
        try:
            self._living()
        except EngineError as error:
            return error
        return EngineRestartingError("The engine stopped, and has been started again.", 1)

    async def _revive(self, dead: Engine) -> None:
        await self._bury(dead)
        del dead  # or this frame would keep it
        return_memory()
        reason = "no attempt to start it again was allowed"
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(min(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), LONGEST_PAUSE_SECONDS))
            if isinstance(self._state, Lost):
                return
            began = time.monotonic()
            try:
                engine = await self._start()
            except EngineError as error:
                reason = str(error)
                self._counted(Restart.FAILED)
                # Its reason is in the message, and the frames of vLLM are not for whoever reads the log.
                left = self._attempts - attempt - 1
                log.error("The engine did not start; %d more attempts: %s", left, error)  # noqa: TRY400
            else:
                await self._take(engine, time.monotonic() - began)
                return
        self._state = Lost(f"The engine has stopped and could not be started again: {reason}")

    async def _bury(self, engine: Engine) -> None:
        """Free what is left of it: the memory of its processes, above all."""
        try:
            await engine.close()
        except Exception:  # a dead engine may fail in any way, and must not keep the next one from starting
            log.exception("What was left of the engine could not be closed.")

    async def _take(self, engine: Engine, took: float) -> None:
        if isinstance(self._state, Lost):
            await engine.close()
            return
        self._counted(Restart.STARTED)
        self._took = took
        return_memory()  # once more: requests that have ended since have let go of the old engine
        self._state = Serving(engine)
        log.warning("The engine is back after %.1f s.", took)
