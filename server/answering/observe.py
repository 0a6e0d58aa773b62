"""What became of one request, told to the metrics and the log: never its text.

observer = RequestObserver(request, family="hermes", metrics=metrics, limit=TimeLimit(20))
observer.call_passed(rule)          # strictcall_tool_calls_total{family="hermes",choice="auto",…} + 1
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from parsers.events import Malformed, Reason
from server.limits.time_limit import TimeLimit
from server.mask.constrain import CallRule, Constraint
from server.request import Request
from server.schema.instance import InstanceError
from server.telemetry.labels import AbortCause, Repair, keyword_label
from server.telemetry.metrics import Metrics

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, over all its choices; `cached` are among the `prompt` ones."""

    prompt: int
    completion: int
    reasoning: int
    cached: int


class RequestObserver:
    """Counts for one request; times its first token and the ones after it."""

    def __init__(self, request: Request, *, family: str, metrics: Metrics, limit: TimeLimit) -> None:
        self._request = request
        self._limit = limit
        self._family = family
        self._metrics = metrics
        self._started = time.perf_counter()
        self._cause = AbortCause.DISCONNECT
        """Why choices that still run are ended: the client left, unless another choice has failed."""

    def constrained(self, constraint: Constraint) -> None:
        """The mask is built: count what it does not hold."""
        for entry in constraint.unmasked:
            self._metrics.unmasked_keywords.labels(keyword=keyword_label(entry.keyword)).inc()

    def call_passed(self, rule: CallRule) -> None:
        labels = {"family": self._family, "choice": self._request.choice.label, "constraint": rule.held.value}
        self._metrics.tool_calls.labels(**labels).inc()

    def call_unreadable(self, failure: Malformed) -> None:
        if not self._request.callable_tools:
            return  # no call was possible: what looks like one is text
        self._metrics.parse_failures.labels(family=self._family, reason=failure.reason.value).inc()
        # A budget that ends inside a call is the client's choice; anything else is the model's fault.
        level = logging.INFO if failure.reason is Reason.TRUNCATED else logging.WARNING
        log.log(level, "unreadable call: %s, %d characters", failure.reason.value, len(failure.raw))

    def schema_violated(self, name: str, errors: Sequence[InstanceError]) -> None:
        for error in errors:
            self._metrics.schema_violations.labels(keyword=keyword_label(error.keyword)).inc()
        log.warning("'%s' outside its schema: %s", name, ", ".join(error.keyword for error in errors[:5]))

    def used(self, usage: Usage) -> None:
        """The request is over, however it ended."""
        for kind, count in asdict(usage).items():
            self._metrics.tokens.labels(kind=kind).inc(count)

    def pace(self) -> "Pace":
        """A clock for one of the request's sequences."""
        return Pace(self._started, self._metrics)

    def aborted(self, cause: AbortCause) -> None:
        self._metrics.aborts.labels(cause=cause.value).inc()

    def failed(self) -> None:
        """A choice has failed, which ends the others too."""
        self._cause = AbortCause.FAILURE
        self.aborted(self._cause)

    def left(self) -> None:
        """A choice was ended that had not failed itself."""
        self.aborted(self._limit.ended or self._cause)

    def retried(self, errors: Sequence[InstanceError]) -> None:
        """What broke its schema is written again."""
        self._metrics.schema_retries.labels(keyword=keyword_label(errors[0].keyword)).inc()

    def repaired(self, outcome: Repair) -> None:
        """A choice has ended in which something was written again."""
        self._metrics.schema_repairs.labels(outcome=outcome.value).inc()


class Pace:
    """Times one sequence: its first token since the request began, and the ones after it."""

    def __init__(self, started: float, metrics: Metrics) -> None:
        self._started = started
        self._metrics = metrics
        self._first: float | None = None
        self._tokens = 0

    def saw(self, tokens: int) -> bool:
        """Tokens have come. The first ones stop the clock of the first token, and of them it says so."""
        self._tokens += tokens
        if self._first is not None or not tokens:
            return False
        self._first = time.perf_counter()
        self._metrics.time_to_first_token.observe(self._first - self._started)
        return True

    def ended(self) -> None:
        """The sequence is complete: its mean time per token after the first counts once."""
        if self._first is not None and self._tokens > 1:
            spent = time.perf_counter() - self._first
            self._metrics.time_per_output_token.observe(spent / (self._tokens - 1))
