"""The tools of a chat request, and the choice among them.

    {"type": "function", "function": {"name": "weather", "parameters": {…}, "strict": true}}
    {"type": "function", "function": {"name": "weather"}}                        # tool_choice: this one
    {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": […]}}   # tool_choice: one of these

A choice may also be spelled flat, as in the Responses API: `{"type": "function", "name": "weather"}`.
"""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from server.api.body_types import AnySchema, Body, by_kind, by_member, has
from server.api.custom_tools import Definition, Syntax
from server.request import Json

Name = Annotated[str, Field(max_length=64, pattern="^[a-zA-Z0-9_-]+$", examples=["get_weather"])]


class FunctionDefinition(Body):
    name: Name
    description: str | None = None
    parameters: AnySchema | None = Field(None, description="A JSON Schema; without it, no arguments.")
    strict: bool | None = Field(None, description="Whether calls must fit the schema exactly.")


class FunctionTool(Body):
    type: Literal["function"]
    function: FunctionDefinition


class PlainInput(Body):
    type: Literal["text"]


class InputGrammar(Body):
    syntax: Syntax
    definition: Definition


class GrammarInput(Body):
    type: Literal["grammar"]
    grammar: InputGrammar


class CustomDefinition(Body):
    name: Name
    description: str | None = None
    format: (
        Annotated[
            Annotated[PlainInput, Tag("|text")] | Annotated[GrammarInput, Tag("|grammar")],
            by_member("type", "text", "grammar"),
        ]
        | None
    ) = None


class CustomTool(Body):
    """A tool that is called with text in place of arguments; only in answers that are not streamed."""

    type: Literal["custom"]
    custom: CustomDefinition


ChatTool = Annotated[
    Annotated[FunctionTool, Tag("|function")] | Annotated[CustomTool, Tag("|custom")],
    by_member("type", "function", "custom"),
]


class FunctionName(Body):
    name: str


class NamedTool(Body):
    type: Literal["function"]
    function: FunctionName


class NamedCustomTool(Body):
    type: Literal["custom"]
    custom: FunctionName


class FlatNamedTool(Body):
    """A named tool as the Responses API spells it."""

    type: Literal["function", "custom"]
    name: str


def _named_spelling(value: Json) -> str:
    if has(value, "name") and not has(value, "function") and not has(value, "custom"):
        return "|flat"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "|custom" if kind == "custom" else "|nested"


AnyNamedTool = Annotated[
    Annotated[NamedTool, Tag("|nested")]
    | Annotated[NamedCustomTool, Tag("|custom")]
    | Annotated[FlatNamedTool, Tag("|flat")],
    Discriminator(_named_spelling),
]


class AllowedTools(Body):
    mode: Literal["auto", "required"]
    tools: Annotated[list[AnyNamedTool], Field(min_length=1, fail_fast=True)]


class AllowedToolsChoice(Body):
    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


class FlatAllowedToolsChoice(AllowedTools):
    """Allowed tools as the Responses API spells them."""

    type: Literal["allowed_tools"]


def _allowed_spelling(value: Json) -> str:
    return "|flat" if has(value, "mode") and not has(value, "allowed_tools") else "|nested"


AnyAllowedTools = Annotated[
    Annotated[AllowedToolsChoice, Tag("|nested")] | Annotated[FlatAllowedToolsChoice, Tag("|flat")],
    Discriminator(_allowed_spelling),
]
ToolChoiceObject = Annotated[
    Annotated[AnyNamedTool, Tag("|function")]
    | Annotated[AnyNamedTool, Tag("|custom")]
    | Annotated[AnyAllowedTools, Tag("|allowed_tools")],
    by_member("type", "function", "custom", "allowed_tools"),
]
ToolChoiceBody = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("|string")]
    | Annotated[ToolChoiceObject, Tag("|object")],
    by_kind("one of 'none', 'auto', 'required', or an object"),
]

FunctionCallBody = Annotated[
    Annotated[Literal["none", "auto"], Tag("|string")] | Annotated[FunctionName, Tag("|object")],
    by_kind("one of 'none', 'auto', or an object"),
]
