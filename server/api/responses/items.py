"""The input of a Responses request: text, or the items of a conversation in every shape that clients echo.

    [{"role": "user", "content": "Weather?"},
     {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}", …},
     {"type": "function_call_output", "call_id": "call_1", "output": "21 °C"}]

Clients send back the items of an answer as they came, ids and statuses included: what is unknown is ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from server.api.body_types import IGNORED, TAG, Body, by_choice, by_kind, has, unsupported_values
from server.api.chat.messages import TEXT_ONLY, PlainText
from server.request import Json

MAX_ITEMS = 16_384
"""More than any context holds, and few enough to be read in no time."""

MEDIA = ("input_image", "input_file", "input_audio", "input_video")
KINDS = (
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
    "item_reference",
)
STORED_ONLY = "Send the item itself, or 'previous_response_id' to a server that stores responses."

Id = Annotated[str | None, IGNORED, Field(description="Accepted as it came; it is not read.")]
CallId = Annotated[str, Field(min_length=1)]


class TextPart(Body):
    """Text of whoever wrote the message: the three names mean the same."""

    type: Annotated[Literal["input_text", "output_text", "text"], unsupported_values(TEXT_ONLY, *MEDIA)]
    text: str


class RefusalPart(Body):
    type: Literal["refusal"]
    refusal: str


def _part(value: Json) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "|refusal" if kind == "refusal" else "|text"


Part = Annotated[
    Annotated[TextPart, Tag("|text")] | Annotated[RefusalPart, Tag("|refusal")], by_choice(_part, "type")
]
Parts = Annotated[
    PlainText | Annotated[list[Part], Field(fail_fast=True), Tag("|array")],
    by_kind("a string or an array of objects"),
]


class MessageItem(Body):
    """What somebody said. A `developer` is the system; the type may be left out."""

    type: Literal["message"] | None = None
    role: Literal["user", "assistant", "system", "developer"]
    content: Parts
    id: Id = None
    status: str | None = None


class FunctionCallItem(Body):
    """A call that the model made."""

    type: Literal["function_call"]
    call_id: CallId
    name: str
    arguments: str = Field(description="The text that the model wrote, JSON or not.")
    namespace: str | None = None
    id: Id = None
    status: str | None = None


class CustomCallItem(Body):
    """A call of a custom tool: its input is text."""

    type: Literal["custom_tool_call"]
    call_id: CallId
    name: str
    input: str
    namespace: str | None = None
    id: Id = None
    status: str | None = None


class OutputItem(Body):
    """The result of a call."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: CallId
    output: Parts | None = None
    id: Id = None
    status: str | None = None


class ThoughtPart(Body):
    type: Literal["reasoning_text", "summary_text", "text"]
    text: str


Thoughts = Annotated[list[ThoughtPart], Field(fail_fast=True)]


class ReasoningItem(Body):
    """What the model thought before the items that follow. Without `content`, the rest of it is looked at."""

    type: Literal["reasoning"]
    summary: Thoughts | None = None
    content: Thoughts | None = None
    encrypted_content: str | None = Field(None, description="As an earlier answer had it.")
    id: Id = None
    status: str | None = None


class ItemReference(Body):
    """An item of a stored response. The type may be left out."""

    type: Literal["item_reference"] | None = None
    id: str


def _item(value: Json) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if kind is None and has(value, "role"):
        return "|message"
    if kind is None and has(value, "id"):
        return "|item_reference"
    return TAG + kind if kind in KINDS else None


InputItem = Annotated[
    Annotated[MessageItem, Tag("|message")]
    | Annotated[FunctionCallItem, Tag("|function_call")]
    | Annotated[OutputItem, Tag("|function_call_output")]
    | Annotated[CustomCallItem, Tag("|custom_tool_call")]
    | Annotated[OutputItem, Tag("|custom_tool_call_output")]
    | Annotated[ReasoningItem, Tag("|reasoning")]
    | Annotated[ItemReference, Tag("|item_reference")],
    by_choice(_item, "type", *KINDS),
]
InputItems = Annotated[list[InputItem], Field(max_length=MAX_ITEMS, fail_fast=True)]
Input = Annotated[
    PlainText | Annotated[InputItems, Tag("|array")], by_kind("a string or an array of objects")
]


class ItemList(Body):
    """Items by themselves, as a store gives them back."""

    items: list[InputItem]


def dumped(item: Body) -> dict[str, Any]:
    """The item as the client sent it."""
    return item.model_dump(mode="json", by_alias=True, exclude_unset=True)
