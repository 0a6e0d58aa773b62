"""What became of a request, in figures and in words that hold none of its text."""

import logging

import pytest

from parsers.events import Malformed, Reason
from server.answering.observe import RequestObserver, Usage
from server.limits.time_limit import TimeLimit
from server.mask.constrain import CallRule
from server.request import Message, Mode, Request, ToolChoice, ToolDefinition
from server.schema.instance import InstanceError, InstanceValidator
from server.telemetry.labels import AbortCause, Held, Repair
from server.telemetry.metrics import Metrics

TOOL = ToolDefinition("f")
AUTO = ToolChoice(Mode.AUTO)


def observer_of(metrics: Metrics, choice: ToolChoice = AUTO) -> RequestObserver:
    request = Request("r", "chat", "m", (Message("user", "Hi"),), tools=(TOOL,), choice=choice)
    return RequestObserver(request, family="hermes", metrics=metrics, limit=TimeLimit(None))


@pytest.fixture(name="metrics")
def _metrics() -> Metrics:
    return Metrics(families=("hermes",))


def value(metrics: Metrics, series: str) -> float:
    lines = metrics.render().decode().splitlines()
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(series + " ")), 0.0)


@pytest.mark.parametrize(
    ("choice", "label"),
    [
        (AUTO, "auto"),
        (ToolChoice(Mode.REQUIRED), "required"),
        (ToolChoice(Mode.NAMED, ("f",)), "named"),
        (ToolChoice(Mode.REQUIRED, ("f",)), "allowed"),
    ],
)
@pytest.mark.parametrize("held", Held)
def test_calls_are_counted_by_choice_and_by_what_held_them(
    metrics: Metrics, choice: ToolChoice, label: str, held: Held
) -> None:
    """Operators see how many calls rest on a mask, and how many on luck."""
    rule = CallRule(TOOL, {}, InstanceValidator(True), held, streams=False)
    observer_of(metrics, choice).call_passed(rule)

    series = f'strictcall_tool_calls_total{{choice="{label}",constraint="{held}",family="hermes"}}'
    assert value(metrics, series) == 1


@pytest.mark.parametrize("reason", Reason)
def test_unreadable_calls_are_counted_by_reason_and_not_quoted(
    metrics: Metrics, reason: Reason, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the reason and the size; what the model wrote is the user's.

    A budget that ends inside a call is the client's choice and no warning.
    """
    with caplog.at_level(logging.INFO):
        observer_of(metrics).call_unreadable(Malformed("<tool_call>secret", reason))

    assert value(metrics, f'strictcall_parse_failures_total{{family="hermes",reason="{reason}"}}') == 1
    assert caplog.messages == [f"unreadable call: {reason}, 17 characters"]
    assert (caplog.records[0].levelno == logging.WARNING) is (reason is not Reason.TRUNCATED)


def test_where_no_call_is_possible_nothing_is_an_unreadable_one(metrics: Metrics) -> None:
    """With `tool_choice: none` a text about the syntax of calls is only a text."""
    observer_of(metrics, ToolChoice(Mode.NONE)).call_unreadable(Malformed("<tool_call>", Reason.BAD_JSON))

    assert value(metrics, 'strictcall_parse_failures_total{family="hermes",reason="bad_json"}') == 0


def test_violations_are_counted_by_keyword_and_not_quoted(
    metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    """Each error counts; the log has at most five keywords, and no value."""
    errors = [InstanceError("$.a", "uniqueItems", "secret")] * 6 + [InstanceError("$", "json", "secret")]
    observer_of(metrics).schema_violated("f", errors)

    assert value(metrics, 'strictcall_schema_violations_total{keyword="uniqueItems"}') == 6
    assert value(metrics, 'strictcall_schema_violations_total{keyword="json"}') == 1
    assert caplog.messages == ["'f' outside its schema: " + ", ".join(["uniqueItems"] * 5)]


def test_a_keyword_that_nobody_knows_is_another(metrics: Metrics) -> None:
    """No label has a value that a client can make up."""
    observer_of(metrics).schema_violated("f", [InstanceError("$", "x-mine", "secret")])

    assert value(metrics, 'strictcall_schema_violations_total{keyword="other"}') == 1
    assert "x-mine" not in metrics.render().decode()


def test_a_retry_counts_by_the_keyword_of_its_first_error(metrics: Metrics) -> None:
    """One retry is one, however much was wrong; what came of all of them is counted by choice."""
    observer = observer_of(metrics)
    observer.retried([InstanceError("$.a", "format", ""), InstanceError("$.b", "type", "")])
    observer.repaired(Repair.REPAIRED)

    assert value(metrics, 'strictcall_schema_retries_total{keyword="format"}') == 1
    assert value(metrics, 'strictcall_schema_retries_total{keyword="type"}') == 0
    assert value(metrics, 'strictcall_schema_repairs_total{outcome="repaired"}') == 1


def test_what_a_failure_ends_counts_as_failed(metrics: Metrics) -> None:
    """A choice that is left before any has failed was left by the client."""
    observer = observer_of(metrics)
    observer.left()
    observer.failed()
    observer.left()

    assert value(metrics, 'strictcall_aborts_total{cause="disconnect"}') == 1
    assert value(metrics, 'strictcall_aborts_total{cause="failure"}') == 2


def test_usage_is_added_by_kind(metrics: Metrics) -> None:
    """Each figure of the usage has its series."""
    for _ in range(2):
        observer_of(metrics).used(Usage(prompt=10, completion=5, reasoning=3, cached=2))

    kinds = {"prompt": 20, "completion": 10, "reasoning": 6, "cached": 4}
    for kind, count in kinds.items():
        assert value(metrics, f'strictcall_tokens_total{{kind="{kind}"}}') == count


@pytest.mark.parametrize("cause", AbortCause)
def test_aborts_are_counted_by_cause(metrics: Metrics, cause: AbortCause) -> None:
    """The causes are those which the metric starts with."""
    observer_of(metrics).aborted(cause)

    assert value(metrics, f'strictcall_aborts_total{{cause="{cause}"}}') == 1


@pytest.mark.parametrize(
    ("steps", "firsts", "means"),
    [([], 0, 0), ([0], 0, 0), ([1], 1, 0), ([2], 1, 1), ([0, 1, 1, 3], 1, 1)],
)
def test_a_sequence_is_timed_once(metrics: Metrics, steps: list[int], firsts: int, means: int) -> None:
    """One observation of the first token, and one of the rest if there was any."""
    pace = observer_of(metrics).pace()
    for tokens in steps:
        pace.saw(tokens)
    pace.ended()

    assert value(metrics, "strictcall_time_to_first_token_seconds_count") == firsts
    assert value(metrics, "strictcall_time_per_output_token_seconds_count") == means


def test_nothing_is_logged_for_what_is_right(metrics: Metrics, caplog: pytest.LogCaptureFixture) -> None:
    """A good answer costs no log line here; the exchange has one."""
    with caplog.at_level(logging.DEBUG):
        observer_of(metrics).used(Usage(1, 1, 0, 0))

    assert caplog.messages == []
