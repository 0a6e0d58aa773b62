"""Of the parser's events only right calls pass on: as they are written, or whole once they are checked."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reason, Reasoning
from parsers.family import Family
from parsers.registry import FAMILIES
from server.constrain import AnswerRule, CallRule, Constraint
from server.errors import ApiError, Code
from server.labels import Held
from server.request import ToolDefinition
from server.schema.instance import InstanceError, InstanceValidator
from server.validate import AnswerGate, CallGate

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


def rule(name: str, *, strict: bool, streams: bool) -> CallRule:
    return CallRule(ToolDefinition(name, strict=strict), {}, VALIDATOR, Held.SCHEMA, streams)


RULES = {
    "live": rule("live", strict=True, streams=True),
    "held": rule("held", strict=True, streams=False),
    "loose": rule("loose", strict=False, streams=False),
}


def gate_of(notes: Notes) -> CallGate:
    return CallGate(Constraint(None, RULES, None), notes)


def call(index: int, name: str, *pieces: str) -> list[Event]:
    return [CallBegin(index, name), *(CallArguments(index, piece) for piece in pieces), CallEnd(index)]


def test_text_passes_as_it_comes() -> None:
    """Text and reasoning are none of the gate's business, inside a held call's turn or not."""
    events: list[Event] = [Content("a"), Reasoning("b")]

    assert gate_of(Notes()).feed(events) == events


def test_a_call_under_an_exact_mask_passes_as_it_is_written() -> None:
    """Each event gives one, at once; the call counts when it is complete."""
    notes = Notes()
    gate = gate_of(notes)

    for event in call(0, "live", '{"n"', ": 1}")[:-1]:
        assert gate.feed([event]) == [event]
    assert notes.passed == []
    assert gate.feed([CallEnd(0)]) == [CallEnd(0)]
    assert notes.passed == ["live"]


@pytest.mark.parametrize("name", ["held", "loose"])
def test_any_other_call_passes_whole_once_it_is_right(name: str) -> None:
    """Nothing of it is seen before its end, and then its arguments are one piece."""
    notes = Notes()
    gate = gate_of(notes)
    *written, end = call(0, name, '{"n"', ": 1}")

    assert gate.feed(written) == []
    assert gate.feed([end]) == call(0, name, '{"n": 1}')
    assert notes == Notes(passed=[name])


def test_a_held_call_without_arguments_says_none() -> None:
    """An empty piece is no event; arguments that are not there are not JSON either, and counted."""
    notes = Notes()

    assert gate_of(notes).feed(call(0, "loose")) == call(0, "loose")
    assert notes.violated == [("loose", ["json"])]


@pytest.mark.parametrize("name", ["held", "live"])
def test_a_strict_call_outside_its_schema_fails_the_request(name: str) -> None:
    """The message names function, place and rule; SDKs are told not to try again by themselves."""
    notes = Notes()

    with pytest.raises(ApiError) as caught:
        gate_of(notes).feed(call(0, name, '{"n": "x"}'))

    error = caught.value
    assert (error.kind, error.status) == (Code.SCHEMA_VIOLATION, 500)
    assert f"'{name}'" in error.message
    assert "$.n: " in error.message
    assert error.headers == {"x-should-retry": "false"}
    assert notes == Notes(violated=[(name, ["type"])])


def test_a_loose_call_outside_its_schema_passes_and_is_counted() -> None:
    """Without `strict` the schema is a wish: the caller gets what the model wrote."""
    notes = Notes()

    assert gate_of(notes).feed(call(0, "loose", "{}")) == call(0, "loose", "{}")
    assert notes == Notes(passed=["loose"], violated=[("loose", ["required"])])


def test_the_message_of_many_errors_is_short() -> None:
    """Five are told, and how many there are besides."""
    schema = {"type": "array", "items": {"type": "string"}}
    many = CallRule(
        ToolDefinition("f", strict=True), {}, InstanceValidator(schema), Held.SCHEMA, streams=False
    )
    gate = CallGate(Constraint(None, {"f": many}, None), Notes())

    with pytest.raises(ApiError, match=r"\$\[4\]: .* \(and 2 more\)") as caught:
        gate.feed(call(0, "f", "[1, 2, 3, 4, 5, 6, 7]"))
    assert "$[5]" not in caught.value.message


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


def answer_gate(notes: Notes, *, strict: bool, streams: bool) -> AnswerGate:
    return AnswerGate(AnswerRule("out", VALIDATOR, strict, streams), notes)


def test_an_answer_without_a_schema_passes() -> None:
    """Text is not looked at."""
    gate = AnswerGate(None, Notes())

    assert (gate.feed("{"), gate.finish(complete=True)) == ("{", "")


@pytest.mark.parametrize(("streams", "pieces"), [(True, ['{"n"', ": 1}", ""]), (False, ["", "", '{"n": 1}'])])
def test_a_right_answer_passes_as_it_is_written_or_whole(pieces: list[str], *, streams: bool) -> None:
    """Under an exact mask every piece, else everything at the end."""
    notes = Notes()
    gate = answer_gate(notes, strict=True, streams=streams)

    assert [gate.feed('{"n"'), gate.feed(": 1}"), gate.finish(complete=True)] == pieces
    assert notes == Notes()


@pytest.mark.parametrize(
    ("text", "keyword"), [("{}", "required"), ('{"n": 1', "json"), ('{"n": NaN}', "json")]
)
def test_a_wrong_answer_fails_the_request_only_where_it_is_strict(text: str, keyword: str) -> None:
    """Both are counted; the loose one is given as it is."""
    strict, loose = Notes(), Notes()
    held, given = (
        answer_gate(strict, strict=True, streams=False),
        answer_gate(loose, strict=False, streams=False),
    )
    held.feed(text)
    given.feed(text)

    with pytest.raises(ApiError, match="strict format 'out'") as caught:
        held.finish(complete=True)
    assert caught.value.kind is Code.SCHEMA_VIOLATION
    assert given.finish(complete=True) == text
    assert strict == loose == Notes(violated=[("out", [keyword])])


def test_an_answer_cut_short_is_given_unchecked() -> None:
    """Half of an answer is no violation: the finish reason tells that it is half."""
    notes = Notes()
    gate = answer_gate(notes, strict=True, streams=False)
    gate.feed('{"n": ')

    assert gate.finish(complete=False) == '{"n": '
    assert notes == Notes()


def test_no_answer_is_no_violation() -> None:
    """A turn of calls has no text, and the format of the answer does not apply to it."""
    notes = Notes()

    assert answer_gate(notes, strict=True, streams=False).finish(complete=True) == ""
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
