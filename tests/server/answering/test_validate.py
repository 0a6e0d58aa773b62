"""Of the parser's events only right calls pass on: as they are written, or whole once they are checked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reason, Reasoning
from parsers.family import Family
from parsers.registry import FAMILIES
from server.answering.validate import (
    AnswerGate,
    CallGate,
    Checked,
    Subject,
    Violation,
    violation_error,
    violations,
)
from server.errors import ApiError, Code
from server.mask.constrain import AnswerRule, CallRule, Constraint
from server.policy import OnViolation, Policy
from server.request import ToolDefinition
from server.schema.instance import InstanceError, InstanceValidator
from server.telemetry.labels import Held

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
VALIDATOR = InstanceValidator(SCHEMA)


@dataclass
class Notes:
    """Writes down what it is told."""

    passed: list[str] = field(default_factory=list)
    unreadable: list[Reason] = field(default_factory=list)
    violated: list[tuple[str, list[str]]] = field(default_factory=list)

    def call_passed(self, rule: CallRule) -> None:
        self.passed.append(rule.tool.name)

    def call_unreadable(self, failure: Malformed) -> None:
        self.unreadable.append(failure.reason)

    def schema_violated(self, name: str, errors: Sequence[InstanceError]) -> None:
        self.violated.append((name, [error.keyword for error in errors]))


def rule(name: str, held: Held, *, strict: bool, streams: bool = False) -> CallRule:
    return CallRule(ToolDefinition(name, strict=strict), {}, VALIDATOR, held, streams)


RULES = {
    "live": rule("live", Held.SCHEMA, strict=True, streams=True),
    "held": rule("held", Held.SCHEMA, strict=True),
    "loose": rule("loose", Held.NOTHING, strict=False),
    "formed": rule("formed", Held.ENVELOPE, strict=False),
}


def gate_of(notes: Notes, then: OnViolation | None = None, *, passed: int = 0) -> CallGate:
    return CallGate(Constraint(None, RULES, None, policy=Policy(on_violation=then)), notes, passed=passed)


def call(index: int, name: str, *pieces: str) -> list[Event]:
    return [CallBegin(index, name), *(CallArguments(index, piece) for piece in pieces), CallEnd(index)]


def test_text_passes_as_it_comes() -> None:
    """Text and reasoning are none of the gate's business, inside a held call's turn or not."""
    events: list[Event] = [Content("a"), Reasoning("b")]

    assert gate_of(Notes()).feed(events) == events


WRITTEN = [("live", None), ("live", OnViolation.ERROR), ("formed", None), ("held", OnViolation.REPORT)]
WHOLE = [("held", None), ("loose", None), ("loose", OnViolation.REPORT), ("formed", OnViolation.RETRY)]


@pytest.mark.parametrize(("name", "then"), WRITTEN)
def test_a_call_passes_as_it_is_written_where_nothing_can_hold_it_up(
    name: str, then: OnViolation | None
) -> None:
    """The mask is exact, or holds the form and the rest is only reported; it counts when it is complete."""
    notes = Notes()
    gate = gate_of(notes, then)

    for event in call(0, name, '{"n"', ": 1}")[:-1]:
        assert gate.feed([event]) == [event]
    assert notes.passed == []
    assert gate.feed([CallEnd(0)]) == [CallEnd(0)]
    assert notes.passed == [name]


@pytest.mark.parametrize(("name", "then"), WHOLE)
def test_any_other_call_passes_whole_once_it_is_right(name: str, then: OnViolation | None) -> None:
    """Nothing of it is seen before its end, and then its arguments are one piece."""
    notes = Notes()
    gate = gate_of(notes, then)
    *written, end = call(0, name, '{"n"', ": 1}")

    assert gate.feed(written) == []
    assert gate.feed([end]) == call(0, name, '{"n": 1}')
    assert notes == Notes(passed=[name])


def test_a_held_call_without_arguments_says_none() -> None:
    """An empty piece is no event; arguments that are not there are not JSON either, and counted."""
    notes = Notes()
    begin, violation, end = gate_of(notes).feed(call(0, "loose"))

    assert [begin, end] == call(0, "loose")
    assert isinstance(violation, Violation)
    assert notes.violated == [("loose", ["json"])]


DEFAULTS = [
    ("held", None, OnViolation.RETRY),
    ("loose", None, OnViolation.REPORT),
    *((name, then, then) for name in ("held", "loose", "formed") for then in OnViolation),
]


@pytest.mark.parametrize(("name", "policy", "then"), DEFAULTS)
def test_a_wrong_call_is_a_violation_with_what_is_to_become_of_it(
    name: str, policy: OnViolation | None, then: OnViolation
) -> None:
    """A strict call is written again unless the policy says otherwise; a loose one passes, reported."""
    notes = Notes()
    got = merge_calls(gate_of(notes, policy).feed(call(0, name, '{"n": "x"}')))

    [violation] = [event for event in got if isinstance(event, Violation)]
    told = (violation.subject, violation.name, violation.text, violation.then)
    assert told == (Subject.TOOL, name, '{"n": "x"}', then)
    assert [error.path for error in violation.errors] == ["$.n"]
    passed = [event for event in got if event is not violation]
    assert passed == (call(0, name, '{"n": "x"}') if then is OnViolation.REPORT else [])
    assert notes == Notes(passed=[name] if passed else [], violated=[(name, ["type"])])


def merge_calls(events: Sequence[Checked]) -> list[Checked]:
    return [event for event in events if event != CallArguments(0, "")]


@pytest.mark.parametrize(("name", "retries"), [("held", True), ("live", False)])
def test_what_has_been_seen_is_not_written_again(name: str, *, retries: bool) -> None:
    """Half of a call is with the client already, and cannot be taken back."""
    *_, violation = gate_of(Notes()).feed(call(0, name, '{"n": "x"}'))

    assert isinstance(violation, Violation)
    assert (violation.seen, violation.retries) == (not retries, retries)


def test_calls_are_numbered_after_those_of_earlier_attempts() -> None:
    """To the client it is one answer."""
    assert gate_of(Notes(), passed=2).feed(call(0, "held", '{"n": 1}')) == call(2, "held", '{"n": 1}')


def violation_of(text: str, schema: Any = SCHEMA, **more: Any) -> Violation:
    errors = violations(text, InstanceValidator(schema))
    return Violation(Subject.TOOL, "f", text, errors, OnViolation.ERROR, **more)


def test_the_error_names_function_place_and_rule() -> None:
    """SDKs are told not to try again by themselves."""
    error = violation_error(violation_of('{"n": "x"}'))

    assert (error.kind, error.status) == (Code.SCHEMA_VIOLATION, 500)
    assert "strict function 'f' breaks the schema: $.n: " in error.message
    assert "Nothing of it was passed on." in error.message
    assert error.headers == {"x-should-retry": "false"}


def test_the_error_says_how_often_it_was_tried_and_whether_it_was_seen() -> None:
    """Both are what a client needs to know of the rest of its stream."""
    error = violation_error(violation_of('{"n": "x"}', seen=True, strict=False), attempts=3)

    assert "call of the function 'f' breaks the schema, after 3 attempts: " in error.message
    assert "passed on" not in error.message


def test_the_message_of_many_errors_is_short() -> None:
    """Five are told, and how many there are besides."""
    message = violation_error(
        violation_of("[1, 2, 3, 4, 5, 6, 7]", {"type": "array", "items": {"type": "string"}})
    ).message

    assert re.search(r"\$\[4\]: .* \(and 2 more\)", message)
    assert "$[5]" not in message


@pytest.mark.parametrize("reason", [Reason.BAD_JSON, Reason.UNKNOWN_TOOL, Reason.UNCLOSED, Reason.TRUNCATED])
def test_what_never_was_a_call_is_text(reason: Reason) -> None:
    """Nothing that the model wrote is lost."""
    notes = Notes()

    assert gate_of(notes).feed([Malformed("<tool_call>x", reason)]) == [Content("<tool_call>x")]
    assert notes == Notes(unreadable=[reason])


@pytest.mark.parametrize("name", ["held", "loose"])
@pytest.mark.parametrize("reason", [Reason.BAD_JSON, Reason.UNCLOSED])
def test_a_held_call_that_breaks_is_text(name: str, reason: Reason) -> None:
    """A call that was not seen yet never was one; its siblings keep their numbers without a gap."""
    notes = Notes()
    events = gate_of(notes).feed(
        [
            *call(0, "loose", '{"n": 1}'),
            *(CallBegin(1, name), CallArguments(1, '{"n": ')),
            Malformed("<tool_call>…", reason, 1),
            *call(2, "loose", '{"n": 3}'),
        ]
    )

    assert events == [
        *call(0, "loose", '{"n": 1}'),
        Content("<tool_call>…"),
        *call(1, "loose", '{"n": 3}'),
    ]
    assert notes == Notes(passed=["loose", "loose"], unreadable=[reason])


@pytest.mark.parametrize("name", ["live", "held", "loose"])
def test_a_call_cut_short_stands_as_far_as_it_was_written(name: str) -> None:
    """The finish reason says `length`; what there is of the call is given, and not counted."""
    notes = Notes()
    began: list[Event] = [CallBegin(0, name), CallArguments(0, '{"n": ')]

    assert gate_of(notes).feed([*began, Malformed("<tool_call>…", Reason.TRUNCATED, 0)]) == began
    assert notes == Notes(unreadable=[Reason.TRUNCATED])


def test_a_held_call_cut_before_its_arguments_is_a_name() -> None:
    """An empty piece is no event."""
    events: list[Event] = [CallBegin(0, "held"), Malformed("<tool_call>…", Reason.TRUNCATED, 0)]

    assert gate_of(Notes()).feed(events) == [CallBegin(0, "held")]


def test_a_call_that_was_seen_and_broke_fails_the_request() -> None:
    """What a client has seen cannot be taken back, and half a call must not look like an answer."""
    with pytest.raises(ApiError, match="'live' became unreadable") as caught:
        gate_of(Notes()).feed([CallBegin(0, "live"), Malformed("…", Reason.BAD_JSON, 0)])

    assert caught.value.kind is Code.UNREADABLE_CALL
    assert caught.value.headers == {"x-should-retry": "false"}


def answer_gate(
    notes: Notes, then: OnViolation | None = None, *, strict: bool = True, streams: bool = False
) -> AnswerGate:
    return AnswerGate(AnswerRule("out", VALIDATOR, strict, streams), notes, Policy(on_violation=then))


def test_an_answer_without_a_schema_passes() -> None:
    """Text is not looked at."""
    gate = AnswerGate(None, Notes())

    assert (gate.feed("{"), gate.finish(complete=True)) == ("{", ("", None))


WRITTEN_ANSWERS = [
    (True, True, None),
    (True, True, OnViolation.ERROR),
    (True, False, OnViolation.REPORT),
    (False, False, None),
]
WHOLE_ANSWERS = [(True, False, None), (False, False, OnViolation.ERROR), (False, False, OnViolation.RETRY)]


@pytest.mark.parametrize(
    ("strict", "streams", "then", "pieces"),
    [
        *((*case, ['{"n"', ": 1}", ""]) for case in WRITTEN_ANSWERS),
        *((*case, ["", "", '{"n": 1}']) for case in WHOLE_ANSWERS),
    ],
)
def test_a_right_answer_passes_as_it_is_written_or_whole(
    then: OnViolation | None, pieces: list[str], *, strict: bool, streams: bool
) -> None:
    """Under an exact mask, or where it is only reported, every piece; else everything at the end."""
    notes = Notes()
    gate = answer_gate(notes, then, strict=strict, streams=streams)
    told = [gate.feed('{"n"'), gate.feed(": 1}")]

    assert (*told, *gate.finish(complete=True)) == (*pieces, None)
    assert notes == Notes()


@pytest.mark.parametrize(
    ("text", "keyword"), [("{}", "required"), ('{"n": 1', "json"), ('{"n": NaN}', "json")]
)
@pytest.mark.parametrize(
    ("strict", "policy", "then"),
    [
        (True, None, OnViolation.RETRY),
        (False, None, OnViolation.REPORT),
        *((strict, then, then) for strict in (True, False) for then in OnViolation),
    ],
)
def test_a_wrong_answer_is_a_violation_with_what_is_to_become_of_it(
    text: str, keyword: str, policy: OnViolation | None, then: OnViolation, *, strict: bool
) -> None:
    """It is counted in any case; of one that may not pass, nothing does."""
    notes = Notes()
    gate = answer_gate(notes, policy, strict=strict)
    passed = gate.feed(text)
    held, violation = gate.finish(complete=True)

    assert violation is not None
    assert (violation.subject, violation.name, violation.text) == (Subject.FORMAT, "out", text)
    assert (violation.then, violation.retries) == (then, then is OnViolation.RETRY)
    assert passed + held == (text if then is OnViolation.REPORT else "")
    assert notes == Notes(violated=[("out", [keyword])])
    assert f"{'strict ' if strict else ''}format 'out' breaks" in violation_error(violation).message


def test_an_answer_cut_short_is_given_unchecked() -> None:
    """Half of an answer is no violation: the finish reason tells that it is half."""
    notes = Notes()
    gate = answer_gate(notes)
    gate.feed('{"n": ')

    assert gate.finish(complete=False) == ('{"n": ', None)
    assert notes == Notes()


def test_no_answer_is_no_violation() -> None:
    """A turn of calls has no text, and the format of the answer does not apply to it."""
    notes = Notes()

    assert answer_gate(notes).finish(complete=True) == ("", None)
    assert notes == Notes()


@pytest.mark.parametrize(("tag", "told"), [("{}", []), (None, [Content("<tool_call>")])])
def test_the_opening_of_a_call_is_no_text_under_a_mask(tag: str | None, told: list[Event]) -> None:
    """What a mask let the model begin is a marker; without a mask it may be anything, and is kept."""
    gate = CallGate(Constraint(tag, {}, None), Notes())

    assert gate.feed([Malformed("<tool_call>", Reason.TRUNCATED)]) == told


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_forced_answer_has_no_text_wherever_the_budget_cuts_it(family: Family) -> None:
    """What is there of a marker, of a name or of what stands between two calls is the calls' own."""
    text = family.write_calls([("live", {"n": 1}), ("held", {"n": 2})])
    for end in range(len(text) + 1):
        parser = family.parser({"live": SCHEMA, "held": SCHEMA})
        gate = CallGate(Constraint("{}", RULES, None, calls_only=True), Notes())
        passed = gate.feed([*parser.feed(text[:end]), *parser.finish(truncated=True)])

        assert not [event for event in passed if isinstance(event, Content)], text[:end]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_nothing_follows_a_call_under_a_mask_wherever_the_budget_cuts_it(family: Family) -> None:
    """Clients close the text at the first call; behind it, the mask lets calls pass and nothing else."""
    calls = [("live", {"n": 1}), ("held", {"n": 2})]
    text = family.write_calls(calls)
    for end in range(len(family.write_calls(calls[:1])), len(text) + 1):
        parser = family.parser({"live": SCHEMA, "held": SCHEMA})
        gate = CallGate(Constraint("{}", RULES, None), Notes())
        passed = gate.feed([*parser.feed(text[:end]), *parser.finish(truncated=True)])

        assert not [event for event in passed if isinstance(event, Content)], text[:end]


def test_text_behind_a_call_is_kept_without_a_mask() -> None:
    """A model that nothing holds may go on to talk."""
    events = [*call(0, "live", '{"n": 1}'), Content("Done.")]

    assert gate_of(Notes()).feed(events) == events
