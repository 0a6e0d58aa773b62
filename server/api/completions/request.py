"""The body of `POST /v1/completions`: a prompt as it stands, and how it is gone on with.

    {"model": "m", "prompt": "Once upon a", "max_tokens": 20}
    {"model": "m", "prompt": [[15496, 11], [464]]}                  # two prompts, of token ids

Types and limits are OpenAI's. Null is the same as absent, and unknown fields are ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from server.api.body_types import IGNORED, unsupported_parameter
from server.api.chat.request import (
    NonEmptyText,
    ResponseFormat,
    Stop,
    StreamOptions,
    StrictcallOptions,
    StructuredOutputs,
)
from server.api.sampling import SamplingBody
from server.request import Json

MAX_PROMPTS = 128
MOST_LOGPROBS = 5
EXAMPLES: list[dict[str, Any]] = [
    {"model": "SmolLM2-135M-Instruct", "prompt": "Once upon a time", "max_tokens": 20}
]
ONE_OF_ONE = "Ask for several with 'n', and choose yourself."


def prompt_kind(value: Json) -> str:
    """The tag of a prompt, by what it is or what it begins with."""
    if not isinstance(value, list):
        return "|text"
    first = value[0] if value else ""
    return "|tokens" if isinstance(first, int) else "|token lists" if isinstance(first, list) else "|texts"


Id = Annotated[int, Field(ge=0, le=2**31 - 1)]
TokenIds = Annotated[list[Id], Field(min_length=1, fail_fast=True)]
PromptField = Annotated[
    Annotated[str, Tag("|text")]
    | Annotated[list[str], Field(min_length=1, max_length=MAX_PROMPTS, fail_fast=True), Tag("|texts")]
    | Annotated[TokenIds, Tag("|tokens")]
    | Annotated[
        list[TokenIds], Field(min_length=1, max_length=MAX_PROMPTS, fail_fast=True), Tag("|token lists")
    ],
    Discriminator(prompt_kind),
]


class CompletionsRequestBody(SamplingBody):
    """What a client may ask of Completions."""

    model_config = ConfigDict(json_schema_extra={"examples": [*EXAMPLES]})

    model: NonEmptyText
    prompt: PromptField = Field(
        description="A text, in which control tokens may be spelled, its tokens, or several of either."
    )

    # What the answer looks like.
    max_tokens: Annotated[int, Field(ge=1)] | None = Field(None, description="16, unless it is given.")
    n: Annotated[int, Field(ge=1, le=128)] | None = Field(
        None, description="Choices for each prompt. The server's setting `max_n` bounds those of all."
    )
    stop: Stop | None = None
    echo: bool | None = Field(None, description="Whether the text begins with the prompt.")
    logprobs: Annotated[int, Field(ge=0, le=MOST_LOGPROBS)] | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    strictcall: StrictcallOptions | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    # Accepted, and without effect here.
    best_of: Annotated[Literal[1] | None, IGNORED, unsupported_parameter(ONE_OF_ONE, 1)] = Field(
        None, description="1, which is what it is without."
    )
    user: Annotated[str | None, IGNORED] = None

    # Refused, because to ignore it would change what the answer is.
    suffix: Annotated[
        None, unsupported_parameter("Write the model's own tokens for filling in into 'prompt'.")
    ] = None
