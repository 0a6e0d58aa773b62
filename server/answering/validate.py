"""What passes on of the parser's events: calls that are right, in order, and nothing half-right.

A call under an exact mask passes as it is written. Any other is held until it is complete and checked: it
then passes whole, or becomes text (it was no call), or is a `Violation` in place of its events. A violation
that is only to be reported stands before the end of its call, which passes.

    gate = CallGate(constraint, observer)
    gate.feed([CallBegin(0, "f")])                        # [] while "f" is held
    gate.feed([CallArguments(0, "{}"), CallEnd(0)])       # [CallBegin(0, "f"), CallArguments(0, "{}"), …]
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reason
from server.errors import ApiError, Code
from server.mask.constrain import AnswerRule, CallRule, Constraint
from server.policy import DEFAULT_POLICY, OnViolation, Policy
from server.schema.instance import Errors, InstanceError, InstanceValidator, NotJsonError, parse_json
from server.telemetry.labels import Held

NOT_RETRIED = {"x-should-retry": "false"}
"""Tells SDKs not to try a whole generation again by themselves: that is the caller's choice."""


class Subject(StrEnum):
    """What a schema is about."""

    TOOL = "tool"
    FORMAT = "format"


@dataclass(frozen=True, slots=True)
class Violation:
    """A complete call or answer that breaks its schema: `text` is its JSON, as the model wrote it.

    `seen`: the client has been told some of it already.
    """

    subject: Subject
    name: str
    text: str
    errors: Errors
    then: OnViolation
    strict: bool = True
    seen: bool = False

    @property
    def passes(self) -> bool:
        return self.then is OnViolation.REPORT

    @property
    def retries(self) -> bool:
        """Whether it may be written again, as if it had never been."""
        return self.then is OnViolation.RETRY and not self.seen


Checked = Event | Violation


class Observer(Protocol):
    """Who is told what became of each call: the metrics and the log."""

    def call_passed(self, rule: CallRule) -> None: ...

    def call_unreadable(self, failure: Malformed) -> None: ...

    def schema_violated(self, name: str, errors: Sequence[InstanceError]) -> None: ...


@dataclass(slots=True)
class _OpenCall:
    """The call being written. Calls do not overlap, so its number is known before it is known to pass."""

    number: int
    name: str
    rule: CallRule
    pieces: list[str]
    passing: bool = False

    def let_through(self) -> Sequence[Event]:
        """Begin to pass: what was held up to now."""
        if self.passing:
            return ()
        self.passing = True
        begin, text = CallBegin(self.number, self.name), "".join(self.pieces)
        return (begin, CallArguments(self.number, text)) if text else (begin,)


class CallGate:
    """One sequence's events in, checked events out. Numbers calls anew, as some may not pass.

    `passed`: calls of the same answer that passed before this sequence.
    """

    def __init__(self, constraint: Constraint, observer: Observer, *, passed: int = 0) -> None:
        self._rules = constraint.calls
        self._policy = constraint.policy
        self._masked = constraint.structural_tag is not None
        self._calls_only = constraint.calls_only
        self._observer = observer
        self._call: _OpenCall | None = None
        self._passed = passed

    def feed(self, events: Iterable[Event]) -> list[Checked]:
        """Check events. Nothing is to be fed after a violation that does not pass."""
        return [checked for event in events for checked in self._check(event)]

    def _check(self, event: Event) -> Sequence[Checked]:
        match event:
            case CallBegin(_, name):
                return self._begin(name)
            case CallArguments(_, text) if self._call is not None:
                return self._arguments(self._call, text)
            case CallEnd() if self._call is not None:
                return self._end(self._call)
            case Malformed():
                return self._malformed(event)
            case Content() if self._calls_only or (self._masked and self._passed):
                # Nothing but calls passes the mask here: it is what the budget has left of a call's markup.
                return ()
            case _:
                return (event,)

    def _begin(self, name: str) -> Sequence[Event]:
        self._call = call = _OpenCall(self._passed, name, self._rules[name], [])
        return call.let_through() if call_streams(call.rule, self._policy) else ()

    def _arguments(self, call: _OpenCall, text: str) -> Sequence[Event]:
        call.pieces.append(text)
        return (CallArguments(call.number, text),) if call.passing else ()

    def _end(self, call: _OpenCall) -> Sequence[Checked]:
        violation = self._violation(call)
        self._call = None
        if violation is not None and not violation.passes:
            return (violation,)
        self._observer.call_passed(call.rule)
        self._passed += 1
        told = () if violation is None else (violation,)
        return (*call.let_through(), *told, CallEnd(call.number))

    def _violation(self, call: _OpenCall) -> Violation | None:
        text, tool = "".join(call.pieces), call.rule.tool
        errors = violations(text, call.rule.validator)
        if not errors:
            return None
        self._observer.schema_violated(tool.name, errors)
        then = self._policy.on(strict=tool.strict)
        return Violation(Subject.TOOL, tool.name, text, errors, then, strict=tool.strict, seen=call.passing)

    def _malformed(self, failure: Malformed) -> Sequence[Event]:
        """A call cut short stands as far as it was written; whatever is unreadable otherwise is text."""
        self._observer.call_unreadable(failure)
        if failure.index is None or self._call is None:
            # Under a mask this is the opening of a call that the budget cut: a marker, not text.
            cut = self._masked and failure.reason is Reason.TRUNCATED
            return () if cut else (Content(failure.raw),)
        call, self._call = self._call, None
        if failure.reason is Reason.TRUNCATED:
            self._passed += 1
            return call.let_through()
        if call.passing:
            raise half_written(call.name, failure.reason)
        return (Content(failure.raw),)


class AnswerGate:
    """One sequence's JSON answer: passes as it is written under an exact mask, else whole once checked."""

    def __init__(self, rule: AnswerRule | None, observer: Observer, policy: Policy = DEFAULT_POLICY) -> None:
        self._rule = rule
        self._observer = observer
        self._then = OnViolation.REPORT if rule is None else policy.on(strict=rule.strict)
        self._streams = answer_streams(rule, policy)
        self._pieces: list[str] = []

    def feed(self, text: str) -> str:
        if self._rule is not None:
            self._pieces.append(text)
        return text if self._streams else ""

    def finish(self, *, complete: bool) -> tuple[str, Violation | None]:
        """Check the answer if it is `complete`; return what was held, and what is wrong with it."""
        text = "".join(self._pieces)
        if self._rule is None or not text:
            return "", None
        held = "" if self._streams else text
        if not complete or not (errors := violations(text, self._rule.validator)):
            return held, None
        self._observer.schema_violated(self._rule.name, errors)
        violation = Violation(
            Subject.FORMAT,
            self._rule.name,
            text,
            errors,
            self._then,
            strict=self._rule.strict,
            seen=self._streams,
        )
        return held if violation.passes else "", violation


def call_streams(rule: CallRule, policy: Policy) -> bool:
    """Whether nothing can be found at the end of a call for which it should have been held."""
    reported = policy.on(strict=rule.tool.strict) is OnViolation.REPORT
    return rule.streams or (reported and rule.held is not Held.NOTHING)


def answer_streams(rule: AnswerRule | None, policy: Policy) -> bool:
    """The same of an answer."""
    return rule is None or rule.streams or policy.on(strict=rule.strict) is OnViolation.REPORT


def told_at_end(constraint: Constraint) -> bool:
    """Whether all that is not reasoning is held, be it a call or the answer."""
    answer_held = constraint.calls_only or not answer_streams(constraint.answer, constraint.policy)
    return answer_held and not any(
        call_streams(rule, constraint.policy) for rule in constraint.calls.values()
    )


def violations(text: str, validator: InstanceValidator) -> Errors:
    """Everything that is wrong with `text` as an instance of the validator's schema."""
    try:
        value = parse_json(text)
    except NotJsonError as error:
        return Errors((error.error,))
    return validator.errors(value)


def half_written(name: str, reason: Reason) -> ApiError:
    """The error for a call that has begun to pass and cannot be read on: it must not look like an answer."""
    message = (
        f"The model's call of '{name}' became unreadable ({reason.value}) while it was written. Try again."
    )
    return ApiError(Code.UNREADABLE_CALL, message, headers=NOT_RETRIED)


def violation_error(violation: Violation, *, attempts: int = 1) -> ApiError:
    """The error for a complete call or answer that fails its check, the last of so many attempts."""
    kind = "strict " if violation.strict else ""
    subject = (
        f"The model's call of the {kind}function '{violation.name}'"
        if violation.subject is Subject.TOOL
        else f"The model's answer in the {kind}format '{violation.name}'"
    )
    listed = "; ".join(map(str, violation.errors[:5]))
    further = len(violation.errors) + violation.errors.more - 5
    more = f" (and {further} more)" if further > 0 else ""
    tried = f", after {attempts} attempts" if attempts > 1 else ""
    kept = "" if violation.seen else " Nothing of it was passed on."
    return ApiError(
        Code.SCHEMA_VIOLATION,
        f"{subject} breaks the schema{tried}: {listed}{more}.{kept} The mask cannot hold these rules: "
        "try again, or state them in the description, where the model reads them.",
        headers=NOT_RETRIED,
    )
