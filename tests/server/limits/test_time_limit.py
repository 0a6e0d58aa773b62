"""The time that one request has."""

import asyncio
from functools import partial

import pytest

from server.errors import ApiError, Code
from server.limits.time_limit import TimeLimit, current_limit, limited
from server.telemetry.labels import AbortCause

STOPPING = ApiError(Code.STOPPING, "stopping")


async def done() -> str:
    await asyncio.sleep(0)
    return "done"


async def never(cleaned: list[str] | None = None) -> None:
    try:
        await asyncio.Future()
    finally:
        if cleaned is not None:
            await asyncio.sleep(0)
            cleaned.append("up")


async def test_what_is_done_in_time_is_returned() -> None:
    """The limit is not in the way of what keeps it."""
    limit = TimeLimit(60)

    assert await limit.wait(done) == "done"
    assert limit.ended is None


async def test_what_takes_longer_is_cancelled_and_has_cleaned_up() -> None:
    """The error names the way out, and tells SDKs not to send the same again by themselves."""
    cleaned: list[str] = []

    with pytest.raises(ApiError) as failure:
        await TimeLimit(0.01).wait(partial(never, cleaned))

    assert failure.value.kind is Code.REQUEST_TIMEOUT
    assert failure.value.headers["x-should-retry"] == "false"
    assert "0.01 s" in failure.value.message
    assert cleaned == ["up"]


async def test_a_limit_that_has_passed_ends_what_never_waits() -> None:
    """A source that always has something ready does not go on for ever."""
    limit = TimeLimit(0.01)
    await asyncio.sleep(0.02)

    with pytest.raises(ApiError):
        await limit.wait(done)
    assert limit.ended is AbortCause.TIMEOUT


async def test_the_limit_of_a_waiting_request_can_be_cut() -> None:
    """A server that stops ends with its own error what would have had more time, and at once."""
    limit = TimeLimit(60)
    waiting = asyncio.create_task(limit.wait(never))
    await asyncio.sleep(0)
    limit.cut(0, STOPPING, AbortCause.STOPPING)

    with pytest.raises(ApiError) as failure:
        await waiting
    assert failure.value is STOPPING
    assert limit.ended is AbortCause.STOPPING


async def test_a_limit_is_never_extended() -> None:
    """What ends sooner by itself ends with its own error."""
    limit = TimeLimit(0.01)
    limit.cut(60, STOPPING, AbortCause.STOPPING)

    with pytest.raises(ApiError) as failure:
        await limit.wait(never)
    assert failure.value.kind is Code.REQUEST_TIMEOUT
    assert limit.ended is AbortCause.TIMEOUT


async def test_who_is_cancelled_at_the_same_time_stays_cancelled() -> None:
    """The server that ends a task for good must not get an answer from it."""
    limit = TimeLimit(0.01)
    waiting = asyncio.create_task(limit.wait(never))
    asyncio.get_running_loop().call_later(0.01, waiting.cancel)

    [ended] = await asyncio.gather(waiting, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)


async def test_a_time_out_of_the_work_itself_is_its_own() -> None:
    """It says nothing about the request's time."""

    async def fail() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await TimeLimit(60).wait(fail)


async def test_the_limit_is_that_of_the_request_being_answered() -> None:
    """It reaches threads too, and outside of a request there is none."""
    limit = TimeLimit(60)
    with limited(limit):
        assert await asyncio.to_thread(current_limit) is limit

    assert current_limit().ended is None
    assert await current_limit().wait(done) == "done"
