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
from parsers.arguments.kinds import kinds, properties, resolved, standalone
from parsers.arguments.literal_reader import LiteralReader
from parsers.arguments.style import Call, CallableTool, Frame, Schema, Tools
from parsers.formats import Format, either, free_text, json_schema, optional, regex, repeat, sequence, text
from parsers.spelling import Escapes, Items, Members, Spelling, TextForm

_NAME = "[a-zA-Z_] [a-zA-Z0-9_]{0,63}"
"""Keys that the schema does not name, in grammars: far shorter than the longest that is read."""
_FREE_KEY = "^[a-zA-Z_][a-zA-Z0-9_]{0,63}$"
_NAMED_KEY = r"^[^\s=:,(){}\[\]'\"](|[^=:,(){}\[\]'\"]{0,198}[^\s=:,(){}\[\]'\"])$"
"""Keys that the schema names, if they can be read."""
_NUMBER = '"-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})? ([eE] [+-]? [0-9]{1,2})?'
DEEPEST_HELD = 4
"""Levels of nested objects and arrays that the mask holds to their schema; deeper it allows any value."""

_UNION = {"anyOf", "title", "description", "default", "examples", "$defs", "definitions"}
"""What a schema may hold that says nothing but its `anyOf`."""

_BARE_TEXT = "[^<]*"
"""Text without escapes, in grammars: a subset that cannot hold the quote."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789^$[]{}()<>/_-+*?:,;=@#~&! ")
"""Of patterns made of these alone it is sure that no escape and no quote matches them."""


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

    # The mask.

    def format(self, schema: Any, root: Schema, depth: int = 0) -> Format:
        """The values that a schema allows, as far as its types, choices, bounds and whole patterns go."""
        allowed = kinds(schema, root)
        schema = resolved(schema, root)
        if depth == DEEPEST_HELD:
            return self._grammar("value")
        choices = [schema["const"]] if "const" in schema else schema.get("enum", [])
        if choices:
            return either([text(self.write(choice)) for choice in choices])
        branches = schema.get("anyOf")
        if isinstance(branches, list) and schema.keys() <= _UNION:
            return either([self.format(branch, root, depth + 1) for branch in branches])
        match sorted(allowed):
            case ["string"]:
                return self._text_format(schema.get("pattern", ""))
            case ["null"]:
                return text(self.null)
            case ["boolean"]:
                return either([text(self.true), text(self.false)])
            case ["integer"] | ["integer", "number"]:
                return json_schema(standalone(schema, root))
            case ["array"]:
                return self._array(schema, root, depth)
            case ["object"] if properties(schema, root):
                return sequence(text("{"), self._members(schema, root, self.colon, depth + 1), text("}"))
            case _:
                return self._grammar("value")

    def arguments(self, schema: Schema) -> Format:
        """The arguments of a call, in the order of the schema's properties."""
        if properties(schema, schema):
            return self._members(resolved(schema, schema), schema, self.equals, 0)
        return text("") if schema.get("additionalProperties") is False else self._grammar("arguments")

    def _members(self, schema: Schema, root: Schema, equals: str, depth: int) -> Format:
        """Members in order, of which those that are not required may be missing, and commas between them."""
        named = self._ordered(properties(schema, root))
        required = [key in schema.get("required", ()) for key in named]
        members = [
            sequence(text(self._write_key(key, equals) + equals), self.format(value, root, depth))
            for key, value in named.items()
        ]
        further = [sequence(text(self.comma), member) for member in members]
        rest = [part if needed else optional(part) for part, needed in zip(further, required, strict=True)]
        # Any member may come first that no required one has to come before.
        firsts = required.index(True) + 1 if any(required) else len(members)
        whole = either([sequence(members[first], *rest[first + 1 :]) for first in range(firsts)])
        return whole if any(required) else optional(whole)

    def _array(self, schema: Schema, root: Schema, depth: int) -> Format:
        item = self.format(schema.get("items", {}), root, depth + 1)
        at_least, at_most = schema.get("minItems", 0), schema.get("maxItems", -1)
        if at_most == 0:
            return text("[]")
        least, most = max(at_least - 1, 0), at_most - 1 if at_most > 0 else -1
        further = repeat(sequence(text(self.comma), item), at_least=least, at_most=most)
        items = sequence(item, further)
        return sequence(text("["), items if at_least else optional(items), text("]"))

    def _text_format(self, pattern: str) -> Format:
        if pattern[:1] == "^" and pattern[-1:] == "$" and _PLAIN.issuperset(pattern) and "[^" not in pattern:
            return sequence(text(self.quote), regex(pattern), text(self.quote))
        if self.escapes:
            return self._grammar("text")
        return sequence(text(self.quote), free_text([self.quote]), text(self.quote))

    def _grammar(self, root: str) -> Format:
        """Any value, any text or any arguments, as a grammar."""
        mark = write_json(self.quote)
        words = " | ".join(map(write_json, (self.true, self.false, self.null)))
        comma, colon, equals = map(write_json, (self.comma, self.colon, self.equals))
        key = "text" if self.keys is Keys.QUOTED else _NAME
        inside = f"""([^{self.quote}\\\\\\n\\r] | "\\\\" [nrt'"\\\\])*"""
        rules = [
            f"root ::= {root}",
            f"value ::= text | number | {words} | array | object",
            f'array ::= "[" (value ({comma} value)*)? "]"',
            f'object ::= "{{" (member ({comma} member)*)? "}}"',
            f"member ::= {key} {colon} value",
            f"arguments ::= (argument ({comma} argument)*)?",
            f"argument ::= {_NAME} {equals} value",
            f"number ::= {_NUMBER}",
            f"text ::= {mark} {inside if self.escapes else _BARE_TEXT} {mark}",
        ]
        return {"type": "grammar", "grammar": "\n".join(rules)}


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
        return Frame(self.prefix + tool.name + self.begin, self.dialect.arguments(tool.schema), self.end)

    def write(self, call: Call) -> str:
        arguments = self.dialect.write_members(call.arguments, self.dialect.equals)
        return self.prefix + call.name + self.begin + arguments + self.end

    def reader(self, _tools: Tools) -> LiteralReader:
        return LiteralReader(self)
