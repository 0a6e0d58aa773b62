r"""The argument style of MiniMax M3: arguments are nested elements, each tag behind a mark of its own.

    ]<]minimax[>[<invoke name="f">]<]minimax[>[<a>text]<]minimax[>[</a>
    ]<]minimax[>[<o>]<]minimax[>[<n>1]<]minimax[>[</n>]<]minimax[>[</o>
    ]<]minimax[>[<l>]<]minimax[>[<item>x]<]minimax[>[</item>]<]minimax[>[</l>]<]minimax[>[</invoke>

(on one line). An object is written as its members, an array as `item`s, text as it is, and all else as in
JSON. What an element is comes from the tool's schema. Where that does not say, elements in an element make
an object, or an array of `item`s, and any other content of a nested one is read as JSON if it is some.

A text holds no mark. Under the mask, the end tag of a key that the schema does not name is not held to be
that of its begin tag.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from parsers.arguments.elements_reader import ElementsReader
from parsers.arguments.json_text import write_json
from parsers.arguments.kinds import ALL, read_value
from parsers.arguments.style import Call, CallableTool, Frame, Tools
from parsers.arguments.tagged import FREE_KEY, NAMED_KEY
from parsers.spelling import Items, KindsBy, Members, Spelling, TextForm

ITEM = "item"


@dataclass(frozen=True, slots=True)
class Elements:
    """`mark` stands in front of every tag."""

    mark: str

    surplus = ()

    @property
    def opening(self) -> str:
        return self.mark + "<invoke name="

    @property
    def closing(self) -> str:
        return self.mark + "</invoke>"

    @property
    def spelling(self) -> Spelling:
        """How arguments are written."""
        begin, end = self._tags(ITEM)
        nested = Spelling(
            text=TextForm("", "", never=(self.mark,)),
            members=Members(
                begin="",
                end="",
                separator="",
                key=TextForm(self.mark + "<", ">"),
                equals="",
                closing=self.mark + "</",
                names=NAMED_KEY,
                free=FREE_KEY,
            ),
            items=Items("", "", "", before=begin, after=end, key=ITEM),
            kinds=KindsBy.SCHEMA,
        )
        return replace(nested, within=replace(nested, kinds=KindsBy.SCHEMA_OR_TEXT, within=nested))

    def cue(self, _name: str) -> str:
        return ""

    def head(self, _name: str) -> str:
        return ""

    def frame(self, tool: CallableTool) -> Frame:
        return Frame(self._head(tool.name), tool.arguments, self.closing)

    def write(self, call: Call) -> str:
        written = (self._write(key, value, nested=False) for key, value in call.arguments.items())
        return self._head(call.name) + "".join(written) + self.closing

    def reader(self, tools: Tools) -> ElementsReader:
        return ElementsReader(self.mark, self.opening, self.closing, tools)

    def _head(self, name: str) -> str:
        return f'{self.opening}"{name}">'

    def _tags(self, key: str) -> tuple[str, str]:
        return f"{self.mark}<{key}>", f"{self.mark}</{key}>"

    # The writer, which knows no schema.

    def _write(self, key: str, value: Any, *, nested: bool) -> str:
        begin, end = self._tags(key)
        return begin + self._content(key, value, nested=nested) + end

    def _content(self, key: str, value: Any, *, nested: bool) -> str:
        match value:
            case str():
                spelled, doubtful = value, self.mark in value or (nested and _is_more_than_text(value))
            case Mapping():
                spelled = "".join(self._write(name, item, nested=True) for name, item in value.items())
                doubtful = nested and (not value or ITEM in value)
            case list() | tuple():
                spelled = "".join(self._write(ITEM, item, nested=True) for item in value)
                doubtful = nested and not value
            case _:
                spelled, doubtful = write_json(value), False
        if doubtful:
            raise ValueError(f"What '{key}' holds could not be told from other values, or from markup.")
        return spelled


def _is_more_than_text(value: str) -> bool:
    """Whether the text would be read as something else where no schema says that it is text."""
    return read_value(value, ALL) != write_json(value)
