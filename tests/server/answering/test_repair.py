"""The conversation in which a wrong call or answer is written again."""

from typing import Any

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Reasoning
from server.answering.repair import ACCEPTED, Written, can_follow, follow_up
from server.answering.validate import Subject, Violation
from server.policy import OnViolation
from server.request import Message, Mode, Request, ToolCall, ToolChoice
from server.schema.instance import Errors, InstanceError

QUESTION = Message("user", "Hi")
ERRORS = Errors((InstanceError("$.a", "type", "one"), InstanceError("$.b", "enum", "two")))


def violation(
    subject: Subject = Subject.TOOL, *, then: OnViolation = OnViolation.RETRY, **more: Any
) -> Violation:
    return Violation(subject, "f", '{"a": 1}', ERRORS, then, **more)


def ask(**fields: Any) -> Request:
    return Request(**{"id": "r", "api": "chat", "model": "m", "messages": (QUESTION,), **fields})


def test_the_wrong_call_is_in_the_history_with_every_error_as_its_result() -> None:
    """The model reads what it wrote, where it is wrong, and that it is to write it again."""
    written = Written()
    written.add([Reasoning("hm"), Content("Su"), Content("re.")])
    question, turn, result = follow_up(ask(), written, violation(), "c1").messages

    assert question is QUESTION
    wrong = ToolCall("c1", "f", '{"a": 1}')
    assert turn == Message("assistant", "Sure.", reasoning="hm", tool_calls=(wrong,))
    assert (result.role, result.tool_call_id, result.name) == ("tool", "c1", "f")
    assert "\n- $.a: one\n- $.b: two\n" in result.content


def test_calls_that_passed_stand_before_it_as_accepted() -> None:
    """Every call needs a result, and theirs are not there yet."""
    written = Written()
    events: list[Event] = [
        CallBegin(0, "g", "c0"),
        CallArguments(0, '{"x"'),
        CallArguments(0, ": 1}"),
        CallEnd(0),
    ]
    written.add(events)
    _, turn, *results = follow_up(ask(), written, violation(), "c1").messages

    assert turn.tool_calls[0] == ToolCall("c0", "g", '{"x": 1}')
    assert [(result.tool_call_id, result.content == ACCEPTED) for result in results] == [
        ("c0", True),
        ("c1", False),
    ]


def test_a_wrong_answer_is_followed_by_its_errors_from_the_user() -> None:
    """What may be written stays as it was: it may be a call this time."""
    choice = ToolChoice(Mode.AUTO)
    following = follow_up(ask(choice=choice), Written(), violation(Subject.FORMAT), "c1")

    _, answer, told = following.messages
    assert (answer.role, answer.content) == ("assistant", '{"a": 1}')
    assert told.role == "user"
    assert "\n- $.a: one\n- $.b: two\n" in told.content
    assert following.choice == choice


CHOICES = [
    (ToolChoice(Mode.AUTO), ToolChoice(Mode.REQUIRED)),
    (ToolChoice(Mode.AUTO, ("f", "g")), ToolChoice(Mode.REQUIRED, ("f", "g"))),
    (ToolChoice(Mode.NAMED, ("f",)), ToolChoice(Mode.NAMED, ("f",))),
]


@pytest.mark.parametrize(("before", "after"), CHOICES)
def test_after_a_wrong_call_a_call_must_come(before: ToolChoice, after: ToolChoice) -> None:
    """Of those that may: text has been written already."""
    assert follow_up(ask(choice=before), Written(), violation(), "c1").choice == after


def test_a_message_that_was_continued_is_finished() -> None:
    """Its two halves are one turn, and the next attempt begins another."""
    begun = Message("assistant", "So ")
    written = Written()
    written.add([Content("be it.")])
    request = ask(messages=(QUESTION, begun), continue_final_message=True)
    following = follow_up(request, written, violation(), "c1")

    assert [message.role for message in following.messages] == ["user", "assistant", "tool"]
    assert following.messages[1].content == "So be it."
    assert not following.continue_final_message


@pytest.mark.parametrize(
    ("wrong", "continues", "may"),
    [
        (violation(), False, True),
        (violation(), True, True),
        (violation(Subject.FORMAT), False, True),
        (violation(Subject.FORMAT), True, False),
        (violation(seen=True), False, False),
        (violation(then=OnViolation.ERROR), False, False),
    ],
)
def test_only_what_nobody_has_seen_is_written_again(wrong: Violation, *, continues: bool, may: bool) -> None:
    """An answer that continues a message is seen with it."""
    assert can_follow(ask(continue_final_message=continues), wrong) is may
