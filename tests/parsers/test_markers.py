"""Markers in text that is still being written."""

import pytest

from parsers.markers import first_marker, held_tail, may_become

MARKERS = ("<tool_call>", "</think>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <tool_call> </think>", (2, "<tool_call>")),
        ("a </think> <tool_call>", (2, "</think>")),
        ("</think>", (0, "</think>")),
        ("a <tool_call", (-1, "")),
        ("", (-1, "")),
    ],
)
def test_first_marker_is_the_one_that_stands_first(text: str, expected: tuple[int, str]) -> None:
    """The order in which the markers are listed does not matter."""
    assert first_marker(text, MARKERS) == expected
    assert first_marker(text, MARKERS[::-1]) == expected


@pytest.mark.parametrize(
    ("text", "length"),
    [("a <", 1), ("a <tool_call", 10), ("a </", 2), ("<<t", 2), ("a <b", 0), ("", 0), ("<tool_call>", 0)],
)
def test_held_tail_is_the_longest_that_could_become_a_marker(text: str, length: int) -> None:
    """No more is held back than may turn out to be a marker, and no less."""
    assert held_tail(text, MARKERS) == length


def test_nothing_is_held_when_there_is_nothing_to_find() -> None:
    """Without markers text passes at once."""
    assert held_tail("a <", ()) == 0


def test_whole_marker_does_not_become_one() -> None:
    """Only what is not yet a marker may become one."""
    assert may_become("", MARKERS)
    assert may_become("</thi", MARKERS)
    assert not may_become("<tool_call>", MARKERS)
    assert not may_become("<x", MARKERS)
