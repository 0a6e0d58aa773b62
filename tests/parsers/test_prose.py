"""Text on its way out."""

from parsers.events import Content, Event
from parsers.prose import Prose


def test_trailing_whitespace_is_held_until_text_follows() -> None:
    """Whitespace is said together with the text behind it."""
    prose = Prose(Content)

    assert prose.add("a \n") == [Content("a")]
    assert prose.add("\t") == []
    assert prose.add("b") == [Content(" \n\tb")]
    assert prose.release() == []


def test_held_whitespace_can_be_released_or_dropped() -> None:
    """At the end it is text; before a call it is not."""
    for prose, released in ((Prose(Content), True), (Prose(Content), False)):
        prose.add("a\n")
        if not released:
            prose.drop()

        expected: list[Event] = [Content("\n")] if released else []
        assert prose.release() == expected


def test_newlines_behind_a_marker_are_dropped_in_any_pieces() -> None:
    """Only newlines, only directly behind the marker."""
    prose = Prose(Content)
    prose.follow_marker()

    assert prose.add("\n") == prose.add("\r\n") == prose.add("\n ") == []
    assert prose.add("\n") == []
    assert prose.add("a") == [Content(" \na")]


def test_only_json_whitespace_is_held() -> None:
    """A no-break space is text like any other."""
    assert Prose(Content).add("a\u00a0\u2028") == [Content("a\u00a0\u2028")]


def test_whitespace_behind_a_call_is_said_only_with_text() -> None:
    """At the end it belongs to the call."""
    prose = Prose(Content)
    prose.follow_call()

    assert prose.add("\n") == prose.release() == []
    assert prose.add(" a ") == [Content(" a")]
    assert prose.release() == [Content(" ")]
