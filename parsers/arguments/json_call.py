r"""The argument style of calls that are one JSON object: `{"name": "f", "arguments": {"a": 1}}`.

Writes that form, and reads what models make of it: any whitespace, keys in any order, keys it does not
know, `parameters` for `arguments`, brackets, commas and code fences around the object, a surplus brace
after it. The arguments are passed on as the model's own characters, except that

    "arguments": "{\"a\": 1}"          is decoded once       -> {"a": 1}
    "arguments": null, "" or missing    means no arguments    -> {}

Of a repeated key the first counts. Keys inside the arguments are the arguments' own affair.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from parsers.arguments.json_lexer import WHITESPACE, JsonLexer
from parsers.arguments.json_text import escape_surrogates, object_fault, write_json
from parsers.arguments.style import Arguments, Call, CallableTool, Frame, Name, Progress, Reading, Step, Tools
from parsers.events import Reason
from parsers.formats import regex, sequence, text
from parsers.spelling import JSON

_AROUND = WHITESPACE + "[]},;"
"""What may stand around the objects of a call: an array's marks, a separator, a brace too many."""


@dataclass(frozen=True, slots=True)
class JsonCall:
    """`name` and `arguments` are the keys the model was trained on; `also` is read for `arguments`.

    `number` is the key, in front of the name, under which some models number their calls: `"id": "0"`.
    """

    name: str = "name"
    arguments: str = "arguments"
    also: tuple[str, ...] = ("parameters",)
    number: str = ""

    opening = ""
    closing = ""
    surplus = ("}", "]", "```")
    spelling = JSON

    def cue(self, _name: str) -> str:
        return ""

    def head(self, name: str) -> str:
        return "{" + (f'"{self.number}": "' if self.number else self._name_and_key(name))

    def frame(self, tool: CallableTool) -> Frame:
        if not self.number:
            return Frame("{" + self._name_and_key(tool.name), tool.arguments, "}")
        behind = text('", ' + self._name_and_key(tool.name))
        return Frame(f'{{"{self.number}": "', sequence(regex("[0-9]{1,4}"), behind, tool.arguments), "}")

    def write(self, call: Call) -> str:
        number = f'"{self.number}": "{call.number}", ' if self.number else ""
        return "{" + number + self._name_and_key(call.name) + write_json(dict(call.arguments)) + "}"

    def reader(self, _tools: Tools) -> "JsonCallReader":
        return JsonCallReader(self)

    def _name_and_key(self, name: str) -> str:
        """The name, and the key of the arguments."""
        return f'"{self.name}": {write_json(name)}, "{self.arguments}": '


class JsonCallReader:
    """Reads one call object. See `CallReader`."""

    __slots__ = (
        "_fault",
        "_given",
        "_key",
        "_lexer",
        "_mode",
        "_name",
        "_pieces",
        "_progress",
        "_settle",
        "_steps",
        "_style",
    )

    def __init__(self, style: JsonCall) -> None:
        self._style = style
        self._progress = Progress.AROUND
        self._fault: Reason | None = None
        self._steps: list[Step] = []
        self._mode: Callable[[str, int], int] = self._around
        self._name: str | None = None
        self._given: str | None = None
        """The arguments: None if not given yet, else what is not said yet because the name is missing."""
        self._key = ""
        self._lexer = JsonLexer()
        self._pieces: list[str] = []
        self._settle: Callable[[str], None] = self._settle_key
        """What to do with the whole text of the value that the lexer is in."""

    def read(self, text: str) -> Reading:
        at = 0
        while at < len(text) and self._progress.goes_on:
            at = self._mode(text, at)
        steps = tuple(self._steps)
        self._steps.clear()
        return Reading(at, steps, self._progress, self._fault)

    def pass_plain(self, text: str) -> str | None:
        passes = self._mode == self._pass_on and self._lexer.pass_plain(text)
        return text if passes else None

    def _say(self, step: Step) -> None:
        if self._fault is None:
            self._steps.append(step)

    def _find_fault(self, reason: Reason) -> None:
        self._fault = self._fault or reason

    def _break(self, at: int) -> int:
        self._find_fault(Reason.BAD_JSON)
        self._progress = Progress.BROKEN
        return at

    # Around the object.

    def _around(self, text: str, at: int) -> int:
        char = text[at]
        if char == "{":
            self._progress = Progress.OPEN
            self._mode = self._first_key
        elif char == "`":
            self._mode = self._fence
        elif char not in _AROUND:
            self._progress = Progress.PROSE
            return at
        return at + 1

    def _fence(self, text: str, at: int) -> int:
        char = text[at]
        if char == "`" or char.isalnum():
            return at + 1
        self._mode = self._around
        return at

    # Inside it.

    def _first_key(self, text: str, at: int) -> int:
        if text[at] == "}":
            return self._end_object(at)
        return self._begin_key(text, at)

    def _begin_key(self, text: str, at: int) -> int:
        char = text[at]
        if char == '"':
            return self._begin_value(at, self._settle_key)
        return at + 1 if char in WHITESPACE else self._break(at)

    def _colon(self, text: str, at: int) -> int:
        char = text[at]
        if char == ":":
            self._mode = self._choose_value
        elif char not in WHITESPACE:
            return self._break(at)
        return at + 1

    def _choose_value(self, text: str, at: int) -> int:
        """Look at the first character of a value, and decide what becomes of it."""
        char = text[at]
        if char in WHITESPACE:
            return at + 1
        if self._key == self._style.name and self._name is None:
            return self._begin_value(at, self._settle_name)
        if self._key in (self._style.arguments, *self._style.also) and self._given is None:
            if char != "{":
                return self._begin_value(at, self._settle_other_arguments)
            if self._name is not None:
                self._given = ""
                return self._begin_value(at, self._settle_nothing, self._pass_on)
            return self._begin_value(at, self._settle_arguments)
        return self._begin_value(at, self._settle_nothing, self._pass_over)

    def _begin_value(
        self, at: int, settle: Callable[[str], None], mode: Callable[[str, int], int] | None = None
    ) -> int:
        self._lexer = JsonLexer()
        self._settle = settle
        self._mode = mode or self._collect
        return at

    def _collect(self, text: str, at: int) -> int:
        end = self._lexer.read(text, at)
        self._pieces.append(text[at:end])
        return self._after_piece(end)

    def _pass_on(self, text: str, at: int) -> int:
        end = self._lexer.read(text, at)
        if end > at:
            self._say(Arguments(text[at:end]))
        return self._after_piece(end)

    def _pass_over(self, text: str, at: int) -> int:
        return self._after_piece(self._lexer.read(text, at))

    def _after_piece(self, end: int) -> int:
        if self._lexer.progress.goes_on:
            return end
        if self._lexer.progress is Progress.BROKEN:
            return self._break(end)
        self._mode = self._next
        value = "".join(self._pieces)
        self._pieces.clear()
        self._settle(value)
        return end

    def _next(self, text: str, at: int) -> int:
        char = text[at]
        if char == "}":
            return self._end_object(at)
        if char == ",":
            self._mode = self._begin_key
        elif char not in WHITESPACE:
            return self._break(at)
        return at + 1

    def _end_object(self, at: int) -> int:
        if self._name is None:
            self._find_fault(Reason.NO_NAME)
        if self._given is None:
            self._say(Arguments("{}"))
        self._progress = Progress.COMPLETE
        return at + 1

    # What a value means, once it is whole.

    def _settle_key(self, value: str) -> None:
        self._key = json.loads(value)
        self._mode = self._colon

    def _settle_nothing(self, value: str) -> None:
        """Said already, or of no interest."""

    def _settle_name(self, value: str) -> None:
        if not value.startswith('"') or value == '""':
            self._find_fault(Reason.NO_NAME)
            return
        self._name = json.loads(value)
        self._say(Name(self._name))
        if self._given:
            self._say(Arguments(self._given))

    def _settle_arguments(self, value: str) -> None:
        self._given = value
        if self._name is not None:
            self._say(Arguments(value))

    def _settle_other_arguments(self, value: str) -> None:
        """Arguments that do not begin as an object: nothing, text that holds an object, or a mistake."""
        if value.startswith('"'):
            value = escape_surrogates(json.loads(value)).strip(WHITESPACE)
        if value in ("", "null"):
            return
        if reason := object_fault(value):
            self._find_fault(reason)
        else:
            self._settle_arguments(value)
