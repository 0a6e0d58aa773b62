r"""The frame of readers whose values stand between tags: text as it is, and all else as JSON.

Text is passed on as it comes, and other values when they are whole. What spells the end of a value is
its end only if markup follows:

    …a </parameter> in text</parameter>\n</function>    the first one is text
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from parsers.arguments.buffered import BufferedReader, TextEnds
from parsers.arguments.json_text import quoted
from parsers.arguments.kinds import CONTAINERS, STRING, read_value
from parsers.arguments.value_text import ValueText
from parsers.markers import first_marker, held_tail, may_become


class ValueReader(BufferedReader, ABC):
    """Reads one call, whose values end at `ends`, and behind them one of the `tags` begins.

    A subclass sets what a value is `allowed` to be, says what stands before it, and makes `read_value` the
    mode. The mode `between` is asked to read on behind it.
    """

    def __init__(self, first: Callable[[], bool], *, ends: TextEnds, tags: tuple[str, ...]) -> None:
        super().__init__(first)
        self.allowed = STRING
        self._ends = ends
        self.tags = tags
        self._value = ValueText()
        """The value being read, where it is not passed on as it comes."""
        self._ending: list[str] = []
        """What looks like the end of a value, until what follows proves it."""

    @abstractmethod
    def between(self) -> bool:
        """A mode: between the arguments."""

    def read_value(self) -> bool:
        """A mode: in a value."""
        markers = self._ends.markers
        at, marker = first_marker(self.buffer, markers)
        if at < 0:
            self.pass_value(self.take(len(self.buffer) - held_tail(self.buffer, markers)))
            return False
        self.pass_value(self.take(at))
        if self._is_in_string and not marker.startswith("\n"):
            # JSON may spell the end of its value in a string, but no line break.
            self.pass_value(self.take(len(marker)))
            return True
        return self.read_end(marker)

    @property
    def _is_in_string(self) -> bool:
        """Whether the value is in a string of an object or an array, if it may be one."""
        return not self.allowed.isdisjoint(CONTAINERS) and self._value.in_string

    def read_end(self, marker: str) -> bool:
        """The buffer begins with this one of the ends."""
        self._ending = [self.take(len(marker))]
        self.mode = self._after_value
        return True

    def _after_value(self) -> bool:
        """Text that holds the end of a value goes on behind it; markup does if it is the end."""
        rest = self.buffer.lstrip()
        self._ending.append(self.take(len(self.buffer) - len(rest)))
        if not rest or may_become(rest, self.tags):
            return False
        if rest.startswith(self.tags):
            self.settle()
        else:
            self.pass_value("".join(self._ending))
            self.mode = self.read_value
        return True

    def text_ends(self) -> TextEnds | None:
        is_text = self.mode == self.read_value and self.allowed == STRING
        return self._ends if is_text else None

    def pass_value(self, text: str) -> None:
        """The next piece of the value."""
        if self.allowed == STRING:
            self.say_json(quoted(text))
        else:
            self._value.add(text)

    def settle(self) -> None:
        """The value is whole."""
        self.say_json('"' if self.allowed == STRING else read_value(self._value.take(), self.allowed))
        self.mode = self.between
