"""The messages of a chat request, in every shape that clients send and echo.

    {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": {…}}]}
    {"role": "tool", "tool_call_id": "call_1", "content": "21 °C"}

Clients send back whole answers (`message.model_dump()`), so what is unknown is ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, Tag

from server.api.body_types import IGNORED, Body, by_choice, by_kind, by_member, unsupported_values
from server.request import Json

TEXT_ONLY = "This model takes text only. Leave the part out, or describe it in a part of type 'text'."

DEPRECATED: dict[str, JsonValue] = {"deprecated": True}
"""For the description only: pydantic's own `deprecated` would warn whenever we read the field."""

MEDIA = ("image_url", "input_audio", "file", "image", "video_url", "audio_url")


class TextPart(Body):
    type: Annotated[Literal["text"], unsupported_values(TEXT_ONLY, *MEDIA)]
    text: str


class RefusalPart(Body):
    type: Literal["refusal"]
    refusal: str


AssistantPart = Annotated[
    Annotated[TextPart, Tag("|text")] | Annotated[RefusalPart, Tag("|refusal")],
    by_member("type", "text", "refusal"),
]

PlainText = Annotated[str, Tag("|string")]

Text = Annotated[
    PlainText | Annotated[list[TextPart], Field(fail_fast=True), Tag("|array")],
    by_kind("a string or an array of objects"),
]
AssistantText = Annotated[
    PlainText | Annotated[list[AssistantPart], Field(fail_fast=True), Tag("|array")],
    by_kind("a string or an array of objects"),
]


class SystemMessage(Body):
    role: Literal["system"]
    content: Text
    name: str | None = None


class DeveloperMessage(Body):
    """The same as a system message."""

    role: Literal["developer"]
    content: Text
    name: str | None = None


class UserMessage(Body):
    role: Literal["user"]
    content: Text
    name: str | None = None


class CalledFunction(Body):
    name: str
    arguments: str | None = Field(None, description="The text that the model wrote, JSON or not.")


class CalledTool(Body):
    id: str | None = Field(None, description="Calls without an id are paired with their results by order.")
    type: Literal["function"] | None = None
    function: CalledFunction


class CalledCustom(Body):
    name: str
    input: str


class CalledCustomTool(Body):
    """A call of a custom tool."""

    id: str | None = None
    type: Literal["custom"]
    custom: CalledCustom


def _called(value: Json) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "|custom" if kind == "custom" else "|function"


AnyCalledTool = Annotated[
    Annotated[CalledTool, Tag("|function")] | Annotated[CalledCustomTool, Tag("|custom")],
    by_choice(_called, "type", "function", "custom"),
]


class AssistantMessage(Body):
    """An earlier answer. No content, null and an empty string are the same."""

    role: Literal["assistant"]
    content: AssistantText | None = None
    refusal: str | None = None
    tool_calls: Annotated[list[AnyCalledTool], Field(fail_fast=True)] | None = None
    function_call: CalledFunction | None = Field(None, json_schema_extra=DEPRECATED)
    reasoning: str | None = Field(
        None, description="The reasoning of this answer, for templates that show it."
    )
    reasoning_content: str | None = Field(None, description="Another name of `reasoning`.")
    strictcall: Annotated[Any, IGNORED] = Field(
        None, description="What the server said of this answer; it is not read."
    )
    name: str | None = None


class ToolMessage(Body):
    """The result of a call."""

    role: Literal["tool"]
    content: Text | None = None
    tool_call_id: str | None = Field(
        None, description="The id of an earlier call; without it, the next call that has no result yet."
    )
    name: Annotated[str | None, IGNORED] = Field(None, description="Accepted; the call knows its name.")


class FunctionMessage(Body):
    """The result of a legacy function call: of the next one that has no result yet."""

    role: Literal["function"]
    name: str
    content: Text | None = None


ChatMessage = Annotated[
    Annotated[SystemMessage, Tag("|system")]
    | Annotated[DeveloperMessage, Tag("|developer")]
    | Annotated[UserMessage, Tag("|user")]
    | Annotated[AssistantMessage, Tag("|assistant")]
    | Annotated[ToolMessage, Tag("|tool")]
    | Annotated[FunctionMessage, Tag("|function")],
    by_member("role", "system", "developer", "user", "assistant", "tool", "function"),
]
