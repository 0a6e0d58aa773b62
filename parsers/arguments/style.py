"""What the machine asks of an argument style: how a call is spelled between its markers.

A style is the only thing that knows how a name and its arguments are written. From the same object come
the reader (text to steps), the writer (arguments to text) and the fixed text the mask puts around the
arguments. For Hermes, between `<tool_call>` and `</tool_call>`:

    frame("f")      -> ('{"name": "f", "arguments": ', '}')
    write({"a": 1}) -> '{"a": 1}'
    reader().read('{"name": "f", "arguments": {"a": 1}}')
                    -> Reading(36, (Name("f"), Arguments('{"a": 1}')), Progress.COMPLETE)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from parsers.events import Reason


class Progress(Enum):
    """How far a reader has come."""

    UNDECIDED = "undecided"
    """Nothing yet proves that a call stands here."""
    OPEN = "open"
    """Inside a call."""
    COMPLETE = "complete"
    """The call has been read to its end."""
    BROKEN = "broken"
    """The text cannot be read further as a call."""
    PROSE = "prose"
    """No call stands here."""


@dataclass(frozen=True, slots=True)
class Name:
    """The call's name is known. At most one to a call, and before any `Arguments`."""

    text: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """The next piece of the arguments as JSON text, which will not change. Never empty."""

    text: str


Step = Name | Arguments


@dataclass(frozen=True, slots=True)
class Reading:
    """What one `read` took from the text: `consumed` characters, and what they say.

    `fault` is the first thing that was found wrong with the call, if anything; after a fault no further
    steps are said, and the reader goes on only to find where the call ends.
    """

    consumed: int
    steps: tuple[Step, ...]
    progress: Progress
    fault: Reason | None = None


class CallReader(Protocol):
    """Reads one call from pieces of text. Where the pieces are cut makes no difference."""

    def read(self, text: str) -> Reading:
        """Read on, until the text or the call ends. Not called again once the call has ended.

        While the call is undecided or open, all of the text is consumed.
        """
        ...


class ArgumentStyle(Protocol):
    """How a family spells name and arguments between the markers of a call."""

    def frame(self, name: str) -> tuple[str, str]:
        """The text before and after the arguments in a call of `name`, as the model was trained on it."""
        ...

    def write(self, arguments: Mapping[str, Any]) -> str:
        """The arguments as the model was trained to write them."""
        ...

    def reader(self) -> CallReader:
        """A reader for one call. It begins where a call may stand, and says so if none does."""
        ...
