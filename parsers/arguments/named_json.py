"""The argument style of calls that name the tool first and give its arguments as a JSON object behind it.

    DeepSeek V3.1    <｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>
    Mistral          f[ARGS]{"a": 1}
    Kimi K2          <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>

Whitespace and code fences may stand wherever no text does. A call is complete with its object: its closing
marker may be missing. The object is passed on as the model's own characters.
"""

from dataclasses import dataclass
from typing import Protocol

from parsers.arguments.buffered import BufferedReader
from parsers.arguments.json_lexer import WHITESPACE
from parsers.arguments.json_text import write_json
from parsers.arguments.style import Call, CallableTool, Frame, Name, Progress, Tools
from parsers.events import Reason
from parsers.formats import Format, regex, sequence, text
from parsers.markers import first_marker, may_become
from parsers.spelling import JSON

LONGEST_HEADER = 256
"""Characters in front of the arguments; what is longer is no header."""

_JSON_BUT_NO_OBJECT = '["-0123456789tfn'
_AROUND = WHITESPACE + "`}"


class Header(Protocol):
    """How name and id are spelled in front of the arguments."""

    def write(self, call: Call, /) -> str:
        """The header of a call."""
        ...

    def frame(self, name: str, /) -> tuple[str, Format | None]:
        """The header's fixed text, and the format of what the model chooses behind it, if anything."""
        ...

    def read(self, header: str) -> Name:
        """Name and id from a header. The name is empty if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class PlainName:
    """The name, and behind `id_marker` an id that some models write."""

    prefix: str = ""
    id_marker: str | None = None

    def write(self, call: Call) -> str:
        return self.prefix + call.name

    def frame(self, name: str) -> tuple[str, Format | None]:
        return self.prefix + name, None

    def read(self, header: str) -> Name:
        name = header.strip(WHITESPACE).removeprefix(self.prefix)
        if self.id_marker is None:
            return Name(name)
        name, _, own_id = name.partition(self.id_marker)
        return Name(name.strip(WHITESPACE), own_id.strip(WHITESPACE) or None)


@dataclass(frozen=True, slots=True)
class NumberedName:
    """The name with the number of the call, which together are the call's id: `functions.f:0`."""

    prefix: str = "functions."

    def write(self, call: Call) -> str:
        return f"{self.prefix}{call.name}:{call.number}"

    def frame(self, name: str) -> tuple[str, Format | None]:
        return f"{self.prefix}{name}:", regex("[0-9]{1,4}")

    def read(self, header: str) -> Name:
        own_id = header.strip(WHITESPACE)
        name, colon, number = own_id.removeprefix(self.prefix).rpartition(":")
        if not colon or not number.strip(WHITESPACE).isdecimal():
            return Name(own_id.removeprefix(self.prefix))
        return Name(name, own_id)


@dataclass(frozen=True, slots=True)
class NamedJson:
    """`opening`, the header, `between`, the arguments, `after` and `closing`.

    `between` ends the header with its marker or, where it has none, with its newline. `fence` is what
    stands between that and the arguments.
    """

    opening: str
    between: str
    closing: str
    header: Header = PlainName()
    fence: str = ""
    after: str = ""

    surplus = ("}",)
    spelling = JSON

    def cue(self, _name: str) -> str:
        return ""

    def head(self, _name: str) -> str:
        return ""

    def frame(self, tool: CallableTool) -> Frame:
        header, chosen = self.header.frame(tool.name)
        behind, after = self.between + self.fence, self.after + self.closing
        if chosen is None:
            return Frame(self.opening + header + behind, tool.arguments, after)
        return Frame(self.opening + header, sequence(chosen, text(behind), tool.arguments), after)

    def write(self, call: Call) -> str:
        header = self.header.write(call) + self.between + self.fence
        return self.opening + header + write_json(dict(call.arguments)) + self.after + self.closing

    def reader(self, _tools: Tools) -> "NamedJsonReader":
        return NamedJsonReader(self)


class NamedJsonReader(BufferedReader):
    """Reads one call. See `CallReader`."""

    def __init__(self, style: NamedJson) -> None:
        super().__init__(self._around)
        self._style = style
        self._name = Name("")

    def _around(self) -> bool:
        """Before the call: what the one before it may have left, then the opening."""
        opening, closing = self._style.opening, self._style.closing
        self.skip(_AROUND)
        if not self.buffer or may_become(self.buffer, (opening, closing)):
            return False
        if closing and self.buffer.startswith(closing):
            self.take(len(closing))
            return True
        if not self.buffer.startswith(opening):
            return self.end(Progress.PROSE)
        self.take(len(opening))
        self.progress = Progress.OPEN if opening else Progress.UNDECIDED
        self.mode = self._header
        return True

    def _header(self) -> bool:
        """Name and id, up to whitespace or to what stands between them and the arguments."""
        self.skip(WHITESPACE)
        between = self._style.between
        at, stop = first_marker(self.buffer, (between, "{", *WHITESPACE))
        if self.buffer.startswith("[") or max(at, 0 if stop else len(self.buffer)) > LONGEST_HEADER:
            return self._give_up()
        if not stop:
            return False
        self._name = self._style.header.read(self.take(at))
        if stop == between:
            self.take(len(between))
        if stop in (between, "{"):
            return self._begin_call()
        self.mode = self._between
        return True

    def _between(self) -> bool:
        """Behind whitespace that follows a name."""
        self.skip(WHITESPACE)
        between = self._style.between
        if not self.buffer or may_become(self.buffer, (between,)):
            return False
        if self.buffer.startswith(between):
            self.take(len(between))
        elif not self.buffer.startswith(("{", "`")):
            return self._give_up()
        return self._begin_call()

    def _begin_call(self) -> bool:
        if not self._name.text:
            return self.end(Progress.BROKEN, Reason.NO_NAME)
        self.progress = Progress.OPEN
        self.say(self._name)
        self.mode = self._arguments
        return True

    def _give_up(self) -> bool:
        """What stands here is no header."""
        if self.progress is Progress.UNDECIDED:
            return self.end(Progress.PROSE)
        return self.end(Progress.BROKEN, Reason.NO_NAME)

    def _arguments(self) -> bool:
        self.skip(WHITESPACE)
        if self.buffer.startswith("{"):
            return self.begin_object(self.complete)
        fence = self._style.fence.strip(WHITESPACE)
        if not self.buffer or may_become(self.buffer, (fence,)):
            return False
        if fence and self.buffer.startswith(fence):
            self.take(len(fence))
            return True
        known = self.buffer[0] in _JSON_BUT_NO_OBJECT
        return self.end(Progress.BROKEN, Reason.NOT_AN_OBJECT if known else Reason.BAD_JSON)
