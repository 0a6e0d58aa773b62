"""The JSON lexer, against the standard library's reader."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.arguments.json_lexer import DEEPEST, JsonLexer
from parsers.arguments.style import Progress
from tests.parsers.reading import cut

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def lex(pieces: list[str], *, plainly: bool = False) -> tuple[Progress, int]:
    """Progress, and the number of characters read; `plainly`: by `pass_plain` whatever it takes."""
    lexer, consumed = JsonLexer(), 0
    for piece in pieces:
        end = len(piece) if plainly and lexer.pass_plain(piece) else lexer.read(piece)
        consumed += end
        if end < len(piece):
            break
    return lexer.progress, consumed


def lex_any_way(text: str) -> tuple[Progress, int]:
    """The same, which must not depend on the pieces."""
    whole = lex([text])
    assert lex(list(text)) == whole
    for longest in (1, 4):
        pieces = cut(text, random.Random(len(text)), longest)
        assert lex(pieces) == lex(pieces, plainly=True) == whole
    return whole


@given(
    value=JSON, indent=st.none() | st.integers(0, 2), ascii_only=st.booleans(), tail=st.sampled_from(" ,]}<x")
)
def test_value_ends_at_its_last_character(
    value: Any,
    indent: int | None,
    ascii_only: bool,
    tail: str,
) -> None:
    """Whatever is written as JSON is read to its end and not further, in any pieces."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    assert lex_any_way(text + tail) == (Progress.COMPLETE, len(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"a":[{}, [],""]}',
        "-0",
        "0.5E-7",
        "1e+2",
        '"\\u00e9\\/\\b\\f"',
        "[ true ,false,\r\n null ]",
        '"\x7f\u2028"',
    ],
)
def test_every_form_of_the_grammar_is_a_value(text: str) -> None:
    """RFC 8259 to the letter."""
    assert lex_any_way(text + " ") == (Progress.COMPLETE, len(text))
    json.loads(text)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("x", 0),
        ("'a'", 0),
        ("tru ", 3),
        ("NaN", 0),
        ("-Infinity", 1),
        ("[01]", 2),
        ("[1.]", 3),
        ("[.5]", 1),
        ("[1e]", 3),
        ("[+1]", 1),
        ("[1e999]", 6),
        ("[-1e400]", 7),
        ("[1,]", 3),
        ("[,", 1),
        ("[1 2", 3),
        ("[1}", 2),
        ('{"a":1,}', 7),
        ("{a", 1),
        ('{"a" 1', 5),
        ('{"a"::', 5),
        ('{"a":}', 5),
        ('"\n', 1),
        ('"\x1f', 1),
        ('"\\x', 2),
        ('"\\u12g4', 5),
    ],
)
def test_value_breaks_at_the_first_character_that_cannot_stand(text: str, at: int) -> None:
    """The offending character is not consumed."""
    assert lex_any_way(text) == (Progress.BROKEN, at)


@pytest.mark.parametrize("text", ["", " ", "[", '{"a', '{"a": "\\', '"\\u00', "12", "tr", "[1, "])
def test_value_stays_open_until_it_ends(text: str) -> None:
    """An unfinished value is neither complete nor broken."""
    assert lex_any_way(text) == (Progress.OPEN, len(text))


def test_nesting_is_bounded() -> None:
    """What nests deeper than readers can follow is refused at the bracket that goes too far."""
    assert lex(["[" * DEEPEST + "]" * DEEPEST])[0] is Progress.COMPLETE
    assert lex(['{"a":' * (DEEPEST + 1)]) == (Progress.BROKEN, len('{"a":' * DEEPEST))


@pytest.mark.parametrize(
    ("before", "text", "passes"),
    [
        ('"', "a é", True),
        ('"', '\\n\\"a\\/', True),
        ('"', "a\\", True),
        ('"\\', '"a', True),
        ('"\\', '"a\\', True),
        ('"', 'a"', False),
        ('"', '\\na"', False),
        ('"', "\\\\", False),
        ('"', "\\u", False),
        ('"', "\\x", False),
        ('"', "a\n", False),
        ('"\\u00', "00", False),
        ("[", "1", False),
        ('"a"', "b", False),
        ('"\n', "b", False),
    ],
)
def test_only_what_stays_within_a_string_passes(before: str, text: str, passes: bool) -> None:
    """What ends or breaks the string, or needs a closer look, is left to be read."""
    lexer = JsonLexer()
    lexer.read(before)

    assert lexer.pass_plain(text) == passes
    # What was passed counts as read, and what was not has left no trace.
    lexer.read('"' if passes else text)
    assert lexer.progress is lex([before + text + '"' * passes])[0]


@given(st.text(alphabet='{}[]",:\\ue1-0.trfalsn \n', max_size=12))
def test_complete_is_exactly_what_the_standard_library_loads(text: str) -> None:
    """Neither wider nor narrower than `json.loads` on text of JSON's own characters."""
    progress, consumed = lex_any_way(text + " ")
    complete = progress is Progress.COMPLETE and not (text + " ")[consumed:].strip(" \n")
    try:
        json.loads(text)
        loads = True
    except ValueError:
        loads = False

    assert complete == loads
