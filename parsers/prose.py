r"""Text of one kind on its way out, whose trailing whitespace is held until it is known what follows.

prose = Prose(Content)
prose.add("Sure.\n")     # [Content("Sure.")]
prose.drop()             # a call follows: the newline belongs to the markup
prose.add("\nDone.\n")  # [Content("\nDone.")]
prose.release()          # [Content("\n")]
"""

from collections.abc import Callable, Iterable
from enum import Enum

from parsers.arguments.json_lexer import WHITESPACE
from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reasoning


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


class AnswerProse:
    """The text of an answer around its calls: reasoning while in the span, and content else."""

    __slots__ = ("_content", "_now", "_reasoning")

    def __init__(self) -> None:
        self._reasoning = Prose(Reasoning)
        self._content = Prose(Content)
        self._now = self._content

    @property
    def in_reasoning(self) -> bool:
        return self._now is self._reasoning

    def enter_reasoning(self) -> None:
        self._change(self._reasoning)

    def leave_reasoning(self) -> None:
        self._change(self._content)

    def _change(self, prose: Prose) -> None:
        self._now.drop()
        self._now = prose
        self._now.follow_marker()

    def add(self, text: str) -> list[Event]:
        return self._now.add(text)

    def release(self) -> list[Event]:
        return self._now.release()

    def follow_marker(self) -> None:
        self._now.follow_marker()

    def follow_call(self) -> None:
        self._now.follow_call()

    def around(self, events: Iterable[Event]) -> list[Event]:
        """The events of a block of calls, with the text around them. A call ends the reasoning."""
        said: list[Event] = []
        for event in events:
            if isinstance(event, CallArguments):
                said.append(event)
                continue
            if isinstance(event, Content):
                said += self._now.add(event.text)
                continue
            if isinstance(event, CallBegin):
                self._now.drop()
                self._now = self._content
            elif isinstance(event, Malformed) and event.index is None:
                said += self._now.release()
                self._now = self._content
            said.append(event)
            if isinstance(event, CallEnd | Malformed) and event.index is not None:
                self._now.follow_call()
        return said
