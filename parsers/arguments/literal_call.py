"""The argument style of calls whose arguments are literals of another language than JSON.

    Llama 4, Python    f(a='x', b=[True, None])
    Gemma 4            call:f{a:<|"|>x<|"|>,b:[true,null]}

A `Dialect` says how that language spells what JSON has. Reader, writer and mask are all made from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from parsers.arguments.json_text import write_json
from parsers.arguments.literal_reader import LiteralReader
from parsers.arguments.style import Call, CallableTool, Frame, Tools
from parsers.spelling import Escapes, Items, Members, Spelling, TextForm

_FREE_KEY = "^[a-zA-Z_][a-zA-Z0-9_]{0,63}$"
_NAMED_KEY = r"^[^\s=:,(){}\[\]'\"](|[^=:,(){}\[\]'\"]{0,198}[^\s=:,(){}\[\]'\"])$"
"""Keys that the schema names, if they can be read."""


class Keys(Enum):
    """How the keys of objects are written."""

    QUOTED = "quoted"
    """As text, in the order they come in."""
    BARE_AND_SORTED = "bare_and_sorted"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How literals are spelled.

    `quote` stands at both ends of text, in which a backslash escapes if `escapes`; `equals` behind the key
    of an argument; `comma` between items.
    """

    quote: str
    equals: str
    comma: str
    colon: str
    true: str
    false: str
    null: str
    escapes: bool
    keys: Keys

    @property
    def spelling(self) -> Spelling:
        """How arguments are written."""
        escapes = Escapes.LITERAL if self.escapes else Escapes.NONE
        text = TextForm(self.quote, self.quote, escapes, never=() if self.escapes else (self.quote,))
        bare = Members(
            begin="",
            end="",
            separator=self.comma,
            key=TextForm("", ""),
            equals=self.equals,
            names=_NAMED_KEY,
            free=_FREE_KEY,
            is_sorted=self.keys is Keys.BARE_AND_SORTED,
        )
        nested = replace(bare, begin="{", end="}", equals=self.colon)
        if self.keys is Keys.QUOTED:
            nested = replace(nested, key=text, names="", free="")
        items = Items("[", "]", self.comma)
        within = Spelling(text, nested, items, self.true, self.false, self.null)
        return replace(within, members=bare, within=within)

    def write(self, value: Any) -> str:
        match value:
            case None | True | False:
                return {None: self.null, True: self.true, False: self.false}[value]
            case str():
                return self.write_text(value)
            case list() | tuple():
                return "[" + self.comma.join(map(self.write, value)) + "]"
            case Mapping():
                return "{" + self.write_members(value, self.colon) + "}"
            case _:
                return write_json(value)

    def write_members(self, members: Mapping[str, Any], equals: str) -> str:
        pairs = self._ordered(members).items()
        return self.comma.join(
            self._write_key(key, equals) + equals + self.write(item) for key, item in pairs
        )

    def write_text(self, value: str) -> str:
        if self.escapes:
            for char, escape in (
                ("\\", "\\\\"),
                (self.quote, "\\" + self.quote),
                ("\n", "\\n"),
                ("\r", "\\r"),
            ):
                value = value.replace(char, escape)
        elif self.quote in value:
            raise ValueError(f"The text {value!r} holds {self.quote!r}, by which text ends.")
        return self.quote + value + self.quote

    def _write_key(self, key: str, equals: str) -> str:
        """The key of an argument, which is bare, or of an object's member."""
        return self.write_text(key) if self.keys is Keys.QUOTED and equals == self.colon else key

    def _ordered(self, members: Mapping[str, Any]) -> Mapping[str, Any]:
        return dict(sorted(members.items())) if self.keys is Keys.BARE_AND_SORTED else members


@dataclass(frozen=True, slots=True)
class LiteralCall:
    """`prefix`, the name, `begin`, the arguments, `end`."""

    dialect: Dialect
    begin: str
    end: str
    prefix: str = ""

    opening = ""
    closing = ""
    surplus = ()

    @property
    def spelling(self) -> Spelling:
        """How arguments are written."""
        return self.dialect.spelling

    def head(self, _name: str) -> str:
        return ""

    def cue(self, name: str) -> str:
        return self.prefix + name + self.begin

    def frame(self, tool: CallableTool) -> Frame:
        return Frame(self.prefix + tool.name + self.begin, tool.arguments, self.end)

    def write(self, call: Call) -> str:
        arguments = self.dialect.write_members(call.arguments, self.dialect.equals)
        return self.prefix + call.name + self.begin + arguments + self.end

    def reader(self, _tools: Tools) -> LiteralReader:
        return LiteralReader(self)
