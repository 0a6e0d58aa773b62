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
from server.api.body_types import unsupported_values
from server.api.text_input import InputReader
from server.request import Json, Schema
from server.schema.automata.pattern import UnsupportedPattern
from server.schema.whole import whole_pattern

USE_REGEX = "Only 'regex' can be held exactly here: write the grammar as one regular expression."

Syntax = Annotated[Literal["regex"], unsupported_values(USE_REGEX, "lark")]
Definition = Annotated[str, Field(min_length=1)]


class Grammar(Protocol):
    """A regular expression that the text matches, wherever an API has it."""

    @property
    def definition(self) -> str: ...


def input_schema(grammar: Grammar | None, param: str) -> Schema:
    """The arguments of a custom tool, as a function has them: one string, which matches the grammar.

    `param` is where the client wrote the grammar. Raises `ApiError` (400) for one that no mask holds exactly.
    """
    text: dict[str, Json] = {"type": "string"}
    if grammar is not None:
        try:
            text["pattern"] = whole_pattern(grammar.definition)
        except UnsupportedPattern as fault:
            raise refusals.invalid(f"{param}.definition", f"{fault}.") from fault
    return {
        "type": "object",
        "properties": {"input": text},
        "required": ["input"],
        "additionalProperties": False,
    }


def input_arguments(text: str) -> str:
    """The arguments of an earlier call, as the model wrote them."""
    return json.dumps({"input": text}, ensure_ascii=False)


def input_text(arguments: str) -> str:
    """The text that a call has, of which the arguments may be cut."""
    reader = InputReader()
    reader.feed(arguments)
    return reader.text
