"""The bodies of the Responses API, for the description of the API. `responses_encode` writes them.

Nothing is validated by these classes when a request is answered; tests hold the answers to them.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.api.chat.response import TokenLogprobBody, VerdictBody, ViolationBody

ItemStatus = Literal["in_progress", "completed", "incomplete"]


class OutputText(BaseModel):
    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: list[TokenLogprobBody]


class ReasoningText(BaseModel):
    type: Literal["reasoning_text"]
    text: str


class OutputMessage(BaseModel):
    id: str
    type: Literal["message"]
    status: ItemStatus
    role: Literal["assistant"]
    content: list[OutputText]


class OutputReasoning(BaseModel):
    id: str
    type: Literal["reasoning"]
    status: ItemStatus
    summary: list[Any]
    content: list[ReasoningText]
    encrypted_content: str | None = Field(None, description="Only if it was asked for; it is not encrypted.")


class OutputCall(BaseModel):
    id: str
    type: Literal["function_call"]
    status: ItemStatus
    call_id: str = Field(description="What the item with the result names.")
    name: str
    namespace: str = Field("", description="Absent for tools that are in none.")
    arguments: str = Field(description="The JSON text of an object.", examples=['{"city": "Lima"}'])


class OutputCustomCall(BaseModel):
    id: str
    type: Literal["custom_tool_call"]
    status: ItemStatus
    call_id: str
    name: str
    namespace: str = Field("", description="Absent for tools that are in none.")
    input: str


class InputTokensDetails(BaseModel):
    cached_tokens: int
    cache_write_tokens: int


class OutputTokensDetails(BaseModel):
    reasoning_tokens: int


class ResponseUsage(BaseModel):
    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int


class IncompleteDetails(BaseModel):
    reason: Literal["max_output_tokens"]


class ResponseFault(BaseModel):
    code: str
    message: str


class ResponseVerdict(VerdictBody):
    violations: list[ViolationBody] = Field([])
    attempts: int = 0
    warnings: list[str] = Field([], description="What of the request was skipped.")


class ResponseBody(BaseModel):
    id: str
    object: Literal["response"]
    created_at: int = Field(description="In seconds since 1970.")
    completed_at: int | None
    status: Literal["completed", "incomplete", "failed", "in_progress"]
    error: ResponseFault | None
    incomplete_details: IncompleteDetails | None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    model: str
    previous_response_id: str | None
    prompt_cache_key: str | None
    safety_identifier: str | None
    temperature: float | None
    top_p: float | None
    user: str | None
    background: bool
    metadata: dict[str, str]
    parallel_tool_calls: bool
    reasoning: dict[str, Any]
    service_tier: Literal["default"]
    store: bool = Field(description="Whether it can be asked for later.")
    text: dict[str, Any]
    tool_choice: str | dict[str, Any]
    tools: list[dict[str, Any]]
    top_logprobs: int
    truncation: Literal["disabled"]
    output: list[OutputMessage | OutputReasoning | OutputCall | OutputCustomCall]
    usage: ResponseUsage | None
    strictcall: ResponseVerdict | None = Field(
        None, description="Only if there is something to say: what was checked, broken, or skipped."
    )


class InputItem(BaseModel):
    """An item as it was sent, with an id."""

    model_config = ConfigDict(extra="allow")

    id: str
    type: str
    status: str


class InputItemsBody(BaseModel):
    object: Literal["list"]
    data: list[InputItem]
    first_id: str | None
    last_id: str | None
    has_more: bool


class InputTokensBody(BaseModel):
    object: Literal["response.input_tokens"] = "response.input_tokens"
    input_tokens: int


class DeletedBody(BaseModel):
    id: str
    object: Literal["response"] = "response"
    deleted: Literal[True] = True


STREAM_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "examples": ["response.output_text.delta"]},
        "data": {"type": "string", "description": "The JSON text of the event, its type included."},
    },
    "required": ["event", "data"],
}

RESPONSE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": ResponseBody,
        "description": "The response; with `stream` its events as server-sent events.",
        "content": {"text/event-stream": {"itemSchema": STREAM_EVENT}},
    },
}
