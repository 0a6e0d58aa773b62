"""The body of a message, for the description of the API. `messages_encode` writes it.

    {"id": "msg_…", "type": "message", "role": "assistant", "model": "m", "content": […],
     "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 211, "output_tokens": 57, …}}

Nothing is validated by these classes when a request is answered; tests hold the answers to them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field

from server.api.chat.response import VerdictBody


class TextOut(BaseModel):
    type: Literal["text"]
    text: str


class ToolUseOut(BaseModel):
    type: Literal["tool_use"]
    id: str = Field(description="What the block with the result names in `tool_use_id`.")
    name: str
    input: dict[str, Any]


class ThinkingOut(BaseModel):
    type: Literal["thinking"]
    thinking: str
    signature: str


class OutputTokensDetails(BaseModel):
    thinking_tokens: int


class MessageUsage(BaseModel):
    input_tokens: int = Field(description="Of the prompt, without those that the cache had.")
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    output_tokens: int
    output_tokens_details: OutputTokensDetails


class MessageBody(BaseModel):
    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[Annotated[TextOut | ToolUseOut | ThinkingOut, Discriminator("type")]]
    stop_reason: Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"]
    stop_sequence: str | None
    usage: MessageUsage
    strictcall: VerdictBody | None = Field(
        None, description="Only if it was asked for, or if a call or answer passed that breaks its schema."
    )


class TokenCount(BaseModel):
    input_tokens: int = Field(description="Of the prompt: messages, system, tools and the template's own.")


class MessagesErrorDetail(BaseModel):
    type: str = Field(examples=["invalid_request_error"])
    message: str


class MessagesErrorBody(BaseModel):
    type: Literal["error"]
    error: MessagesErrorDetail
    request_id: str


STREAM_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string", "description": "The JSON text of an event, with its `type`."},
    },
    "required": ["event", "data"],
}

MESSAGE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": MessageBody,
        "description": "The answer; with `stream` its events.",
        "content": {"text/event-stream": {"itemSchema": STREAM_EVENT}},
    },
}
MESSAGES_ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": MessagesErrorBody, "description": "The request has a fault, which `error` names."},
    "5XX": {"model": MessagesErrorBody, "description": "The server or the model failed; it may be retried."},
}
