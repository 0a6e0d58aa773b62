"""How often a regular expression repeats its parts."""

import pytest

from server.schema.repeats import repeats


@pytest.mark.parametrize(
    ("pattern", "times"),
    [
        ("", 1),
        ("abc", 1),
        ("a+b*", 1),
        ("^a{3}$", 3),
        ("a{2,}", 2),
        ("a{2,5}b{4}", 5),
        ("a{0,0}", 1),
        ("(a{1,20}-){1,30}", 600),
        ("((a{2}b{3}){4}c){5}", 60),
        ("(?:a{2}|b{3}){2}", 6),
        ("(a{2}){1}{3}", 6),
        (r"\{9}", 1),
        (r"[{9}]{2}", 2),
        (r"[]{9}]", 1),
        (r"[^\]{9}]{2}", 2),
        (r"\({3}\)", 3),
        ("a)b{2}", 2),
        ("(a{2}", 2),
        ("{9}x", 9),
    ],
)
def test_counts_within_counts_are_multiplied(pattern: str, times: int) -> None:
    """Escapes and classes aside, and whether or not the brackets match."""
    assert repeats(pattern) == times


def test_a_long_pattern_is_read_in_one_pass() -> None:
    """Brackets of any depth are held in a list."""
    assert repeats("(" * 50_000 + "a{2}" + ")" * 50_000 + "[" * 50_000) == 2
