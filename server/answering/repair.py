r"""A call or an answer that breaks its schema is written again: the conversation in which it is.

The wrong call stands in it as if it had been made, and its errors as the call's result:

    follow_up(request, written, violation, "call_1").messages[-2:]
    # (Message("assistant", "", tool_calls=(ToolCall("call_1", "tag", '{"tags": ["a", "a"]}'),)),
    #  Message("tool", "The call was not made: …\n- $.tags: …", tool_call_id="call_1"))

A wrong answer stands in it as the assistant's, and its errors as the user's. What has passed on stays as it
is: the text, and the calls before the wrong one. Behind them, another attempt at a call writes calls only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from io import StringIO

from parsers.events import CallArguments, CallBegin, Content, Event, Reasoning
from server.answering.validate import Subject, Violation
from server.request import Message, Mode, Request, Templated, ToolCall, ToolChoice

ACCEPTED = "The call is accepted. Do not write it again."
"""The result of a call that passed on before a wrong one, while its real result is not there yet."""


class Written:
    """What one attempt has passed on. Taking a piece costs the same however much there is."""

    def __init__(self) -> None:
        self._content = StringIO()
        self._reasoning = StringIO()
        self._calls: list[tuple[CallBegin, StringIO]] = []

    def add(self, events: Iterable[Event]) -> None:
        """Take what is passed on; calls have their ids."""
        for event in events:
            match event:
                case Content(text):
                    self._content.write(text)
                case Reasoning(text):
                    self._reasoning.write(text)
                case CallBegin():
                    self._calls.append((event, StringIO()))
                case CallArguments(_, text):
                    self._calls[-1][1].write(text)

    @property
    def content(self) -> str:
        return self._content.getvalue()

    @property
    def reasoning(self) -> str:
        return self._reasoning.getvalue()

    @property
    def calls(self) -> list[ToolCall]:
        return [ToolCall(begin.id or "", begin.name, text.getvalue()) for begin, text in self._calls]


def can_follow(request: Request, violation: Violation) -> bool:
    """Whether there can be another attempt.

    An answer that continues a message cannot begin anew, and only in a conversation can its faults be told.
    """
    if not isinstance(request.source, Templated):
        return False
    return violation.retries and not (request.continue_final_message and violation.subject is Subject.FORMAT)


def follow_up(request: Request, written: Written, violation: Violation, call_id: str) -> Request:
    """Return the request of the next attempt; `call_id` is for the wrong call."""
    if violation.subject is Subject.FORMAT:
        answer = Message("assistant", violation.text, reasoning=written.reasoning)
        return replace(request, messages=(*request.messages, answer, Message("user", _told(violation))))
    wrong = ToolCall(call_id, violation.name, violation.text)
    before, begun = _unfinished(request)
    turn = Message(
        "assistant",
        begun + written.content,
        reasoning=written.reasoning,
        tool_calls=(*written.calls, wrong),
    )
    accepted = (_result(call, ACCEPTED) for call in written.calls)
    choice = request.choice
    if not choice.forces_call:
        choice = ToolChoice(Mode.REQUIRED, choice.allowed)
    return replace(
        request,
        messages=(*before, turn, *accepted, _result(wrong, _told(violation))),
        choice=choice,
        continue_final_message=False,
    )


def _unfinished(request: Request) -> tuple[Sequence[Message], str]:
    """Return the finished messages, and the text of one that was to be continued."""
    if not request.continue_final_message:
        return request.messages, ""
    return request.messages[:-1], request.messages[-1].content


def _result(call: ToolCall, text: str) -> Message:
    return Message("tool", text, tool_call_id=call.id, name=call.name)


def _told(violation: Violation) -> str:
    """Return what is wrong, for the model: every error with its place, and what to do."""
    errors = "\n".join(f"- {line}" for line in violation.errors.lines())
    if violation.subject is Subject.TOOL:
        return (
            f"The call was not made: its arguments do not fit the parameters of '{violation.name}'.\n"
            f"{errors}\nCall '{violation.name}' again, with arguments that fit."
        )
    return (
        f"The answer is not in the format '{violation.name}'.\n"
        f"{errors}\nWrite the whole answer again, in the format."
    )
