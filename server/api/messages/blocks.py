"""The turns of a Messages request, made of blocks.

    {"role": "user", "content": "Hi"}
    {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "f", "input": {}}]}
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "21 °C"}]}

Clients send back whole answers, so what is unknown is ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from server.api.body_types import IGNORED, AnyObject, Body, by_kind, by_member, unsupported_values

TEXT_ONLY = (
    "This server's model reads text. Leave the block out, or say in a block of type 'text' what it has."
)

REFUSED = (
    "image",
    "document",
    "search_result",
    "container_upload",
    "tool_reference",
    "browser_state",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
)
"""Types of blocks that are Anthropic's own models' or servers'."""

CacheControl = Annotated[
    AnyObject | None,
    IGNORED,
    Field(description="Accepted: prefixes are cached whether or not they are marked."),
]
PlainText = Annotated[str, Tag("|string")]


class TextBlock(Body):
    type: Annotated[Literal["text"], unsupported_values(TEXT_ONLY, *REFUSED)]
    text: str
    cache_control: CacheControl = None
    citations: Annotated[Any, IGNORED] = Field(None, description="Accepted, and not read.")


Text = Annotated[
    PlainText | Annotated[list[TextBlock], Field(fail_fast=True), Tag("|array")],
    by_kind("a string or an array of objects"),
]


class ToolResultBlock(Body):
    """The result of a call."""

    type: Literal["tool_result"]
    tool_use_id: str = Field(description="The id of an earlier call.")
    content: Text | None = None
    is_error: bool | None = Field(None, description="Whether the call failed; the model is told.")
    cache_control: CacheControl = None


class ToolUseBlock(Body):
    """A call that an earlier answer made."""

    type: Literal["tool_use"]
    id: Annotated[str, Field(min_length=1)]
    name: str
    input: dict[str, Any]
    cache_control: CacheControl = None
    caller: Annotated[Any, IGNORED] = Field(None, description="Accepted, and not read.")


class ThinkingBlock(Body):
    """The reasoning of an earlier answer, for templates that show it."""

    type: Literal["thinking"]
    thinking: str
    signature: Annotated[str | None, IGNORED] = Field(None, description="Accepted, and not checked.")


class RedactedThinkingBlock(Body):
    """Reasoning that only its author can read. It is not shown to the model."""

    type: Literal["redacted_thinking"]
    data: Annotated[str | None, IGNORED] = None


UserBlock = Annotated[
    Annotated[TextBlock, Tag("|text")] | Annotated[ToolResultBlock, Tag("|tool_result")],
    by_member("type", "text", "tool_result", refused=REFUSED),
]
AssistantBlock = Annotated[
    Annotated[TextBlock, Tag("|text")]
    | Annotated[ToolUseBlock, Tag("|tool_use")]
    | Annotated[ThinkingBlock, Tag("|thinking")]
    | Annotated[RedactedThinkingBlock, Tag("|redacted_thinking")],
    by_member("type", "text", "tool_use", "thinking", "redacted_thinking", refused=REFUSED),
]


class UserTurn(Body):
    role: Literal["user"]
    content: Annotated[
        PlainText | Annotated[list[UserBlock], Field(fail_fast=True), Tag("|array")],
        by_kind("a string or an array of objects"),
    ]


class AssistantTurn(Body):
    """An earlier answer. As the last turn it is the beginning of the one that is asked for."""

    role: Literal["assistant"]
    content: Annotated[
        PlainText | Annotated[list[AssistantBlock], Field(fail_fast=True), Tag("|array")],
        by_kind("a string or an array of objects"),
    ]


class SystemTurn(Body):
    role: Literal["system"]
    content: Text


Turn = Annotated[
    Annotated[UserTurn, Tag("|user")]
    | Annotated[AssistantTurn, Tag("|assistant")]
    | Annotated[SystemTurn, Tag("|system")],
    by_member("role", "user", "assistant", "system"),
]
