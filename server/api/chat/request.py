"""The body of `POST /v1/chat/completions`: each field supported, accepted and ignored, or refused.

    {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": […], "tool_choice": "required"}

Types and limits are OpenAI's, so the description that FastAPI derives from here is true; what depends on
more than one field is checked in `decode`. Null is the same as absent, and unknown fields are ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, Tag

from server.api.body_types import (
    IGNORED,
    AnyObject,
    AnySchema,
    Body,
    ObjectOrText,
    by_kind,
    by_member,
    unsupported_parameter,
    unsupported_values,
)
from server.api.chat.messages import DEPRECATED, ChatMessage, Text
from server.api.chat.tools import ChatTool, FunctionCallBody, FunctionDefinition, ToolChoiceBody
from server.api.sampling import SamplingBody
from server.policy import MOST_ATTEMPTS

MAX_MESSAGES = 16_384
"""More than any context holds, and few enough to be read in no time."""

EXAMPLES: list[dict[str, Any]] = [
    {
        "model": "SmolLM2-135M-Instruct",
        "messages": [{"role": "user", "content": "What is the weather in Lima?"}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "The weather in a city.",
                    "parameters": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}},
                        "required": ["city"],
                        "additionalProperties": False,
                    },
                    "strict": True,
                },
            }
        ],
        "tool_choice": "auto",
    },
]

NonEmptyText = Annotated[str, Field(min_length=1)]
MetadataKey = Annotated[str, Field(max_length=64)]
MetadataValue = Annotated[str, Field(max_length=512)]

NO_AUDIO = "This server answers in text only. Leave it out, or ask for ['text']."


class StreamOptions(Body):
    include_usage: bool | None = None
    include_obfuscation: Annotated[bool | None, IGNORED] = Field(
        None, description="Accepted; nothing is obfuscated."
    )


class TextFormat(Body):
    type: Literal["text"]


class JsonObjectFormat(Body):
    type: Literal["json_object"]


class JsonSchemaDefinition(Body):
    name: Annotated[str, Field(min_length=1, max_length=64, pattern="^[a-zA-Z0-9_-]+$")]
    description: str | None = None
    schema_: AnySchema | None = Field(None, alias="schema")
    strict: bool | None = None


class JsonSchemaFormat(Body):
    type: Literal["json_schema"]
    json_schema: JsonSchemaDefinition


ResponseFormat = Annotated[
    Annotated[TextFormat, Tag("|text")]
    | Annotated[JsonObjectFormat, Tag("|json_object")]
    | Annotated[JsonSchemaFormat, Tag("|json_schema")],
    by_member("type", "text", "json_object", "json_schema"),
]


class StructuredOutputs(Body):
    """vLLM's way to constrain the answer: exactly one of these."""

    choice: Annotated[list[str], Field(min_length=1, fail_fast=True)] | None = None
    regex: NonEmptyText | None = None
    json_: ObjectOrText | None = Field(None, alias="json", description="A JSON Schema.")
    json_object: bool | None = Field(None, description="True: any JSON object.")
    grammar: NonEmptyText | None = Field(None, description="XGrammar's EBNF.")
    structural_tag: ObjectOrText | None = Field(None, description="An XGrammar structural tag.")


class StrictcallOptions(Body):
    """How schemas are handled. A name that is not known here is refused: it would be a promise not kept."""

    model_config = ConfigDict(extra="forbid")

    unsupported_keywords: Literal["reject", "validate", "describe"] | None = Field(
        None, description="What becomes of keywords of strict schemas that the mask cannot hold."
    )
    on_violation: Literal["retry", "error", "report"] | None = Field(
        None,
        description="What becomes of a call or an answer that breaks its schema: 'retry' for strict ones and "
        "'report' for all others, unless it is given.",
    )
    max_attempts: Annotated[int, Field(ge=1, le=MOST_ATTEMPTS)] | None = Field(
        None, description="How often one may be written, the first time included. Only with 'retry'."
    )
    report: bool | None = Field(
        None, description="Whether the answer says what was masked, what was checked, and what was wrong."
    )
    strict_tools: bool | None = Field(
        None, description="Whether every tool is strict; so may say the server."
    )


class Prediction(Body):
    type: Literal["content"]
    content: Text


Stop = Annotated[
    Annotated[NonEmptyText, Tag("|string")]
    | Annotated[list[NonEmptyText], Field(min_length=1, max_length=4, fail_fast=True), Tag("|array")],
    by_kind("a string or an array of strings"),
]


class ChatRequestBody(SamplingBody):
    """What a client may ask of Chat Completions."""

    model_config = ConfigDict(json_schema_extra={"examples": [*EXAMPLES]})

    model: NonEmptyText
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES, fail_fast=True)]

    # What the model may call.
    tools: Annotated[list[ChatTool], Field(min_length=1, fail_fast=True)] | None = None
    tool_choice: ToolChoiceBody | None = Field(
        None, description="'auto' with tools and 'none' without, unless it is given."
    )
    parallel_tool_calls: bool | None = None
    functions: (
        Annotated[list[FunctionDefinition], Field(min_length=1, max_length=128, fail_fast=True)] | None
    ) = Field(None, json_schema_extra=DEPRECATED)
    function_call: FunctionCallBody | None = Field(None, json_schema_extra=DEPRECATED)

    # What the answer looks like.
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    strictcall: StrictcallOptions | None = None
    n: Annotated[int, Field(ge=1, le=128)] | None = Field(
        None, description="Choices to generate. The server's setting `max_n` may allow fewer."
    )
    stop: Stop | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Tokens that the answer may have, reasoning included. The context is a limit too."
    )
    max_tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Another name of `max_completion_tokens`, which wins."
    )
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = Field(None, description="Needs `logprobs`.")
    stream: bool | None = None
    stream_options: StreamOptions | None = Field(None, description="Only with `stream`.")
    include_reasoning: bool | None = Field(None, description="Whether to send the model's reasoning; it is.")

    # How the prompt is rendered.
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        None,
        description="`none` turns reasoning off, any other turns it on, if the model's template can do so; "
        "it is given to the template as well.",
    )
    chat_template_kwargs: dict[str, Any] | None = Field(None, description="Arguments of the chat template.")
    continue_final_message: bool | None = Field(
        None, description="Continue the last message, which is the assistant's, instead of a new one."
    )

    # Accepted, and without effect here.
    metadata: Annotated[Annotated[dict[MetadataKey, MetadataValue], Field(max_length=16)] | None, IGNORED] = (
        None
    )
    modalities: Annotated[
        Annotated[
            list[Annotated[Literal["text"], unsupported_values(NO_AUDIO, "audio")]], Field(fail_fast=True)
        ]
        | None,
        IGNORED,
    ] = None
    prediction: Annotated[Prediction | None, IGNORED] = None
    prompt_cache_key: Annotated[str | None, IGNORED] = None
    prompt_cache_options: Annotated[AnyObject | None, IGNORED] = None
    prompt_cache_retention: Annotated[str | None, IGNORED] = None
    safety_identifier: Annotated[Annotated[str, Field(max_length=128)] | None, IGNORED] = None
    service_tier: Annotated[
        Literal["auto", "default", "flex", "scale", "priority", "fast"] | None, IGNORED
    ] = None
    store: Annotated[bool | None, IGNORED] = Field(None, description="Nothing is stored.")
    user: Annotated[str | None, IGNORED] = None
    verbosity: Annotated[Literal["low", "medium", "high"] | None, IGNORED] = None

    # Refused, because to ignore them would change what the answer is.
    chat_template: Annotated[
        None,
        unsupported_parameter(
            "A template is a program: the server's operator chooses it, by --chat-template. Leave it out; "
            "'chat_template_kwargs' sets its variables."
        ),
    ] = None
    audio: Annotated[None, unsupported_parameter(NO_AUDIO)] = None
    moderation: Annotated[None, unsupported_parameter("This server moderates nothing. Leave it out.")] = None
    web_search_options: Annotated[
        None, unsupported_parameter("This server cannot search. Give the model a tool that does.")
    ] = None
