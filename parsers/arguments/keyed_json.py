r"""The argument style of calls that are a JSON object whose one key is the tool: `{"f": {"a": 1}}`.

Also read: any whitespace, and brackets and commas around the object. The arguments are passed on as the
model's own characters.
"""

import json
from dataclasses import dataclass

from parsers.arguments.buffered import BufferedReader
from parsers.arguments.json_lexer import WHITESPACE, JsonLexer
from parsers.arguments.json_text import write_json
from parsers.arguments.style import Call, CallableTool, Frame, Name, Progress, Tools
from parsers.events import Reason
from parsers.spelling import JSON

_AROUND = WHITESPACE + "[]},;`"
_JSON_BUT_NO_OBJECT = '["-0123456789tfn'


@dataclass(frozen=True, slots=True)
class KeyedJson:
    """The name and the arguments are all there is."""

    opening = ""
    closing = ""
    surplus = ("}", "]", "```")
    spelling = JSON

    def cue(self, _name: str) -> str:
        return ""

    def head(self, name: str) -> str:
        return _before(name) + "{"

    def frame(self, tool: CallableTool) -> Frame:
        return Frame(_before(tool.name), tool.arguments, "}")

    def write(self, call: Call) -> str:
        return _before(call.name) + write_json(dict(call.arguments)) + "}"

    def reader(self, _tools: Tools) -> "KeyedJsonReader":
        return KeyedJsonReader()


def _before(name: str) -> str:
    return "{" + write_json(name) + ": "


class KeyedJsonReader(BufferedReader):
    """Reads one call. See `CallReader`."""

    def __init__(self) -> None:
        super().__init__(self._around)
        self._key = JsonLexer()
        self._name: list[str] = []
        """The text of the key, in pieces."""

    def _around(self) -> bool:
        self.skip(_AROUND)
        if not self.buffer:
            return False
        if not self.buffer.startswith("{"):
            return self.end(Progress.PROSE)
        self.take(1)
        self.progress = Progress.OPEN
        self.mode = self._begin_name
        return True

    def _begin_name(self) -> bool:
        self.skip()
        if not self.buffer:
            return False
        if not self.buffer.startswith('"'):
            empty = self.buffer.startswith("}")
            return self.end(Progress.BROKEN, Reason.NO_NAME if empty else Reason.BAD_JSON)
        self.mode = self._read_name
        return True

    def _read_name(self) -> bool:
        self._name.append(self.take(self._key.read(self.buffer)))
        if self._key.progress is Progress.BROKEN:
            return self.end(Progress.BROKEN, Reason.BAD_JSON)
        if self._key.progress is not Progress.COMPLETE:
            return False
        self.mode = self._read_colon
        return True

    def _read_colon(self) -> bool:
        self.skip()
        if not self.buffer:
            return False
        if not self.buffer.startswith(":"):
            return self.end(Progress.BROKEN, Reason.BAD_JSON)
        self.take(1)
        name = json.loads("".join(self._name))
        if not name:
            return self.end(Progress.BROKEN, Reason.NO_NAME)
        self.say(Name(name))
        self.mode = self._begin_arguments
        return True

    def _begin_arguments(self) -> bool:
        self.skip()
        if not self.buffer:
            return False
        if self.buffer.startswith("{"):
            return self.begin_object(self._begin_end)
        known = self.buffer[0] in _JSON_BUT_NO_OBJECT
        return self.end(Progress.BROKEN, Reason.NOT_AN_OBJECT if known else Reason.BAD_JSON)

    def _begin_end(self) -> bool:
        self.mode = self._read_end
        return True

    def _read_end(self) -> bool:
        self.skip()
        if not self.buffer:
            return False
        if not self.buffer.startswith("}"):
            return self.end(Progress.BROKEN, Reason.BAD_JSON)
        self.take(1)
        return self.complete()
