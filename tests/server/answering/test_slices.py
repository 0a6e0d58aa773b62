"""Large outputs in slices: nothing is lost, and others have their turn between them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from server.answering.slices import SLICE, in_slices
from server.engine.protocol import Finish, Output, TokenLogprob


async def one(*outputs: Output) -> AsyncGenerator[Output, None]:
    for output in outputs:
        yield output


async def test_an_output_of_ordinary_size_is_not_touched() -> None:
    """It is the same object, up to the largest size."""
    outputs = [Output((1, 2)), Output(tuple(range(SLICE)), Finish.STOP)]

    found = [output async for output in in_slices(one(*outputs))]

    assert all(after is before for after, before in zip(found, outputs, strict=True))


async def test_a_large_output_comes_in_parts_that_join_to_it() -> None:
    """Tokens and their log probabilities stay together, and only the last part says the finish."""
    ids = tuple(range(2 * SLICE + 1))
    logprobs = tuple(TokenLogprob(token_id, -1.0) for token_id in ids)

    parts = [part async for part in in_slices(one(Output(ids, Finish.LENGTH, logprobs, 7)))]

    assert [len(part.token_ids) for part in parts] == [SLICE, SLICE, 1]
    assert sum((part.token_ids for part in parts), ()) == ids
    assert sum((part.logprobs for part in parts), ()) == logprobs
    assert [part.finish for part in parts] == [None, None, Finish.LENGTH]
    assert {part.cached_tokens for part in parts} == {7}


async def test_a_whole_number_of_parts_ends_with_the_finish() -> None:
    """No empty part comes behind."""
    parts = [part async for part in in_slices(one(Output(tuple(range(2 * SLICE)), Finish.STOP)))]

    assert [(len(part.token_ids), part.finish) for part in parts] == [(SLICE, None), (SLICE, Finish.STOP)]


async def test_other_tasks_run_between_the_parts() -> None:
    """However many tokens one stream gets at once, another waits for one part at most."""
    seen: list[str] = []

    async def other() -> None:
        for _ in range(3):
            seen.append("other")
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    parts = in_slices(one(Output(tuple(range(3 * SLICE)))))
    while await anext(parts, None):
        seen.append("part")
    await task

    assert seen == ["part", "other"] * 3


async def test_closing_closes_the_source() -> None:
    """A client that leaves ends the request in the engine."""
    closed = False

    async def source() -> AsyncGenerator[Output, None]:
        nonlocal closed
        try:
            yield Output(tuple(range(2 * SLICE)))
        finally:
            closed = True

    async with aclosing(in_slices(source())) as parts:
        await anext(parts)

    assert closed
