"""The body of a completion, for the description of the API. `completions_encode` writes it.

{"id": "cmpl-…", "object": "text_completion", "created": 1764400000, "model": "m",
"choices": [{"index": 0, "text": " time", "logprobs": null, "finish_reason": "length"}], "usage": {…}}
"""

from typing import Any, Literal

from pydantic import BaseModel, Field

from server.api.chat.response import STREAM_EVENT, UsageBody, VerdictBody


class CompletionLogprobs(BaseModel):
    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int] = Field(description="Where in the text each token begins, in characters.")


class CompletionChoice(BaseModel):
    index: int = Field(description="Choices of the first prompt come first.")
    text: str
    logprobs: CompletionLogprobs | None
    finish_reason: Literal["stop", "length"]
    strictcall: VerdictBody | None = Field(
        None, description="Only if it was asked for, or if an answer passed that breaks its schema."
    )


class CompletionBody(BaseModel):
    id: str
    object: Literal["text_completion"]
    created: int = Field(description="In seconds since 1970.")
    model: str
    choices: list[CompletionChoice]
    usage: UsageBody


COMPLETION_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": CompletionBody,
        "description": "The answer; with `stream` its chunks as server-sent events, then `[DONE]`.",
        "content": {"text/event-stream": {"itemSchema": STREAM_EVENT}},
    },
}
