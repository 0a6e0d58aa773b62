"""The scripted engine keeps the contract of the real one, so that what is tested on it holds."""

import asyncio
import contextlib

import pytest

from server.engine.protocol import Engine, EngineDeadError, EngineError, Finish, Output, TokenLogprob
from server.engine.scripted import Asked, Ending, Script, ScriptedEngine
from server.request import SamplingParams


async def replay(engine: Engine, *, max_tokens: int = 100, logprobs: int | None = None) -> list[Output]:
    sampling = SamplingParams(max_tokens=max_tokens, logprobs=logprobs)
    return [output async for output in engine.generate("req", (1, 2), sampling, "tag")]


async def test_a_script_is_replayed_step_by_step() -> None:
    """Each delta is one output, and the last says why it ended."""
    engine = ScriptedEngine([Script([(5, 6), (7,)], cached_tokens=1)])

    assert await replay(engine) == [
        Output((5, 6), None, cached_tokens=1),
        Output((7,), Finish.STOP, cached_tokens=1),
    ]


async def test_requests_are_recorded_as_they_came() -> None:
    """A test can see what the engine was asked: prompt, sampling and structural tag."""
    engine = ScriptedEngine([Script([(5,)])])
    await replay(engine, max_tokens=9)

    assert engine.asked == [Asked("req", (1, 2), SamplingParams(max_tokens=9), "tag", Ending.FINISHED)]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        pytest.param(1, [Output((5,), Finish.LENGTH)], id="inside-a-delta"),
        pytest.param(2, [Output((5, 6), Finish.LENGTH)], id="between-deltas"),
        pytest.param(3, [Output((5, 6)), Output((7,), Finish.STOP)], id="exactly-enough"),
    ],
)
async def test_the_token_budget_cuts_the_script(budget: int, expected: list[Output]) -> None:
    """`max_tokens` ends a request with `length`, unless its end token was the last that fitted."""
    engine = ScriptedEngine([Script([(5, 6), (7,)])])

    assert await replay(engine, max_tokens=budget) == expected


async def test_an_error_comes_after_the_deltas() -> None:
    """A failure in the middle is seen after what was generated before it."""
    engine = ScriptedEngine([Script([(5,), (6,)], error=EngineError("it broke"))])
    stream = engine.generate("req", (), SamplingParams(max_tokens=9), None)

    assert [await anext(stream), await anext(stream)] == [Output((5,)), Output((6,))]
    with pytest.raises(EngineError, match="it broke"):
        await anext(stream)
    assert engine.asked[0].ending is Ending.FAILED


async def test_a_budget_that_ends_before_the_error_hides_it() -> None:
    """A request that is complete cannot fail any more."""
    engine = ScriptedEngine([Script([(5,), (6,)], error=EngineError("it broke"))])

    assert await replay(engine, max_tokens=1) == [Output((5,), Finish.LENGTH)]
    assert engine.asked[0].ending is Ending.FINISHED


async def test_a_consumer_that_leaves_early_is_recorded() -> None:
    """Closing the iterator is what aborts a request: tests can see that it was done."""
    engine = ScriptedEngine([Script([(5,), (6,)])])
    async with contextlib.aclosing(engine.generate("req", (), SamplingParams(max_tokens=9), None)) as stream:
        await anext(stream)

    assert engine.asked[0].ending is Ending.CLOSED


async def test_a_gate_holds_the_steps_back() -> None:
    """Nothing comes before the test opens the gate, and a waiting consumer can be cancelled."""
    gate = asyncio.Event()
    engine = ScriptedEngine([Script([(5,)], gate=gate), Script([(6,)], gate=gate)])
    left, kept = (asyncio.create_task(replay(engine)) for _ in range(2))
    await asyncio.sleep(0)
    left.cancel()
    gate.set()

    assert await kept == [Output((6,), Finish.STOP)]
    assert [asked.ending for asked in engine.asked] == [Ending.CLOSED, Ending.FINISHED]


async def test_a_function_may_write_the_scripts() -> None:
    """The answer may depend on the request, as a real one does."""
    engine = ScriptedEngine(lambda asked: Script([asked.prompt]))

    assert await replay(engine) == [Output((1, 2), Finish.STOP)]


async def test_logprobs_are_given_to_those_who_ask() -> None:
    """They are cut to the tokens of each step, and absent if not asked for."""
    known = [TokenLogprob(5, -0.1), TokenLogprob(6, -0.2), TokenLogprob(7, -0.3)]
    engine = ScriptedEngine([Script([(5, 6), (7,)], logprobs=known)] * 2)

    assert [output.logprobs for output in await replay(engine, logprobs=0)] == [tuple(known[:2]), (known[2],)]
    assert [output.logprobs for output in await replay(engine)] == [(), ()]


async def test_a_request_too_many_is_an_error() -> None:
    """A forgotten script fails the test that forgot it, not the one after."""
    engine = ScriptedEngine([])

    with pytest.raises(EngineError, match="No script is left for the request 'req'"):
        await replay(engine)

    assert engine.asked[0].ending is Ending.FAILED


async def test_a_dead_engine_says_so_to_everyone() -> None:
    """Death is seen by the running request, by the next one, and by the health check."""
    gate = asyncio.Event()
    engine = ScriptedEngine([Script([(5,)], gate=gate)])
    running = asyncio.create_task(replay(engine))
    await asyncio.sleep(0)
    await engine.close()
    gate.set()

    with pytest.raises(EngineDeadError):
        await running
    with pytest.raises(EngineDeadError):
        await replay(engine)
    with pytest.raises(EngineDeadError):
        await engine.check()
