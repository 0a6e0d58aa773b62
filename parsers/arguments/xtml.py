r"""The argument style of Kimi K3, in whose markup three tokens stand for the brackets of tags.

    <|open|>call tool="f" index="1"<|sep|>
    <|open|>argument key="a" type="string"<|sep|>text<|close|>argument<|sep|>
    <|open|>argument key="n" type="number"<|sep|>1<|close|>argument<|sep|>
    <|close|>call<|sep|>

(on one line). Each argument says its type: text stands as it is, and all else is JSON. Only in names and
keys are `&` and `"` escaped. A value holds no end of an argument.
"""

from dataclasses import dataclass
from typing import Any

from parsers.arguments.json_text import write_json
from parsers.arguments.kinds import kind_of
from parsers.arguments.style import Call, CallableTool, Frame, Tools
from parsers.arguments.tagged import FREE_KEY
from parsers.arguments.xtml_reader import XtmlReader
from parsers.formats import regex, sequence, text
from parsers.spelling import JSON, Escapes, Members, Signs, Spelling, TextForm

_NAMED_KEY = r"^[^<\n]{1,100}$"
_TYPES = ("string", "number", "boolean", "null", "object", "array")


@dataclass(frozen=True, slots=True)
class Xtml:
    """A tag begins with `open` or `close`, and ends with `sep`."""

    open: str = "<|open|>"
    close: str = "<|close|>"
    sep: str = "<|sep|>"

    surplus = ()

    @property
    def opening(self) -> str:
        return self.begin("call")

    @property
    def closing(self) -> str:
        return self.end("call")

    @property
    def spelling(self) -> Spelling:
        """How arguments are written."""
        end = self.end("argument")
        return Spelling(
            text=JSON.text,
            members=Members(
                begin="",
                end="",
                separator="",
                key=TextForm(f'{self.begin("argument")} key="', '"', Escapes.ENTITY),
                equals=self.sep,
                signs=Signs(**{kind: f' type="{kind}"' for kind in _TYPES}),
                after=end,
                names=_NAMED_KEY,
                free=FREE_KEY,
            ),
            items=JSON.items,
            within=Spelling(
                text=TextForm("", "", never=(end,)), members=JSON.members, items=JSON.items, within=JSON
            ),
        )

    def begin(self, tag: str) -> str:
        return self.open + tag

    def end(self, tag: str) -> str:
        return self.close + tag + self.sep

    def cue(self, _name: str) -> str:
        return ""

    def head(self, _name: str) -> str:
        return ""

    def frame(self, tool: CallableTool) -> Frame:
        number = sequence(regex("[1-9][0-9]{0,3}"), text('"' + self.sep))
        content = sequence(number, tool.arguments)
        return Frame(self._before_number(tool.name), content, self.closing)

    def write(self, call: Call) -> str:
        arguments = "".join(self._write(key, value) for key, value in call.arguments.items())
        return f'{self._before_number(call.name)}{call.number + 1}"{self.sep}{arguments}{self.closing}'

    def reader(self, tools: Tools) -> XtmlReader:
        return XtmlReader(self, tools)

    def _before_number(self, name: str) -> str:
        return f'{self.opening} tool="{_escaped(name)}" index="'

    def _before_value(self, key: str, named: str) -> str:
        return f'{self.begin("argument")} key="{_escaped(key)}" type="{named}"{self.sep}'

    def _write(self, key: str, value: Any) -> str:
        spelled, end = value if isinstance(value, str) else write_json(value), self.end("argument")
        if isinstance(value, str) and end in value:
            raise ValueError(f"The value of '{key}' holds '{end}', by which values end.")
        return self._before_value(key, _type_of(kind_of(value))) + spelled + end


def _escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace('"', "&quot;")


def _type_of(kind: str) -> str:
    return "number" if kind == "integer" else kind
