"""Answers that are in a form of their own, such as JSON, or are calls: for every family, by its record."""

import json
import random

import pytest

from parsers.events import Content, Event, merge
from parsers.family import Family
from parsers.registry import FAMILIES
from tests.parsers.reading import cut, fold

TOOLS = {"f": {"type": "object", "properties": {"a": {"type": "string"}}}, "g": {"type": "object"}}
CALLS = [("f", {"a": "b"}), ("g", {})]

by_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def events_of(family: Family, text: str) -> list[Event]:
    """The merged events, which must not depend on how the text is cut."""
    rng = random.Random(len(text))
    found = []
    for pieces in ([text], list(text), cut(text, rng), cut(text, rng)):
        parser = family.parser(TOOLS, in_form=True)
        events = [event for piece in pieces for event in parser.feed(piece)]
        found.append(merge(events + parser.finish()))
    assert all(events == found[0] for events in found)
    return found[0]


@by_family
@pytest.mark.parametrize("before", ["", "\n "])
def test_a_form_may_spell_a_call(family: Family, before: str) -> None:
    """A string of a JSON answer is its own, whatever stands in it."""
    text = json.dumps({"text": "see " + family.write_calls(CALLS), "more": family.call.landmarks})

    answer = fold(events_of(family, before + family.write_text(text)))

    assert answer.calls == []
    assert answer.malformed == []
    assert json.loads(answer.content) == json.loads(text)


@by_family
def test_calls_are_read_in_place_of_a_form(family: Family) -> None:
    """The model may call instead of answering."""
    answer = fold(events_of(family, family.write_calls(CALLS)))

    assert [(name, json.loads(arguments)) for name, arguments in answer.calls] == CALLS
    assert answer.content == ""


@by_family
def test_an_object_like_a_call_within_a_form_is_none(family: Family) -> None:
    """Where a call is a bare object, only one that is the whole answer can be it."""
    text = json.dumps({"n": 1, "inner": {"name": "f", "parameters": {"a": "b"}}})

    assert events_of(family, family.write_text(text)) == [Content(text)]


@by_family
def test_half_a_marker_is_text_of_the_form(family: Family) -> None:
    """What only begins like a call is not lost."""
    text = '{"a": "' + (family.call.begin or "[")[:-1]

    assert events_of(family, family.write_text(text)) == [Content(text)]
