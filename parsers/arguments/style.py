"""What the machine asks of an argument style: how one call is spelled within a block.

A style is the only thing that knows how a name and its arguments are written. From the same object come
the reader (text to steps), the writer (arguments to text) and the frame (a tool to its mask). For Hermes,
between `<tool_call>` and `</tool_call>`:

    write(Call("f", {"a": 1}))   -> '{"name": "f", "arguments": {"a": 1}}'
    frame(CallableTool("f", …))  -> Frame('{"name": "f", "arguments": ', …, '}')
    reader({"f": {}}).read('{"name": "f", "arguments": {"a": 1}}')
                         -> Reading(36, (Name("f"), Arguments('{"a": 1}')), Progress.COMPLETE)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

from parsers.events import Reason
from parsers.formats import Format
from parsers.spelling import Spelling

Schema = Mapping[str, Any]
"""The JSON schema of a tool's arguments. An empty one says nothing about them."""

Tools = Mapping[str, Schema]
"""The tools that may be called, by name."""


@dataclass(frozen=True, slots=True)
class CallableTool:
    """A tool the model may call.

    `arguments`: the format of its arguments, in the spelling of the style that is to write them.
    """

    name: str
    arguments: Format


@dataclass(frozen=True, slots=True)
class Call:
    """A call to be written, the `number`th of its answer, from 0 on."""

    name: str
    arguments: Mapping[str, Any]
    number: int = 0


class Progress(Enum):
    """How far a reader has come."""

    AROUND = "around"
    """Outside a call, in what may stand before one: if none follows, the text means nothing."""
    UNDECIDED = "undecided"
    """In what may be a call, or be text."""
    OPEN = "open"
    """Inside a call."""
    COMPLETE = "complete"
    """The call has been read to its end."""
    BROKEN = "broken"
    """The text cannot be read further as a call."""
    PROSE = "prose"
    """No call stands here."""

    def __init__(self, text: str) -> None:
        # Asked for every piece of text, which is why it is not worked out then.
        self.goes_on = text in ("around", "undecided", "open")


@dataclass(frozen=True, slots=True)
class Name:
    """The call's name is known, and its id where the model wrote one. At most one, before any `Arguments`."""

    text: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Arguments:
    """The next piece of the arguments as JSON text, which will not change. Never empty."""

    text: str


Step = Name | Arguments


class Reading(NamedTuple):
    """What one `read` took from the text: `consumed` characters, and what they say.

    `consumed` is negative where the call turns out to have ended in text that was read before.
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

        While the progress `goes_on`, all of the text is consumed.
        """
        ...

    def pass_plain(self, text: str, /) -> str | None:
        """Read text that can be nothing but the next piece of a text value, and return it as JSON text.

        That is "" if what it says depends on more text. None for all other text, which is not read then.
        Most of a long call is such pieces, and reading them by the rules costs several times more.
        """
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """The mask of one call: fixed text, what the model chooses, fixed text."""

    before: str
    content: Format
    after: str


class ArgumentStyle(Protocol):
    """How a family spells one call within a block."""

    @property
    def opening(self) -> str:
        """The marker that every call begins with; empty where only a block's marker tells of a call."""
        ...

    @property
    def closing(self) -> str:
        """The marker that every call ends with, or empty."""
        ...

    @property
    def surplus(self) -> tuple[str, ...]:
        """What models may write behind a call though nothing has begun that it would end."""
        ...

    @property
    def spelling(self) -> Spelling:
        """How the arguments of a call are written."""
        ...

    def cue(self, name: str, /) -> str:
        """The text that by itself tells of a call of `name`, without any marker; empty if there is none."""
        ...

    def head(self, name: str, /) -> str:
        """What a call of `name` begins with where it has no marker, if that tells of one; else empty."""
        ...

    def frame(self, tool: CallableTool, /) -> Frame:
        """The mask of a call of the tool."""
        ...

    def write(self, call: Call, /) -> str:
        """A call as the model was trained to write it.

        Raises ValueError for arguments that the style cannot spell.
        """
        ...

    def reader(self, tools: Tools, /) -> CallReader:
        """A reader for one call. It begins where a call may stand, and says so if none does."""
        ...
