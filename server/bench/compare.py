"""Loads endpoints in turn, round by round, and sums up what each made of the same requests.

    plan = Plan(workloads=("chat",), concurrencies=(1, 8), rounds=3)
    async for summary in compare([Endpoint("ours", "http://127.0.0.1:8000/v1", "small"), other], plan):
        summary.total, summary.tokens_per_second      # of one endpoint, workload and concurrency

Only one endpoint is under load at a time, and their rounds alternate, so that whatever slows the machine down
for a while slows both.
"""

import asyncio
import itertools
import statistics
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

from server.bench.client import AnswerError, Timing, ask
from server.bench.steps import engine_steps
from server.bench.workloads import WORKLOADS

ANSWER_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server to measure. `url` ends in `/v1`; `cpu_seconds` tells what its HTTP process has used so far."""

    name: str
    url: str
    model: str
    headers: Mapping[str, str] = field(default_factory=dict)
    cpu_seconds: Callable[[], float] | None = None

    def client(self, connections: int) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=self.url,
            headers={**self.headers, "accept-encoding": "identity"},
            limits=httpx2.Limits(max_connections=connections),
            timeout=ANSWER_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. Each round sends `requests` for each stream, `at_least` in all.

    For `rest` seconds before a round nothing is asked: an engine of vLLM keeps a processor busy for a second
    after its last step, which whoever is measured next would pay for.
    """

    workloads: Sequence[str]
    concurrencies: Sequence[int]
    rounds: int = 3
    requests: int = 2
    at_least: int = 4
    rest: float = 1.5

    def count(self, concurrency: int) -> int:
        return max(self.at_least, self.requests * concurrency)


@dataclass(frozen=True, slots=True)
class Round:
    """What one endpoint made of one round. `steps` and `cpu` are None where they cannot be known."""

    timings: tuple[Timing, ...]
    failures: tuple[str, ...]
    seconds: float
    steps: float | None
    cpu: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """One endpoint, workload and concurrency over all rounds. Times are seconds, and but for one medians."""

    endpoint: str
    workload: str
    concurrency: int
    requests: int
    failed: int
    failure: str
    """What the first failed request got, or ""."""
    prompt_tokens: float
    tokens: float
    """Of one answer."""
    first: float
    per_token: float
    total: float
    total_p95: float
    tokens_per_second: float
    """Of all streams together."""
    steps_per_token: float | None
    cpu_per_1000_tokens: float | None


async def compare(endpoints: Sequence[Endpoint], plan: Plan) -> AsyncIterator[Summary]:
    """Yield the summary of each endpoint, workload by workload and concurrency by concurrency."""
    for workload, concurrency in itertools.product(plan.workloads, plan.concurrencies):
        rounds: dict[str, list[Round]] = {endpoint.name: [] for endpoint in endpoints}
        for endpoint in endpoints:  # connections, grammars, the prefix cache
            await load(endpoint, workload, concurrency, concurrency)
        for number in range(plan.rounds):
            for endpoint in endpoints if number % 2 == 0 else reversed(endpoints):
                await asyncio.sleep(plan.rest)
                done = await load(endpoint, workload, concurrency, plan.count(concurrency))
                rounds[endpoint.name].append(done)
        for endpoint in endpoints:
            yield summarize(endpoint.name, workload, concurrency, rounds[endpoint.name])


async def load(endpoint: Endpoint, workload: str, concurrency: int, count: int) -> Round:
    """Send requests 0 to `count` of a workload, `concurrency` at a time."""
    timings: list[Timing] = []
    failures: list[str] = []
    numbers = iter(range(count))

    async def stream(client: httpx2.AsyncClient) -> None:
        for number in numbers:
            try:
                timings.append(await ask(client, WORKLOADS[workload].body(endpoint.model, number)))
            except AnswerError as exc:
                failures.append(str(exc))

    async with endpoint.client(concurrency) as client:
        steps = await engine_steps(client)
        cpu, started = endpoint.cpu_seconds and endpoint.cpu_seconds(), time.perf_counter()
        await asyncio.gather(*(stream(client) for _ in range(concurrency)))
        seconds = time.perf_counter() - started
        cpu_after = endpoint.cpu_seconds and endpoint.cpu_seconds()
        steps_after = await engine_steps(client)
    return Round(
        tuple(timings), tuple(failures), seconds, _between(steps, steps_after), _between(cpu, cpu_after)
    )


def _between(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def summarize(endpoint: str, workload: str, concurrency: int, rounds: Sequence[Round]) -> Summary:
    """Put the rounds of one endpoint together; what no answer came for is 0."""
    timings = [timing for done in rounds for timing in done.timings]
    failures = [failure for done in rounds for failure in done.failures]
    totals = [timing.total for timing in timings]
    return Summary(
        endpoint=endpoint,
        workload=workload,
        concurrency=concurrency,
        requests=len(timings) + len(failures),
        failed=len(failures),
        failure=failures[0] if failures else "",
        prompt_tokens=median([timing.prompt_tokens for timing in timings]),
        tokens=median([timing.tokens for timing in timings]),
        first=median([timing.first for timing in timings]),
        per_token=median([each for timing in timings if (each := timing.per_token) is not None]),
        total=median(totals),
        total_p95=percentile(totals, 95),
        tokens_per_second=median([_tokens([done]) / done.seconds for done in rounds if done.seconds]),
        steps_per_token=_each_token(rounds, [done.steps for done in rounds]),
        cpu_per_1000_tokens=_each_token(rounds, [done.cpu for done in rounds], thousand=True),
    )


def _tokens(rounds: Sequence[Round]) -> int:
    return sum(timing.tokens for done in rounds for timing in done.timings)


def _each_token(
    rounds: Sequence[Round], figures: Sequence[float | None], *, thousand: bool = False
) -> float | None:
    known = [figure for figure in figures if figure is not None]
    tokens = _tokens(rounds)
    if len(known) < len(rounds) or not tokens:
        return None
    return sum(known) / tokens * (1000 if thousand else 1)


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that so many per cent of the values do not exceed."""
    if not values:
        return 0.0
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]
