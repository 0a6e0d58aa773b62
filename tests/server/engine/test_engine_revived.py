"""An engine that dies is started anew; what ran in it is told so, and nothing else is lost."""

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable

import pytest

from server.engine import revived
from server.engine.memory import set_heap_aside
from server.engine.protocol import Engine, EngineDeadError, EngineError, EngineRestartingError, Finish, Output
from server.engine.revived import RevivedEngine
from server.engine.scripted import Script, ScriptedEngine
from server.request import SamplingParams
from server.telemetry.labels import Restart
from tests.server.shell import make_context


class Starts:
    """How engines are started: each call gives the next of `engines`, or raises it, once `gate` is set."""

    def __init__(self, *engines: ScriptedEngine | EngineError) -> None:
        self.left = list(engines)
        self.calls = 0
        self.counts: list[Restart] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> Engine:
        self.calls += 1
        await self.gate.wait()
        engine = self.left.pop(0)
        if isinstance(engine, EngineError):
            raise engine
        return engine

    def revive(self, engine: ScriptedEngine, *, attempts: int = 3, took: float = 0) -> RevivedEngine:
        return RevivedEngine(engine, self, attempts=attempts, took=took, counted=self.counts.append)


def answering(*tokens: int, times: int = 1) -> ScriptedEngine:
    return ScriptedEngine([Script([tokens])] * times)


async def ask(engine: Engine) -> list[Output]:
    return [output async for output in engine.generate("req", [1], SamplingParams(max_tokens=9), None)]


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    """Wait until a call raises nothing."""
    async with asyncio.timeout(10):
        while True:
            try:
                await holds()
            except EngineRestartingError:
                await asyncio.sleep(0.01)
            else:
                return


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revived, "FIRST_PAUSE_SECONDS", 0.01)


async def test_what_ran_in_an_engine_that_died_ends_with_an_error_and_can_be_sent_again() -> None:
    """The request is not sent again by itself: part of its answer may be with the client."""
    gate = asyncio.Event()
    first, starts = ScriptedEngine([Script([(5,)], gate=gate)]), Starts(answering(7))
    engine = starts.revive(first)
    under_way = asyncio.create_task(ask(engine))
    await asyncio.sleep(0)
    await first.close()
    gate.set()

    with pytest.raises(EngineRestartingError, match="is being started again"):
        await under_way
    await until(engine.check)
    assert await ask(engine) == [Output((7,), finish=Finish.STOP)]
    assert starts.counts == [Restart.STARTED]


async def test_many_requests_lose_one_engine_and_start_one() -> None:
    """However many notice at once."""
    first, starts = answering(5, times=20), Starts(answering(7))
    engine = starts.revive(first)
    await first.close()

    ends = await asyncio.gather(*(ask(engine) for _ in range(20)), return_exceptions=True)

    assert {type(end) for end in ends} == {EngineRestartingError}
    await until(engine.check)
    assert starts.calls == 1


async def test_a_request_between_two_engines_is_told_when_to_come_again() -> None:
    """What the first start took, up to what the SDKs wait for."""
    for took, told in ((0, 1), (17.5, 18), (900, 60)):
        first, starts = answering(5), Starts(answering(7))
        starts.gate.clear()
        engine = starts.revive(first, took=took)
        await first.close()

        with pytest.raises(EngineRestartingError) as caught:
            await ask(engine)

        assert caught.value.retry_after == told
        starts.gate.set()
        await until(engine.check)


async def test_nothing_is_left_of_an_engine_that_died() -> None:
    """Neither its cycles nor that it was set aside keep it: each death would cost the memory of an engine."""
    first, starts = answering(5, times=3), Starts(answering(7))
    gone = weakref.ref(first)
    first.itself = first  # type: ignore[attr-defined]
    engine = starts.revive(first)
    set_heap_aside()
    try:
        await first.close()
        del first
        with pytest.raises(EngineRestartingError):
            await ask(engine)
        await until(engine.check)

        assert gone() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


async def test_an_engine_that_does_not_come_up_is_tried_again() -> None:
    """A start that fails is counted, and the next one may go well."""
    first, starts = answering(5), Starts(EngineError("no memory"), EngineError("no memory"), answering(7))
    engine = starts.revive(first)
    await first.close()

    await until(engine.check)

    assert starts.counts == [Restart.FAILED, Restart.FAILED, Restart.STARTED]


async def test_an_engine_that_fails_too_often_in_a_row_is_given_up() -> None:
    """Whoever waits for it is told the last reason, and nothing is tried any more."""
    first, starts = answering(5), Starts(EngineError("no memory"), EngineError("no driver"))
    engine = starts.revive(first, attempts=2)
    await first.close()

    with pytest.raises(EngineDeadError, match="could not be started again: no driver"):
        await until(engine.check)
    with pytest.raises(EngineDeadError):
        await ask(engine)
    assert starts.calls == 2


async def test_deaths_are_no_failures_to_start() -> None:
    """An engine that comes back may die any number of times."""
    engines = [answering(number) for number in range(8)]
    starts = Starts(*engines[1:])
    engine = starts.revive(engines[0], attempts=2)
    for dying in engines[:-1]:
        await dying.close()
        await until(engine.check)

    assert starts.counts == [Restart.STARTED] * 7


async def test_without_attempts_a_dead_engine_is_dead() -> None:
    """Whoever supervises the process is to start it anew."""
    first, starts = answering(5), Starts()
    engine = starts.revive(first, attempts=0)
    await first.close()

    with pytest.raises(EngineDeadError):
        await until(engine.check)
    assert starts.calls == 0


async def test_an_engine_that_comes_up_while_the_server_stops_is_stopped_too() -> None:
    """Its processes would stay behind."""
    first, second = answering(5), answering(7)
    starts = Starts(second)
    starts.gate.clear()
    engine = starts.revive(first)
    await first.close()
    with pytest.raises(EngineRestartingError):
        await engine.check()
    await asyncio.sleep(0)

    closing = asyncio.create_task(engine.close())
    await asyncio.sleep(0)
    starts.gate.set()
    await closing

    with pytest.raises(EngineDeadError):
        await second.check()
    with pytest.raises(EngineDeadError, match="was stopped"):
        await engine.check()


def test_a_context_takes_it_as_any_engine() -> None:
    """What the path asks of an engine beside answers."""
    engine = Starts().revive(answering(5))

    assert make_context(engine=engine).engine.max_model_len == answering(5).max_model_len
    assert engine.version == answering(5).version
