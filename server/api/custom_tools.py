"""Custom tools, which are called with text, as the functions that the model sees.

input_schema(GrammarInput(definition="[a-z]+", …), "tools[0].format")
# {"type": "object", "properties": {"input": {"type": "string", "pattern": "^(?:[a-z]+)$"}}, …}
input_arguments("abc")              # '{"input": "abc"}'
input_text('{"input": "abc"}')      # "abc"
"""

import json
from typing import Annotated, Literal, Protocol

from pydantic import Field

from server.api import refusals
from server.api.text_input import InputReader
from server.request import Json, Schema
from server.schema.automata.charsets import WORD
from server.schema.automata.pattern import UnsupportedPattern
from server.schema.lark.reading import read_lark
from server.schema.lark.syntax import UnsupportedGrammar
from server.schema.lark.values import INPUT
from server.schema.whole import whole_pattern

Syntax = Literal["lark", "regex"]
Definition = Annotated[str, Field(min_length=1)]


class Grammar(Protocol):
    """What the text has to be, wherever an API has it."""

    @property
    def syntax(self) -> Syntax: ...

    @property
    def definition(self) -> str: ...


def input_schema(grammar: Grammar | None, param: str) -> Schema:
    """The arguments of a custom tool, as a function has them: one string, which the grammar is about.

    `param` is where the client wrote the grammar. Raises `ApiError` (400) for one that no mask holds exactly.
    """
    try:
        text = {"type": "string"} if grammar is None else _text_schema(grammar)
    except (UnsupportedPattern, UnsupportedGrammar) as fault:
        raise refusals.invalid(f"{param}.definition", f"{fault}.") from fault
    return {
        "type": "object",
        "properties": {INPUT: text},
        "required": [INPUT],
        "additionalProperties": False,
    }


def lark_of(grammar: Grammar | None) -> str | None:
    """The grammar, if it is one that no schema can state."""
    return grammar.definition if grammar is not None and grammar.syntax == "lark" else None


def _text_schema(grammar: Grammar) -> dict[str, Json]:
    """What the model is told of the text, and as far as a schema can, what holds it."""
    if grammar.syntax == "regex":
        return {"type": "string", "pattern": whole_pattern(grammar.definition)}
    read_lark(grammar.definition, lambda _: WORD)  # its properties are looked up later
    return {"type": "string", "description": f"A text of this Lark grammar:\n{grammar.definition}"}


def input_arguments(text: str) -> str:
    """The arguments of an earlier call, as the model wrote them."""
    return json.dumps({INPUT: text}, ensure_ascii=False)


def input_text(arguments: str) -> str:
    """The text that a call has, of which the arguments may be cut."""
    reader = InputReader()
    reader.feed(arguments)
    return reader.text
