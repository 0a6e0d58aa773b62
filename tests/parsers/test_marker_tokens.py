"""Markers that come as tokens of their own, for every family by its record alone."""

import json
import random
import re
from collections.abc import Sequence

import pytest

from parsers.events import CallArguments, Content, Event, Malformed, merge
from parsers.families.hermes import HERMES
from parsers.family import Family, MarkedFamily
from parsers.marker_tokens import as_letters, spellings
from parsers.registry import FAMILIES
from tests.parsers.reading import cut, feed, fold

MARKED = [family for family in FAMILIES if isinstance(family, MarkedFamily)]
REASONING = [family for family in MARKED if family.reasoning]
QUOTED = [family for family in MARKED if family.call.begin]

TOOLS = {"f": {"type": "object", "properties": {"a": {"type": "string"}}}, "g": {"type": "object"}}
CALLS = [("f", {"a": "é 🚀"}), ("g", {}), ("f", {"a": ""})]


def markers_of(family: Family) -> list[str]:
    """The markers of a family as a vocabulary lists them: whole, or in the parts that its record names."""
    span = family.reasoning
    whole = {*family.call.landmarks, *([span.begin, span.end] if span else [])}
    parts = {text for text in spellings(family) if len(text) > 3 and any(text in marker for marker in whole)}
    return sorted(part for part in parts if not any(other in part for other in parts - {part}))


def by_family(families: Sequence[Family]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("family", families, ids=lambda family: family.name)


def feed_tokens(
    family: Family, text: str, rng: random.Random, *, opens_reasoning: bool = False
) -> list[Event]:
    """The merged events of a text in which every marker is a token, and all else comes in pieces."""
    tokens = markers_of(family)
    parser = family.parser(TOOLS, opens_reasoning=opens_reasoning, tokens=tokens)
    longest_first = sorted(tokens, key=len, reverse=True)
    parts = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text) if tokens else [text]
    events: list[Event] = []
    for part in parts:
        if part in tokens:
            events += parser.feed_marker(part)
        else:
            events += [event for piece in cut(part, rng) for event in parser.feed(piece)]
    return merge(events + parser.finish())


@by_family(MARKED)
@pytest.mark.parametrize("seed", range(3))
def test_markers_that_are_tokens_read_like_markers_in_text(family: Family, seed: int) -> None:
    """Whether markers come as tokens or as text makes no difference to an answer that is well written."""
    content = "Sure.\n" if family.call.begin else ""
    text = content + family.write_calls(CALLS)

    events = feed_tokens(family, text, random.Random(seed))

    assert events == feed([text], TOOLS, family=family)
    assert [(name, json.loads(arguments)) for name, arguments in fold(events).calls] == CALLS


@by_family(REASONING)
def test_the_reasoning_span_is_found_by_its_tokens(family: Family) -> None:
    """Opened by the model or by the prompt."""
    span = family.reasoning
    assert span is not None
    rest = f"Hm.{span.end}{span.after}" + family.write_calls(CALLS[:1])

    for begin, opens in ((span.begin, False), ("", True)):
        answer = fold(feed_tokens(family, begin + rest, random.Random(1), opens_reasoning=opens))

        assert answer.reasoning == "Hm."
        assert len(answer.calls) == 1


@by_family(QUOTED)
def test_text_that_spells_a_marker_token_is_text(family: Family) -> None:
    """A quoted call is no call where the real one would be a token (row 4)."""
    tokens = markers_of(family)
    text = "It writes " + family.write_calls(CALLS[:1]).strip() + " then."
    parser = family.parser(TOOLS, tokens=tokens)

    events = merge([event for char in text for event in parser.feed(char)] + parser.finish())

    assert events == [Content(text)]


def test_a_marker_token_within_a_value_is_its_text() -> None:
    """Nothing of an argument is lost, and what stands for the token inside is not seen outside (row 2)."""
    parser = HERMES.parser(TOOLS, tokens=['<"call">', "<tool_call>", "</tool_call>"])

    events = parser.feed_marker("<tool_call>")
    events += parser.feed('{"name": "f", "arguments": {"a": "')
    events += parser.feed_marker("</tool_call>") + parser.feed_marker('<"call">')
    events += parser.feed('"}}') + parser.feed_marker("</tool_call>") + parser.finish()

    arguments = "".join(event.text for event in events if isinstance(event, CallArguments))
    assert json.loads(arguments) == {"a": '</tool_call><"call">'}


def test_the_raw_text_of_a_broken_call_spells_its_marker_tokens() -> None:
    """What could not be read is shown as the model wrote it."""
    parser = HERMES.parser(TOOLS, tokens=["<tool_call>", "</tool_call>"])

    events = parser.feed_marker("<tool_call>") + parser.feed("{'name'}") + parser.feed_marker("</tool_call>")

    assert [event.raw for event in events + parser.finish() if isinstance(event, Malformed)] == [
        "<tool_call>{'name'}</tool_call>"
    ]


def test_a_model_cannot_spell_the_letter_of_a_marker() -> None:
    """The letters are Unicode's noncharacters; one that comes in text becomes U+FFFD."""
    letter = dict(as_letters(["<tool_call>"]).letters)["<tool_call>"]
    parser = HERMES.parser(TOOLS, tokens=["<tool_call>"])

    events = parser.feed(f'{letter}{{"name": "g"}}') + parser.finish()

    assert merge(events) == [Content('\ufffd{"name": "g"}')]
