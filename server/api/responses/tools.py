"""The tools of a Responses request, and the choice among them: chat's, spelled flat, and some more kinds.

{"type": "function", "name": "weather", "parameters": {…}}         # strict, unless it says otherwise
{"type": "custom", "name": "sql", "format": {"type": "grammar", "syntax": "regex", "definition": "…"}}
{"type": "namespace", "name": "crm", "tools": […]}                  # functions called by crm and name
{"type": "web_search"}                                              # OpenAI's own: skipped, with a warning
"""

from typing import Annotated, Literal

from pydantic import Field, Tag

from server.api.body_types import TAG, AnySchema, Body, by_choice, by_kind, by_member
from server.api.chat.tools import Name
from server.api.custom_tools import Definition, Syntax
from server.request import Json

OWN_KINDS = ("function", "custom", "namespace")
HOSTED = (
    "apply_patch",
    "code_interpreter",
    "computer",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
)
"""Tools that OpenAI's servers run themselves; some have dated names, as `web_search_2025_08_26`."""


class FunctionTool(Body):
    type: Literal["function"]
    name: Name
    description: str | None = None
    parameters: AnySchema | None = Field(None, description="A JSON Schema; without it, no arguments.")
    strict: bool | None = Field(None, description="Whether calls must fit the schema exactly; they must.")


class PlainInput(Body):
    type: Literal["text"]


class GrammarInput(Body):
    type: Literal["grammar"]
    syntax: Syntax
    definition: Definition


class CustomTool(Body):
    """A tool that is called with text in place of arguments."""

    type: Literal["custom"]
    name: Name
    description: str | None = None
    format: (
        Annotated[
            Annotated[PlainInput, Tag("|text")] | Annotated[GrammarInput, Tag("|grammar")],
            by_member("type", "text", "grammar"),
        ]
        | None
    ) = None


OwnTool = Annotated[
    Annotated[FunctionTool, Tag("|function")] | Annotated[CustomTool, Tag("|custom")],
    by_member("type", "function", "custom"),
]


class NamespaceTool(Body):
    """Tools that belong together. The model sees each as NAMESPACE__NAME."""

    type: Literal["namespace"]
    name: Name
    description: str | None = None
    tools: Annotated[list[OwnTool], Field(min_length=1, fail_fast=True)]


class HostedTool(Body):
    """A tool of OpenAI's own servers, which is not here."""

    type: str


def is_hosted(kind: Json) -> bool:
    return isinstance(kind, str) and any(kind == name or kind.startswith(f"{name}_") for name in HOSTED)


def _kind(value: Json) -> Json:
    return value.get("type") if isinstance(value, dict) else getattr(value, "type", None)


def _tool(value: Json) -> str | None:
    kind = _kind(value)
    if kind in OWN_KINDS:
        return f"{TAG}{kind}"
    return "|hosted" if is_hosted(kind) else None


ResponseTool = Annotated[
    Annotated[FunctionTool, Tag("|function")]
    | Annotated[CustomTool, Tag("|custom")]
    | Annotated[NamespaceTool, Tag("|namespace")]
    | Annotated[HostedTool, Tag("|hosted")],
    by_choice(_tool, "type", *OWN_KINDS, *HOSTED),
]


class NamedTool(Body):
    type: Literal["function", "custom"]
    name: str
    namespace: str | None = None


def _named(value: Json) -> str | None:
    kind = _kind(value)
    if kind in ("function", "custom"):
        return "|named"
    if kind == "allowed_tools":
        return "|allowed_tools"
    return "|hosted" if is_hosted(kind) else None


class AllowedTools(Body):
    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[
        list[
            Annotated[
                Annotated[NamedTool, Tag("|named")] | Annotated[HostedTool, Tag("|hosted")],
                by_choice(
                    lambda value: None if (tag := _named(value)) == "|allowed_tools" else tag,
                    "type",
                    "function",
                    "custom",
                    *HOSTED,
                ),
            ]
        ],
        Field(min_length=1, fail_fast=True),
    ]


ToolChoiceObject = Annotated[
    Annotated[NamedTool, Tag("|named")]
    | Annotated[AllowedTools, Tag("|allowed_tools")]
    | Annotated[HostedTool, Tag("|hosted")],
    by_choice(_named, "type", "function", "custom", "allowed_tools"),
]
ResponseToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("|string")]
    | Annotated[ToolChoiceObject, Tag("|object")],
    by_kind("one of 'none', 'auto', 'required', or an object"),
]
