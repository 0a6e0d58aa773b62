r"""Text of one kind on its way out, whose trailing whitespace is held until it is known what follows.

prose = Prose(Content)
prose.add("Sure.\n")     # [Content("Sure.")]
prose.drop()             # a call follows: the newline belongs to the markup
prose.add("\nDone.\n")  # [Content("\nDone.")]
prose.release()          # [Content("\n")]
"""

from collections.abc import Callable
from enum import Enum

from parsers.arguments.json_lexer import WHITESPACE
from parsers.events import Content, Event, Reasoning


class _Before(Enum):
    """What stands before the text that comes next."""

    TEXT = "text"
    MARKER = "marker"
    """A marker whose trailing newlines are not text."""
    CALL = "call"
    """A call: whitespace up to the next call, or to the end, is not text."""


class Prose:
    """Turns pieces of text into `Content` or `Reasoning` events."""

    __slots__ = ("_before", "_event", "_held")

    def __init__(self, event: Callable[[str], Content | Reasoning]) -> None:
        self._event = event
        self._held: list[str] = []
        self._before = _Before.TEXT

    def add(self, text: str) -> list[Event]:
        """Say the text, and the whitespace held before it; hold what it ends in."""
        if self._before is _Before.MARKER:
            text = text.lstrip("\r\n")
        if not text:
            return []
        solid = text.rstrip(WHITESPACE)
        if not solid:
            self._before = _Before.TEXT if self._before is _Before.MARKER else self._before
            self._held.append(text)
            return []
        said = "".join(self._held) + solid
        self._held = [text[len(solid) :]]
        self._before = _Before.TEXT
        return [self._event(said)]

    def release(self) -> list[Event]:
        """Say the whitespace held, unless it only follows a call."""
        held = "".join(self._held)
        self._held.clear()
        return [self._event(held)] if held and self._before is not _Before.CALL else []

    def drop(self) -> None:
        """Forget the whitespace held: what follows is not text of this kind."""
        self._held.clear()

    def follow_marker(self) -> None:
        """A marker has just been read: newlines up to the next text are dropped."""
        self._held.clear()
        self._before = _Before.MARKER

    def follow_call(self) -> None:
        """A call has just been read: whitespace is dropped, unless text follows it."""
        self._held.clear()
        self._before = _Before.CALL
