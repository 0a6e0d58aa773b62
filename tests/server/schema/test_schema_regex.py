"""Patterns as EBNF over JSON text."""

import pytest

from server.schema.formats import FORMATS
from server.schema.regex import UntranslatableError, translate


@pytest.mark.parametrize(
    ("pattern", "ebnf"),
    [
        ("^ab$", "[\\u0061] [\\u0062]"),
        ("^a|b$", None),
        ('^"$', '"\\u005c\\u0022"'),
        ("^\\n$", '"\\u005c\\u006e"'),
        ("^(a|)?$", '((([\\u0061] | "")))?'),
        ("^a{2,3}$", "([\\u0061]){2,3}"),
        ("^\\u{1F600}$", "[\\U0001f600]"),
        ("^\\cJ\\x41$", '"\\u005c\\u006e" [\\u0041]'),
    ],
)
def test_pattern_is_spelled_as_json_text(pattern: str, ebnf: str | None) -> None:
    """Characters that JSON escapes are written as escapes, all others by code point."""
    translation = translate(pattern)

    assert translation.exact
    if ebnf is not None:
        assert translation.ebnf == ebnf


@pytest.mark.parametrize(
    ("pattern", "shortest", "longest"),
    [
        ("^ab?$", 1, 2),
        ("^a*$", 0, None),
        ("ab", 2, None),
        ("^(abc|d)$", 1, 3),
        ("^a{2,4}b$", 3, 5),
        ("^$", 0, 0),
    ],
)
def test_width_counts_characters_of_the_value(pattern: str, shortest: int, longest: int | None) -> None:
    """Lengths beside a pattern are held if the pattern keeps to them by itself."""
    translation = translate(pattern)

    assert (translation.shortest, translation.longest) == (shortest, longest)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)", "(?<!a)b", "(a)\\1", "\\bword", "\\p{L}", "a(b|^c)", "a$b", "(?i)a", "(?#c)a", "x" * 2001,
        "(([a-z]{1,20}-){1,20}){1,20}", "a{2,1}",
    ],
    ids=lambda pattern: pattern[:20],
)  # fmt: skip
def test_pattern_beyond_the_mask_is_told(pattern: str) -> None:
    """What the mask cannot hold is never held wrongly: it is left to the check."""
    with pytest.raises(UntranslatableError):
        translate(pattern)


def test_escaped_backslash_before_a_letter_is_no_class() -> None:
    r"""`\\b` is a backslash and a b, not a word boundary."""
    assert translate(r"^\\b$").ebnf == '"\\u005c\\u005c" [\\u0062]'


def test_long_repeat_of_a_wide_class_is_widened() -> None:
    """A count that would cost the mask milliseconds a token is dropped, and the translation says so."""
    translation = translate("^.{3,500}$")

    assert not translation.exact
    assert translation.ebnf.endswith("+")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_within_the_mask(name: str) -> None:
    """The patterns of formats are held whole, none of them widened."""
    assert translate(FORMATS[name].pattern).exact
