"""The frame of readers: where a text value may end, and what of one passes without a closer look."""

import pytest

from parsers.arguments.buffered import TextEnds
from parsers.arguments.style import Arguments, CallReader
from parsers.families.llama4_pythonic import LLAMA4_PYTHONIC
from parsers.families.qwen3_coder import QWEN3_CODER
from parsers.family import MarkedFamily

ENDS = TextEnds(("\n</p>", "</p>", "\n<k="))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a b", ("a b", "")),
        ("a\nb", ("a\nb", "")),
        ("a <b> c", ("a <b> c", "")),
        ("a\n", ("a", "\n")),
        ("a\n</", ("a", "\n</")),
        ("a <", ("a ", "<")),
        ("\n", ("", "\n")),
        ("", ("", "")),
        ("a</p>b", None),
        ("a\n<k=", None),
    ],
)
def test_text_waits_only_where_an_end_may_begin(text: str, read: tuple[str, str] | None) -> None:
    """A line break, or the first character of a marker, is text as soon as what follows shows it."""
    assert ENDS.read(text) == read


TOOLS = {"f": {"type": "object", "properties": {"a": {"type": "string"}}}}


def in_text(family: MarkedFamily) -> CallReader:
    """A reader that has come to the inside of a text value."""
    call = family.call.style
    reader = call.reader(TOOLS)
    whole = family.write_calls([("f", {"a": "MIDDLE"})]).removeprefix(family.call.begin)
    reader.read(whole[: whole.index("MIDDLE")])
    return reader


TEXTS = [
    (QWEN3_CODER, ["a\n", "<b>\n", "</", 'p>"'], ["a", "\\n<b>", "", '\\n</p>\\"']),
    (LLAMA4_PYTHONIC, ["a\\n", '"\\', "'<", "\\\\\\'"], ["a\\n", '\\"', "'<", None]),
    (LLAMA4_PYTHONIC, ["\\x41", "b'"], [None, None]),
    (QWEN3_CODER, ["a</parameter>", "b"], [None, "b"]),
]


@pytest.mark.parametrize(("family", "pieces", "passed"), TEXTS)
def test_plain_text_passes_with_its_line_breaks_and_escapes(
    family: MarkedFamily, pieces: list[str], passed: list[str | None]
) -> None:
    """What needs a closer look is refused, and has not been read then."""
    reader = in_text(family)

    assert [reader.pass_plain(piece) for piece in pieces] == passed


def test_what_waits_is_read_with_what_follows() -> None:
    """A piece that does not pass finds all that waited before it."""
    reader = in_text(QWEN3_CODER)

    assert reader.pass_plain("a\n</para") == "a"
    assert reader.pass_plain("meter>") is None
    assert reader.read("meter>\n</function>").steps == (Arguments('"}'),)
