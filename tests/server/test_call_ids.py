"""Ids of calls in the form that the model's family needs."""

import re

import pytest

from server.call_ids import CallIdForm, CallIdSource, form_of, renumbered
from server.traits import CallIds
from tests.server.prompting import USER, call, calls, result


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
    assert form_of(family, template) is form


@pytest.mark.parametrize(
    ("form", "pattern"),
    [(CallIdForm.UNIQUE, r"call_[0-9a-f]{24}"), (CallIdForm.NINE_LETTERS, r"[0-9a-zA-Z]{9}")],
)
def test_ids_of_a_form_without_numbers_are_all_different(form: CallIdForm, pattern: str) -> None:
    """A client tells calls apart by their ids, within an answer and over a conversation."""
    source = CallIdSource(form, [USER])
    ids = {source.new("f") for _ in range(100)}

    assert len(ids) == 100
    assert all(re.fullmatch(pattern, id) for id in ids)


def test_numbers_go_on_from_the_calls_of_the_conversation() -> None:
    """Kimi counts over all turns, and not over each answer."""
    source = CallIdSource(CallIdForm.NUMBERED, [USER, calls(call("a", "{}"), call("b", "{}"))])

    assert [source.new("f"), source.new("g")] == ["functions.f:2", "functions.g:3"]


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
