"""Every metric of strictcall, its meaning and its labels; `render()` is the answer of `/metrics`.

    metrics = Metrics(families=("hermes",))
    metrics.requests.labels(api="chat", status="200").inc()
    metrics.render()
    # b'… strictcall_requests_total{api="chat",status="200"} 1.0 …'

The masks are made in vLLM's engine process. It keeps `EngineMetrics` in memory-mapped files below
`Metrics.engine_directory`, which `render()` reads and adds. Only the engine process is in prometheus_client's
multiprocess mode: ours keeps ordinary values, and with them `process_*` and vLLM's own metrics.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from parsers.events import Reason
from server.telemetry.labels import KEYWORDS, AbortCause, Closed, Held, Loss, Refusal, Repair, Restart

CHOICES = ("auto", "required", "named", "allowed")
TOKEN_KINDS = ("prompt", "cached", "completion", "reasoning")

MASK_BUCKETS = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 1)
"""A mask takes tens of microseconds per sequence; from a millisecond on it costs speed on a GPU."""
COMPILE_BUCKETS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
REQUEST_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)
FIRST_TOKEN_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
PER_TOKEN_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5)


ENGINE_BYTES = 4 * 2**20
"""More than the files of the engine's figures take together."""


class Metrics:
    """The metrics of one server. Series whose labels are known beforehand start at 0, not absent.

    `families` are the names of the model families that will be served.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, *, families: Sequence[str] = ()) -> None:
        self._registry = CollectorRegistry()
        self.engine_directory = Path(tempfile.mkdtemp(prefix="strictcall-metrics-"))
        """Where the engine process puts its figures; private to this server, and removed with it."""
        self._remove = weakref.finalize(self, shutil.rmtree, self.engine_directory, ignore_errors=True)
        self._registry.register(EngineFigures(self.engine_directory))
        self._define_load()
        self._define_requests()
        self._define_tool_calls()
        self._start_at_zero(families)

    def reserve(self) -> None:
        """Raise `OSError` if there is no room for the engine's figures.

        Its process maps them into memory, where a full disk ends it with a signal instead of an error.
        """
        with tempfile.TemporaryFile(dir=self.engine_directory) as file:
            os.posix_fallocate(file.fileno(), 0, ENGINE_BYTES)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format: ours, the engine's, vLLM's own and the process's."""
        return generate_latest(self._registry) + generate_latest(REGISTRY)

    def count_restart(self, outcome: Restart) -> None:
        self.engine_restarts.labels(outcome=outcome.value).inc()

    def count_loss(self, outcome: Loss) -> None:
        self.worker_losses.labels(outcome=outcome.value).inc()

    def close(self) -> None:
        """Remove the engine's figures from the disk, which otherwise happens at exit."""
        self._remove()

    def _define_requests(self) -> None:
        self.requests = self._counter(
            "requests", "Requests answered, by API and HTTP status.", "api", "status"
        )
        self.request_seconds = self._histogram(
            "request_seconds", "Time from request to the last byte of its answer.", REQUEST_BUCKETS, "api"
        )
        self.time_to_first_token = self._histogram(
            "time_to_first_token_seconds",
            "Time from request to first token, waiting and prompt included; one observation for each choice.",
            FIRST_TOKEN_BUCKETS,
        )
        self.time_per_output_token = self._histogram(
            "time_per_output_token_seconds",
            "Mean time per token after the first; one observation for each choice.",
            PER_TOKEN_BUCKETS,
        )
        self.tokens = self._counter(
            "tokens",
            "Tokens read and written. `cached` is part of `prompt`, `reasoning` is part of `completion`.",
            "kind",
        )
        self.aborts = self._counter(
            "aborts",
            "Generations ended before the model ended them: the client left, a stop sequence was written, "
            "something failed, the request's time or the server's had come, or what was written broke its "
            "schema and is written again.",
            "cause",
        )
        self.engine_restarts = self._counter(
            "engine_restarts",
            "Attempts to start the engine anew after it had died, by what came of them.",
            "outcome",
        )

        self.worker_losses = self._counter(
            "worker_losses",
            "Requests whose worker was lost, by whether they could be sent again; with --engine-url only.",
            "outcome",
        )
        self.drafting = Gauge(
            "strictcall_forced_token_drafting",
            "1 where forced tokens are drafted, 0 where they are not, and then the reason.",
            ["because"],
            registry=self._registry,
        )

    def _define_load(self) -> None:
        self.in_flight = Gauge(
            "strictcall_requests_in_flight",
            "Requests being answered at this moment.",
            registry=self._registry,
        )
        self.running = Gauge(
            "strictcall_requests_running",
            "Requests that have their turn: the engine has them, or is about to.",
            registry=self._registry,
        )
        self.waiting = Gauge(
            "strictcall_requests_waiting",
            "Requests that wait for their turn before the engine's own queue.",
            registry=self._registry,
        )
        self.refused = self._counter(
            "requests_refused",
            "Requests refused though nothing was wrong with them: the server had as many as it takes, or was "
            "stopping.",
            "reason",
        )
        self.closed = self._counter(
            "connections_closed",
            "Connections closed on clients: what they sent was no HTTP, too large or too slow, or they did "
            "not read what they were sent.",
            "reason",
        )

    def _define_tool_calls(self) -> None:
        self.tool_calls = self._counter(
            "tool_calls",
            "Tool calls given to clients, by what held them: the schema, only the call's form, or nothing.",
            "family",
            "choice",
            "constraint",
        )
        self.parse_failures = self._counter(
            "parse_failures",
            "Pieces of output that opened as a tool call and could not be read as one.",
            "family",
            "reason",
        )
        self.schema_violations = self._counter(
            "schema_violations",
            "Errors found when a finished call or answer was checked against its full schema, by keyword.",
            "keyword",
        )
        self.unmasked_keywords = self._counter(
            "unmasked_keywords",
            "Schema keywords in requests that the mask does not hold and that are only checked afterwards.",
            "keyword",
        )

        self.schema_retries = self._counter(
            "schema_retries",
            "Calls and answers written again because they broke their schema, by the keyword that stands "
            "first among their errors.",
            "keyword",
        )
        self.schema_repairs = self._counter(
            "schema_repairs",
            "Choices in which a call or an answer was written again, by what came of it: it was repaired, "
            "it failed however often it was written, or the budget, the client or the engine ended it.",
            "outcome",
        )

    def _start_at_zero(self, families: Sequence[str]) -> None:
        for kind in TOKEN_KINDS:
            self.tokens.labels(kind=kind)
        for cause in AbortCause:
            self.aborts.labels(cause=cause.value)
        for closed in Closed:
            self.closed.labels(reason=closed.value)
        for refusal in Refusal:
            self.refused.labels(reason=refusal.value)
        for counter, outcomes in (
            (self.engine_restarts, Restart),
            (self.worker_losses, Loss),
            (self.schema_repairs, Repair),
        ):
            for outcome in outcomes:
                counter.labels(outcome=outcome.value)
        for keyword in (*sorted(KEYWORDS), "other"):
            for counter in (self.schema_violations, self.unmasked_keywords, self.schema_retries):
                counter.labels(keyword=keyword)
        for family in families:
            self.start_family(family)

    def start_family(self, family: str) -> None:
        """Begin the series of a family that will be served, where it was not known beforehand."""
        for reason in Reason:
            self.parse_failures.labels(family=family, reason=reason.value)
        for choice in CHOICES:
            for held in Held:
                self.tool_calls.labels(family=family, choice=choice, constraint=held.value)

    def tell_drafting(self, undrafted: str | None) -> None:
        """Say whether the engine drafts forced tokens, or why it does not."""
        self.drafting.clear()
        self.drafting.labels(because=undrafted or "").set(undrafted is None)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"strictcall_{name}", text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"strictcall_{name}", text, labels, buckets=buckets, registry=self._registry)


class EngineFigures(Collector):
    """Collects what the processes of the engine have written below `directory` up to now."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable[Metric]:
        if not self._directory.is_dir():
            return ()
        # The library leaves this class without types.
        collector = MultiProcessCollector(None, str(self._directory))  # type: ignore[no-untyped-call]
        figures: Iterable[Metric] = collector.collect()  # type: ignore[no-untyped-call]
        return figures


class EngineMetrics:
    """What only the engine process can measure. Create it once, in that process."""

    def __init__(self) -> None:
        registry = CollectorRegistry()  # never rendered: the files are what counts
        self.mask_fill_seconds = Histogram(
            "strictcall_mask_fill_seconds",
            "Time to fill the token masks of all constrained sequences in one engine step.",
            buckets=MASK_BUCKETS,
            registry=registry,
        )
        self.mask_rows = Counter(
            "strictcall_mask_rows",
            "Token masks filled, one per constrained sequence and step.",
            registry=registry,
        )
        self.grammar_compile_seconds = Histogram(
            "strictcall_grammar_compile_seconds",
            "Time to make a request's grammar ready, from the cache or by compiling it.",
            buckets=COMPILE_BUCKETS,
            registry=registry,
        )
        cache = Counter(
            "strictcall_grammar_cache",
            "Grammars asked for, by whether the compiler still had them.",
            ["result"],
            registry=registry,
        )
        self.grammar_cache_hits = cache.labels(result="hit")
        self.grammar_cache_misses = cache.labels(result="miss")
        self.masks_given_up = Counter(
            "strictcall_masks_given_up",
            "Requests ended because their masks took longer and longer, while all others waited.",
            registry=registry,
        )
        self.forced_tokens_drafted = Counter(
            "strictcall_forced_tokens_drafted",
            "Tokens of text that a mask forced, given to the model to verify, several in one step.",
            registry=registry,
        )
        self.forced_tokens_accepted = Counter(
            "strictcall_forced_tokens_accepted",
            "Drafted tokens that the model would have written: each saved its answer one step.",
            registry=registry,
        )
        self.forced_token_plan_seconds = Histogram(
            "strictcall_forced_token_plan_seconds",
            "Time to look which tokens a mask forces next, in one constrained sequence.",
            buckets=MASK_BUCKETS,
            registry=registry,
        )
        self._allocate()

    def _allocate(self) -> None:
        """Take the room that the files of the figures only claim, before the disk may be full."""
        directory = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        for path in Path(directory).glob(f"*_{os.getpid()}.db") if directory else ():
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
