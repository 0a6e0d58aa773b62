"""The machine, where it is not about one family's text: pieces, spans, what is held, how much work it is."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.events import Content, Reasoning, merge
from parsers.families.hermes import HERMES
from parsers.syntax import CallInside, Span
from tests.parsers.reading import TOOLS, Answer, events_of, feed, read
from tests.parsers.working import work

BITS = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        '{"name": "f", "arguments": {',
        '"a": "b"',
        "}}",
        '{"arguments": "{}", "name": "g"}',
        '"',
        "\\",
        "\\u00",
        ",",
        "[",
        "]",
        "```",
        "\n",
        " ",
        "tru",
        "1",
        "x",
        "<",
    ]
)
ANSWERS = st.lists(BITS | st.text(max_size=3), max_size=20)


@given(
    bits=ANSWERS,
    cuts=st.lists(st.integers(0, 200), max_size=8),
    truncated=st.booleans(),
    opens=st.booleans(),
    inside=st.sampled_from(CallInside),
)
def test_any_cut_gives_the_same_events(
    bits: list[str],
    cuts: list[int],
    truncated: bool,
    opens: bool,
    inside: CallInside,
) -> None:
    """However an answer is cut into pieces, its merged events are those of the whole."""
    text = "".join(bits)
    family = replace(HERMES, reasoning=Span("<think>", "</think>", call_inside=inside))
    bounds = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(bounds)]

    def events(pieces: list[str]) -> list[Any]:
        return list(feed(pieces, truncated=truncated, opens_reasoning=opens, family=family))

    assert events(pieces) == events([text]) == events(list(text))


@given(ANSWERS)
def test_every_call_that_ends_has_an_object_for_arguments(bits: list[str]) -> None:
    """Whatever the model writes, a complete call holds the JSON text of an object."""
    for name, arguments in read("".join(bits)).calls:
        assert name in TOOLS
        assert isinstance(json.loads(arguments), dict)


def test_call_marker_can_end_the_span_at_once() -> None:
    """In a family whose record says so, a call in a span ends it though the span is closed later."""
    family = replace(HERMES, reasoning=Span("<think>", "</think>", call_inside=CallInside.ENDS_SPAN))
    text = 'Hm <tool_call> hm.\n<tool_call>{"name": "f"}</tool_call>\nso</think>'

    assert read(text, opens_reasoning=True, family=family) == Answer(
        "\nso</think>", "Hm <tool_call> hm.", [("f", "{}")]
    )
    parser = family.parser(TOOLS, opens_reasoning=True)
    assert merge(parser.feed(text[:40])) == [Reasoning("Hm <tool_call> hm.")]


def test_family_that_does_not_reason_has_no_span() -> None:
    """Its markers are text, and a prompt cannot have opened one."""
    family = replace(HERMES, reasoning=None)

    assert read("<think>a</think>", family=family, opens_reasoning=True) == Answer("<think>a</think>")


def test_text_streams_as_it_comes() -> None:
    """Only what may be a marker, and whitespace, waits for the next piece."""
    parser = HERMES.parser(TOOLS)

    assert parser.feed("Hel") == [Content("Hel")]
    assert parser.feed("lo. <to") == [Content("lo.")]
    assert parser.feed("ol>") == [Content(" <tool>")]
    assert parser.feed("") == []


def test_reasoning_streams_until_a_call_marker_holds_it() -> None:
    """Behind a call marker in the span, only its end tells what was said."""
    parser = HERMES.parser(TOOLS)

    assert parser.feed("<think>\nHm, ") == [Reasoning("Hm,")]
    assert parser.feed("<tool_call> or so.") == []
    assert merge(parser.feed("</think>Yes")) == [Reasoning(" <tool_call> or so."), Content("Yes")]


@pytest.mark.parametrize("opens", [True, False])
def test_parser_tells_whether_it_is_in_the_span(opens: bool) -> None:
    """The span begins with its marker, or with the prompt, and ends with its marker."""
    parser = HERMES.parser(TOOLS, opens_reasoning=opens)

    assert parser.in_reasoning == opens
    seen = []
    for piece in ("<think>", "\n", "Hm <tool_call>", "</think>", "Yes"):
        parser.feed(piece)
        seen.append(parser.in_reasoning)
    assert seen == [True, True, True, False, False]


def test_call_in_an_open_span_ends_it_at_the_end() -> None:
    """After `finish` the parser is out of the span that the call has ended."""
    parser = HERMES.parser(TOOLS, opens_reasoning=True)
    parser.feed('Hm <tool_call>{"name": "f"}</tool_call>')

    assert parser.in_reasoning
    parser.finish()
    assert not parser.in_reasoning


def test_without_tools_call_markers_are_text() -> None:
    """An answer to a request without tools is exact, markup and all."""
    text = ' \n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n'

    assert events_of(text, ()) == [Content(text)]


CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "%s"}}\n</tool_call>\n'
SHAPES: dict[str, Callable[[int], str]] = {
    "one long argument": lambda size: CALL % ("x" * size),
    "many escapes": lambda size: CALL % ("\\n" * (size // 2)),
    "many calls": lambda size: CALL % "x" * (size // 64),
    "deep arguments": lambda size: '<tool_call>{"name": "f", "arguments": {"a": ' + "[" * size,
    "arguments before the name": lambda size: (
        '<tool_call>{"arguments": {"a": "%s"}, "name": "f"}' % ("x" * size)
    ),
    "arguments as a string": lambda size: (
        r'<tool_call>{"name": "f", "arguments": "{\"a\": \"%s\"}"}' % ("x" * size)
    ),
    "whitespace": lambda size: "a" + " " * size,
    "whitespace before the answer": lambda size: " " * size,
    "whitespace in the tag": lambda size: "<tool_call>" + " " * size,
    "whitespace behind a call": lambda size: CALL % "x" + " " * size,
    "almost markers": lambda size: "<tool_cal" * (size // 9),
    "first characters of markers": lambda size: "<" * size,
    "markers of no call": lambda size: "<tool_call>" * (size // 11),
    "broken calls": lambda size: "<tool_call>{x" * (size // 13),
    "broken calls, closed": lambda size: "<tool_call>{x</tool_call>" * (size // 25),
    "broken after a long string": lambda size: (
        '<tool_call>{"a": "%s" x' % ("</tool_call><tool_call>{" * (size // 24))
    ),
    "strings out of step": lambda size: "<tool_call>{" + '"</tool_call><tool_call>{":' * (size // 27),
    "call held in reasoning": lambda size: "<think><tool_call>" + "x" * size,
    "calls held in reasoning": lambda size: "<think>" + (CALL % "x") * (size // 64),
    "a long number": lambda size: '<tool_call>{"name": "f", "arguments": {"a": 0.%s}}' % ("1" * size),
    "malformed calls in one tag": lambda size: "<tool_call>" + "{}" * (size // 2),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize(("piece", "size"), [(1, 1024), (10**9, 2048)], ids=["characters", "one piece"])
def test_work_is_linear(shape: Callable[[int], str], piece: int, size: int) -> None:
    """Four times the text is about four times the work, whatever it holds (B317)."""
    small, large = (work(HERMES.parser(TOOLS), shape(times * size), piece) for times in (1, 4))

    assert large < 4.6 * small


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_shapes_of_work_are_read_in_one_way(shape: Callable[[int], str]) -> None:
    """The long answers that measure work are read the same in pieces longer than what is taken at once."""
    events_of(shape(3_000))
