"""Ids of calls in the form that the model's family needs."""

import re

import pytest

from parsers.call_ids import CallIdForm
from parsers.events import CallBegin, CallEnd
from parsers.registry import find
from server.prompt.call_ids import CallIdSource, form_of, renumbered
from server.prompt.traits import CallIds
from server.request import Message
from tests.server.prompting import USER, call, calls, result

TWO_CALLS = [USER, calls(call("a", "{}"), call("b", "{}"))]


def named(form: CallIdForm, history: list[Message], *begun: CallBegin) -> list[str]:
    """The ids of calls that begin one answer to the history."""
    return [
        event.id or "" for event in CallIdSource(form, history).named(begun) if isinstance(event, CallBegin)
    ]


@pytest.mark.parametrize(
    ("family", "template", "form"),
    [
        ("hermes", CallIds.ANY, CallIdForm.UNIQUE),
        ("kimi_k2", CallIds.ANY, CallIdForm.NUMBERED),
        ("mistral_v3", CallIds.NINE_LETTERS, CallIdForm.NINE_LETTERS),
        ("mistral_v13", CallIds.ANY, CallIdForm.NINE_LETTERS),
        ("hermes", CallIds.NINE_LETTERS, CallIdForm.NINE_LETTERS),
    ],
)
def test_family_and_template_decide_the_form(family: str, template: CallIds, form: CallIdForm) -> None:
    """What the template refuses is never given, whatever the family."""
    assert form_of(find(family), template) is form


@pytest.mark.parametrize(
    ("form", "pattern"),
    [(CallIdForm.UNIQUE, r"call_[0-9a-f]{24}"), (CallIdForm.NINE_LETTERS, r"[0-9a-zA-Z]{9}")],
)
def test_ids_of_a_form_without_numbers_are_all_different(form: CallIdForm, pattern: str) -> None:
    """A client tells calls apart by their ids, within an answer and over a conversation."""
    ids = named(form, [USER], *[CallBegin(index, "f") for index in range(100)])

    assert len(set(ids)) == 100
    assert all(re.fullmatch(pattern, id) for id in ids)


def test_numbers_go_on_from_the_calls_of_the_conversation() -> None:
    """Kimi counts over all turns, and not over each answer."""
    ids = named(CallIdForm.NUMBERED, TWO_CALLS, CallBegin(0, "f"), CallBegin(1, "g"))

    assert ids == ["functions.f:2", "functions.g:3"]


@pytest.mark.parametrize(
    ("form", "id"),
    [
        (CallIdForm.NUMBERED, "functions.f:2"),
        (CallIdForm.NUMBERED, "functions.f:0"),
        (CallIdForm.NINE_LETTERS, "Zx81kPq0r"),
    ],
)
def test_the_models_own_id_is_kept(form: CallIdForm, id: str) -> None:
    """The model reads it again, with the result, and knows it for its own (rows 85, 98)."""
    assert named(form, TWO_CALLS, CallBegin(0, "f", id)) == [id]


@pytest.mark.parametrize(
    ("form", "id"),
    [
        pytest.param(CallIdForm.NUMBERED, "functions.g:2", id="of another tool"),
        pytest.param(CallIdForm.NUMBERED, "2", id="a number without a name"),
        pytest.param(CallIdForm.NUMBERED, "functions.f:two", id="a word for a number"),
        pytest.param(CallIdForm.NINE_LETTERS, "Zx81kPq0", id="eight letters"),
        pytest.param(CallIdForm.NINE_LETTERS, "Zx81-Pq0r", id="nine characters that are not all letters"),
        pytest.param(CallIdForm.UNIQUE, "0", id="where no model writes ids"),
    ],
)
def test_an_id_of_another_form_is_replaced(form: CallIdForm, id: str) -> None:
    """A client gets only ids that the template takes back (row 98)."""
    [given] = named(form, TWO_CALLS, CallBegin(0, "f", id))

    assert given != id
    assert form.holds(given, "f") or form is CallIdForm.UNIQUE


def test_an_id_of_another_call_is_replaced() -> None:
    """Models count anew in a later turn, or repeat themselves; clients key results by id (row 85)."""
    history = [USER, calls(call("functions.f:0", "{}", "f"))]
    zero, one = CallBegin(0, "f", "functions.f:0"), CallBegin(1, "f", "functions.f:1")

    assert named(CallIdForm.NUMBERED, history, zero, one, one) == [
        "functions.f:1",
        "functions.f:2",
        "functions.f:3",
    ]


def test_ids_come_one_after_the_other_over_the_steps_of_a_stream() -> None:
    """What an earlier step gave is not given again."""
    source = CallIdSource(CallIdForm.NUMBERED, [USER])

    assert source.named([CallBegin(0, "f"), CallEnd(0)]) == (CallBegin(0, "f", "functions.f:0"), CallEnd(0))
    assert source.named([CallBegin(1, "f", "functions.f:0")]) == (CallBegin(1, "f", "functions.f:1"),)


def test_a_history_is_renumbered_with_its_results() -> None:
    """Ids of any other server become those that the model would have written."""
    history = [
        USER,
        calls(call("call_x", "{}", "f"), call("call_y", "{}", "g")),
        result("call_y", "2"),
        result("call_x", "1"),
        calls(call("call_x", "{}", "h")),
        result("call_x", "3"),
    ]
    turns = renumbered(history)

    assert [each.id for turn in turns for each in turn.tool_calls] == [
        *("functions.f:0", "functions.g:1"),
        "functions.h:2",
    ]
    assert [turn.tool_call_id for turn in turns if turn.role == "tool"] == [
        *("functions.g:1", "functions.f:0"),
        "functions.h:2",
    ]
    assert [turn.content for turn in turns] == [turn.content for turn in history]


def test_a_result_of_no_call_keeps_its_id() -> None:
    """What cannot be paired is left for the template to judge."""
    assert renumbered([USER, result("lost", "1")])[1].tool_call_id == "lost"
