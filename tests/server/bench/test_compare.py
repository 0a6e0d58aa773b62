"""Rounds put together: what is pooled, what is a median, and what stays unknown."""

import pytest

from server.bench.client import Timing
from server.bench.compare import Endpoint, Plan, Round, compare, median, percentile, summarize
from server.bench.steps import steps_in
from server.bench.table import as_json, ratios, table
from server.bench.workloads import WORKLOADS

METRICS = """\
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{engine="0",le="1.0"} 3.0
vllm:iteration_tokens_total_count{engine="0",model_name="m"} 12.0
vllm:iteration_tokens_total_count{engine="1",model_name="m"} 5.0
vllm:iteration_tokens_total_sum{engine="0",model_name="m"} 99.0
"""


def timing(total: float, tokens: int = 11) -> Timing:
    return Timing(first=total / 10, total=total, tokens=tokens, prompt_tokens=9, finish="stop")


def rounds(*totals: float, steps: float | None = 11.0, cpu: float | None = 0.11) -> list[Round]:
    return [Round((timing(total),), (), total, steps, cpu) for total in totals]


def test_a_summary_is_the_median_of_all_answers() -> None:
    """One slow round does not move it."""
    row = summarize("ours", "chat", 1, rounds(1.0, 2.0, 10.0))

    assert (row.total, row.total_p95, row.first, row.tokens) == (2.0, 10.0, 0.2, 11)
    assert row.per_token == pytest.approx(0.18)
    assert row.tokens_per_second == pytest.approx(5.5)


def test_steps_and_cpu_are_those_of_all_tokens() -> None:
    """They are counted by the server, for a round as a whole."""
    row = summarize("ours", "chat", 1, rounds(1.0, 2.0))

    assert row.steps_per_token == 1.0
    assert row.cpu_per_1000_tokens == pytest.approx(10.0)


def test_what_a_server_does_not_tell_stays_unknown() -> None:
    """One round without a figure is enough: part of it would be too little."""
    row = summarize("ours", "chat", 1, [*rounds(1.0), *rounds(1.0, steps=None, cpu=None)])

    assert (row.steps_per_token, row.cpu_per_1000_tokens) == (None, None)


def test_failures_are_counted_and_not_timed() -> None:
    """The first one's reason is told."""
    failed = Round((), ("status 500: sorry", "status 500: again"), 0.1, None, None)
    row = summarize("ours", "chat", 1, [*rounds(1.0), failed])

    assert (row.requests, row.failed, row.failure, row.total) == (3, 2, "status 500: sorry", 1.0)


def test_nothing_but_failures_is_a_row_too() -> None:
    """A server that answers nothing has no times, and no ratio either."""
    row = summarize("theirs", "chat", 1, [Round((), ("refused",), 0.1, None, None)])

    assert (row.failed, row.total, row.tokens_per_second) == (1, 0.0, 0.0)
    assert ratios(summarize("ours", "chat", 1, rounds(1.0)), row)["median"] is None


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([], 95, 0.0), ([3.0], 95, 3.0), ([*map(float, range(1, 101))], 95, 95.0), ([2.0, 1.0], 50, 1.0)],
)
def test_percentiles_are_values_that_came(values: list[float], percent: int, expected: float) -> None:
    """No value is made up between two."""
    assert percentile(values, percent) == expected


def test_the_median_of_nothing_is_nothing() -> None:
    """A row of failures is printed all the same."""
    assert median([]) == 0.0


def test_steps_are_summed_over_engines() -> None:
    """Data-parallel engines count apart; buckets and sums are other figures."""
    assert steps_in(METRICS) == 17.0
    assert steps_in("process_cpu_seconds_total 1.0\n") is None


def test_a_round_has_enough_requests_for_every_stream() -> None:
    """And some at concurrency 1 too."""
    plan = Plan(("chat",), (1, 8), requests=2, at_least=4)

    assert [plan.count(1), plan.count(8)] == [4, 16]


async def test_nothing_is_asked_before_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or an endpoint would be measured while the engine of the other is still looking for work."""
    done: list[str] = []

    async def sleep(seconds: float) -> None:
        done.append(f"rest {seconds}")

    async def load(endpoint: Endpoint, _workload: str, _concurrency: int, _count: int) -> Round:
        done.append(endpoint.name)
        return Round((), (), 1.0, None, None)

    monkeypatch.setattr("server.bench.compare.asyncio.sleep", sleep)
    monkeypatch.setattr("server.bench.compare.load", load)
    endpoints = [Endpoint(name, "http://127.0.0.1:1/v1", "m") for name in ("ours", "theirs")]
    plan = Plan(("chat",), (1,), rounds=2, rest=2.0)
    rows = [row async for row in compare(endpoints, plan)]

    assert len(rows) == 2
    measured = done[2:]  # behind the requests that warm up
    assert measured == ["rest 2.0", "ours", "rest 2.0", "theirs", "rest 2.0", "theirs", "rest 2.0", "ours"]


def test_two_endpoints_are_set_against_each_other() -> None:
    """Below their rows stands the first's figure over the second's."""
    rows = [
        summarize("ours", "call", 8, rounds(1.0, steps=None)),
        summarize("theirs", "call", 8, rounds(2.0, steps=None)),
    ]

    head, first, _, ratio = table(rows)

    assert "steps/token" not in head
    assert first.split()[:3] == ["call", "8", "ours"]
    assert ratio.split() == [
        "call",
        "8",
        "ratio",
        "0.50×",
        "0.50×",
        "0.50×",
        "0.50×",
        "1.00×",
        "2.00×",
        "1.00×",
    ]
    assert as_json(rows)["ratios"][0]["median"] == 0.5


def test_one_endpoint_has_no_ratio() -> None:
    """There is nothing to set it against."""
    rows = [summarize("ours", "call", 8, rounds(1.0))]

    assert len(list(table(rows))) == 2
    assert as_json(rows)["ratios"] == []


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_asks_the_same_of_everyone(name: str) -> None:
    """Greedy, streamed, with usage; numbers 0 to 15 differ and 16 is 0 again."""
    body = WORKLOADS[name].body("m", 0)

    assert (body["temperature"], body["stream"], body["stream_options"]) == (0, True, {"include_usage": True})
    assert body == WORKLOADS[name].body("m", 16)
    assert len({str(WORKLOADS[name].body("m", number)["messages"]) for number in range(16)}) == 16
