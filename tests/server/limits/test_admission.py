"""How many requests run, how many wait, and who is refused."""

import asyncio
from contextlib import ExitStack

import pytest

from server.errors import ApiError, Code
from server.limits.admission import Admission
from server.limits.time_limit import TimeLimit
from server.telemetry.labels import AbortCause
from server.telemetry.metrics import Metrics


@pytest.fixture(name="metrics")
def _metrics() -> Metrics:
    return Metrics()


def admission(metrics: Metrics, *, running: int = 1, waiting: int = 0, seconds: float = 60) -> Admission:
    return Admission(running=running, waiting=waiting, seconds=seconds, metrics=metrics)


def figure(metrics: Metrics, series: str) -> float:
    [line] = [each for each in metrics.render().decode().splitlines() if each.startswith(f"{series} ")]
    return float(line.split()[-1])


@pytest.mark.parametrize(("running", "waiting"), [(1, 0), (2, 3)])
async def test_only_so_many_requests_have_a_place(metrics: Metrics, running: int, waiting: int) -> None:
    """One more is refused with 429 and a time to come back; a place that is given up can be taken (B225)."""
    gate = admission(metrics, running=running, waiting=waiting)
    with ExitStack() as stack:
        for _ in range(running + waiting):
            stack.enter_context(gate.place())
        with pytest.raises(ApiError) as refusal, gate.place():
            pass
        assert (refusal.value.status, refusal.value.kind) == (429, Code.RATE_LIMITED)
        assert 1 <= int(refusal.value.headers["retry-after"]) <= 60
        assert "--max-queued-requests" in refusal.value.message

    with gate.place():
        pass
    assert figure(metrics, 'strictcall_requests_refused_total{reason="queue_full"}') == 1


async def test_turns_are_taken_in_the_order_of_asking(metrics: Metrics) -> None:
    """Nobody who waits is overtaken by who comes later."""
    gate, done = admission(metrics, running=2), asyncio.Event()
    order: list[int] = []

    async def ask(number: int) -> None:
        async with gate.turn(TimeLimit(None)):
            order.append(number)
            if number < 2:
                await done.wait()

    tasks = [asyncio.create_task(ask(number)) for number in range(6)]
    await asyncio.sleep(0.01)
    figures = [figure(metrics, f"strictcall_requests_{name}") for name in ("running", "waiting")]
    done.set()
    await asyncio.gather(*tasks)

    assert figures == [2, 4]
    assert order == list(range(6))
    assert [figure(metrics, f"strictcall_requests_{name}") for name in ("running", "waiting")] == [0, 0]


@pytest.mark.parametrize("how", ["time", "cancelled"])
async def test_who_stops_waiting_for_a_turn_leaves_none_behind(metrics: Metrics, how: str) -> None:
    """Its time has ended or its client has left: the next turn is another one's (B275)."""
    gate = admission(metrics)
    async with gate.turn(TimeLimit(None)):
        waiting = asyncio.create_task(gate.turn(TimeLimit(0.02 if how == "time" else 60)).__aenter__())
        await asyncio.sleep(0.01)
        if how == "cancelled":
            waiting.cancel()
        [ended] = await asyncio.gather(waiting, return_exceptions=True)

    assert isinstance(ended, ApiError if how == "time" else asyncio.CancelledError)
    assert figure(metrics, "strictcall_requests_waiting") == 0
    async with asyncio.timeout(1), gate.turn(TimeLimit(None)):
        pass


@pytest.mark.parametrize(("asked", "given"), [(None, 0.02), (60, 0.02), (0.02, 60)])
async def test_the_time_of_a_request_is_the_lesser_of_two(
    metrics: Metrics, asked: float | None, given: float
) -> None:
    """Clients can only shorten what the server allows."""
    with admission(metrics, seconds=given).place(asked) as limit:
        assert limit.ended is None
        await asyncio.sleep(0.03)
        assert limit.ended is AbortCause.TIMEOUT


async def test_a_server_that_stops_takes_no_more_and_ends_what_runs(metrics: Metrics) -> None:
    """What has a place keeps it for the drain time, and then ends with the error that newcomers get."""
    gate = admission(metrics)
    with gate.place() as limit:
        gate.stop(0.02)
        assert limit.ended is None
        with pytest.raises(ApiError) as refusal, gate.place():
            pass
        with pytest.raises(ApiError) as end:
            await limit.wait(asyncio.Future[None])

    assert gate.stopping
    assert {refusal.value.kind, end.value.kind} == {Code.STOPPING}
    assert refusal.value.headers["retry-after"]
    assert limit.ended is AbortCause.STOPPING
    assert figure(metrics, 'strictcall_requests_refused_total{reason="stopping"}') == 1
