"""The body of a chat completion, for the description of the API. `chat_encode` writes it.

    {"id": "chatcmpl-…", "object": "chat.completion", "created": 1764400000, "model": "m", "choices": […],
     "usage": {"prompt_tokens": 211, "completion_tokens": 57, "total_tokens": 268, …}}

Nothing is validated by these classes when a request is answered; tests hold the answers to them.
"""

from typing import Any, Literal

from pydantic import BaseModel, Field


class FunctionCall(BaseModel):
    name: str
    arguments: str = Field(description="The JSON text of an object.", examples=['{"city": "Lima"}'])


class MessageToolCall(BaseModel):
    id: str = Field(description="What the message with the result names in `tool_call_id`.")
    type: Literal["function"]
    function: FunctionCall


class CustomCall(BaseModel):
    name: str
    input: str


class MessageCustomCall(BaseModel):
    id: str
    type: Literal["custom"]
    custom: CustomCall


class RuleBody(BaseModel):
    tool: str = Field("", description="Whose parameters it is of; absent if it is of the answer's format.")
    format: str = Field("", description="The name of the answer's format; absent if it is of a tool.")
    pointer: str = Field(description="Where it stands in the schema.", examples=["#/properties/tags"])
    keyword: str


class ViolationBody(BaseModel):
    attempt: int
    tool: str = ""
    format: str = ""
    path: str = Field(description="Where in the value.", examples=["$.tags[1]"])
    keyword: str
    message: str


class VerdictBody(BaseModel):
    masked: list[RuleBody] = Field([], description="What nothing but right values could be written under.")
    checked: list[RuleBody] = Field([], description="What was checked when the value was complete.")
    violations: list[ViolationBody]
    attempts: int


class AnswerMessage(BaseModel):
    role: Literal["assistant"]
    content: str | None = Field(description="Null beside calls without text.")
    refusal: None
    reasoning_content: str = Field("", description="What the model thought; absent if it did not.")
    tool_calls: list[MessageToolCall | MessageCustomCall] = Field(
        [], description="Absent where there are none."
    )
    function_call: FunctionCall | None = Field(None, description="Only if the request had `functions`.")
    strictcall: VerdictBody | None = Field(
        None, description="Only if it was asked for, or if a call or answer passed that breaks its schema."
    )


class TopLogprob(BaseModel):
    token: str
    logprob: float
    bytes: list[int]


class TokenLogprobBody(TopLogprob):
    top_logprobs: list[TopLogprob]


class ChoiceLogprobs(BaseModel):
    content: list[TokenLogprobBody]
    refusal: None


class ChatChoice(BaseModel):
    index: int
    message: AnswerMessage
    logprobs: ChoiceLogprobs | None
    finish_reason: Literal["stop", "length", "tool_calls", "function_call"]


class PromptTokensDetails(BaseModel):
    cached_tokens: int
    audio_tokens: int


class CompletionTokensDetails(BaseModel):
    reasoning_tokens: int
    audio_tokens: int
    accepted_prediction_tokens: int
    rejected_prediction_tokens: int


class UsageBody(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails
    completion_tokens_details: CompletionTokensDetails


class ChatCompletionBody(BaseModel):
    id: str
    object: Literal["chat.completion"]
    created: int = Field(description="In seconds since 1970.")
    model: str
    choices: list[ChatChoice]
    usage: UsageBody


STREAM_EVENT = {
    "type": "object",
    "properties": {"data": {"type": "string", "description": "The JSON text of a chunk, or `[DONE]`."}},
    "required": ["data"],
}

CHAT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": ChatCompletionBody,
        "description": "The answer; with `stream` its chunks as server-sent events, then `[DONE]`.",
        "content": {"text/event-stream": {"itemSchema": STREAM_EVENT}},
    },
}
