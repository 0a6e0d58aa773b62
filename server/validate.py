"""What passes on of the parser's events: calls that are right, in order, and nothing half-right.

A call under an exact mask passes as it is written. Any other is held until it is complete and checked:
it then passes whole, or becomes text (it was no call), or fails the request (it was strict, and wrong).

    gate = CallGate(constraint, observer)
    gate.feed([CallBegin(0, "f")])                        # [] while "f" is held
    gate.feed([CallArguments(0, "{}"), CallEnd(0)])       # [CallBegin(0, "f"), CallArguments(0, "{}"), …]
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reason
from server.constrain import AnswerRule, CallRule, Constraint
from server.errors import ApiError, Code
from server.schema.instance import InstanceError, InstanceValidator, NotJsonError, parse_json

NOT_RETRIED = {"x-should-retry": "false"}
"""Tells SDKs not to try a whole generation again by themselves: that is the caller's choice."""


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
    """One sequence's events in, checked events out. Numbers calls anew, as some may not pass."""

    def __init__(self, constraint: Constraint, observer: Observer) -> None:
        self._rules = constraint.calls
        self._masked = constraint.structural_tag is not None
        self._calls_only = constraint.calls_only
        self._observer = observer
        self._call: _OpenCall | None = None
        self._passed = 0

    def feed(self, events: Iterable[Event]) -> list[Event]:
        """Raises `ApiError` (500) for a complete strict call outside its schema (`schema_violation`)."""
        return [checked for event in events for checked in self._check(event)]

    def _check(self, event: Event) -> Sequence[Event]:
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
        self._call = _OpenCall(self._passed, name, self._rules[name], [])
        return self._call.let_through() if self._call.rule.streams else ()

    def _arguments(self, call: _OpenCall, text: str) -> Sequence[Event]:
        call.pieces.append(text)
        return (CallArguments(call.number, text),) if call.passing else ()

    def _end(self, call: _OpenCall) -> Sequence[Event]:
        self._check_arguments(call.rule, "".join(call.pieces))
        self._observer.call_passed(call.rule)
        self._call, self._passed = None, self._passed + 1
        return (*call.let_through(), CallEnd(call.number))

    def _check_arguments(self, rule: CallRule, text: str) -> None:
        errors = violations(text, rule.validator)
        if not errors:
            return
        self._observer.schema_violated(rule.tool.name, errors)
        if rule.tool.strict:
            subject = f"The model's call of the strict function '{rule.tool.name}'"
            raise violation(subject, errors, passed_on=rule.streams)

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

    def __init__(self, rule: AnswerRule | None, observer: Observer) -> None:
        self._rule = rule
        self._observer = observer
        self._pieces: list[str] = []

    def feed(self, text: str) -> str:
        if self._rule is None:
            return text
        self._pieces.append(text)
        return text if self._rule.streams else ""

    def finish(self, *, complete: bool) -> str:
        """Check the answer if it is `complete`; return what was held. Raises `ApiError` like `CallGate`."""
        text = "".join(self._pieces)
        if self._rule is None or not text:
            return ""
        if complete and (errors := violations(text, self._rule.validator)):
            self._observer.schema_violated(self._rule.name, errors)
            if self._rule.strict:
                subject = f"The model's answer in the strict format '{self._rule.name}'"
                raise violation(subject, errors, passed_on=self._rule.streams)
        return "" if self._rule.streams else text


def violations(text: str, validator: InstanceValidator) -> Sequence[InstanceError]:
    """Everything that is wrong with `text` as an instance of the validator's schema."""
    try:
        value = parse_json(text)
    except NotJsonError as error:
        return (error.error,)
    return validator.errors(value)


def half_written(name: str, reason: Reason) -> ApiError:
    """The error for a call that has begun to pass and cannot be read on: it must not look like an answer."""
    message = (
        f"The model's call of '{name}' became unreadable ({reason.value}) while it was written. Try again."
    )
    return ApiError(Code.UNREADABLE_CALL, message, headers=NOT_RETRIED)


def violation(subject: str, errors: Sequence[InstanceError], *, passed_on: bool) -> ApiError:
    """The error for a complete call or answer that fails its check."""
    listed = "; ".join(f"{error.path}: {error.message}" for error in errors[:5])
    more = f" (and {len(errors) - 5} more)" if len(errors) > 5 else ""
    kept = "" if passed_on else " Nothing of it was passed on."
    return ApiError(
        Code.SCHEMA_VIOLATION,
        f"{subject} breaks the schema: {listed}{more}.{kept} The mask cannot hold these rules: "
        "try again, or state them in the description, where the model reads them.",
        headers=NOT_RETRIED,
    )
