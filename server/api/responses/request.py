"""The body of `POST /v1/responses`: each field supported, accepted and ignored, or refused.

    {"model": "m", "input": "Hi", "instructions": "Be brief.", "tools": […], "tool_choice": "required"}

As for Chat Completions, null is the same as absent, and unknown fields are ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, Tag

from server.api.body_types import (
    IGNORED,
    AnyObject,
    AnySchema,
    Body,
    RequestBody,
    by_member,
    unsupported_parameter,
    unsupported_values,
)
from server.api.chat.request import (
    JsonObjectFormat,
    MetadataKey,
    MetadataValue,
    NonEmptyText,
    StrictcallOptions,
    TextFormat,
)
from server.api.responses.items import Input
from server.api.responses.tools import ResponseTool, ResponseToolChoice

EXAMPLES: list[dict[str, Any]] = [
    {
        "model": "SmolLM2-135M-Instruct",
        "input": "What is the weather in Lima?",
        "tools": [
            {
                "type": "function",
                "name": "get_weather",
                "description": "The weather in a city.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}},
                    "required": ["city"],
                    "additionalProperties": False,
                },
                "strict": True,
            }
        ],
        "tool_choice": "auto",
    },
]

NO_BACKGROUND = "This server answers while the client waits. Leave it out, and use 'stream' for long answers."
NO_CONVERSATION = (
    "This server keeps no conversations. Use 'previous_response_id', or send the items as 'input'."
)
NO_PROMPT = "This server keeps no prompts. Send its text as 'instructions' or 'input'."

Include = Literal[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
]


class FlatJsonSchemaFormat(Body):
    type: Literal["json_schema"]
    name: Annotated[str, Field(min_length=1, max_length=64, pattern="^[a-zA-Z0-9_-]+$")]
    description: str | None = None
    schema_: AnySchema = Field(alias="schema")
    strict: bool | None = None


class TextConfig(Body):
    """What the text of the answer looks like."""

    format: (
        Annotated[
            Annotated[TextFormat, Tag("|text")]
            | Annotated[JsonObjectFormat, Tag("|json_object")]
            | Annotated[FlatJsonSchemaFormat, Tag("|json_schema")],
            by_member("type", "text", "json_object", "json_schema"),
        ]
        | None
    ) = None
    verbosity: Annotated[Literal["low", "medium", "high"] | None, IGNORED] = Field(
        None, description="Accepted; no effect here."
    )


class ReasoningConfig(Body):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    summary: Annotated[Literal["auto", "concise", "detailed"] | None, IGNORED] = Field(
        None, description="Accepted; the reasoning itself is sent."
    )
    generate_summary: Annotated[Literal["auto", "concise", "detailed"] | None, IGNORED] = None


class ResponseStreamOptions(Body):
    include_obfuscation: Annotated[bool | None, IGNORED] = Field(
        None, description="Accepted; nothing is obfuscated."
    )


class ResponsePromptBody(RequestBody):
    """What the prompt is made of, and what there is to call."""

    model: NonEmptyText
    input: Input | None = Field(None, description="Needed, unless there is a `previous_response_id`.")
    instructions: str | None = Field(
        None, description="A system message in front of all others; those of earlier responses do not return."
    )
    previous_response_id: NonEmptyText | None = Field(
        None, description="A stored response whose input and output come before `input`."
    )
    tools: Annotated[list[ResponseTool], Field(fail_fast=True)] | None = None
    tool_choice: ResponseToolChoice | None = Field(
        None, description="'auto' with tools and 'none' without, unless it is given."
    )
    parallel_tool_calls: bool | None = None
    text: TextConfig | None = None
    reasoning: ReasoningConfig | None = None
    chat_template_kwargs: dict[str, Any] | None = Field(None, description="Arguments of the chat template.")
    strictcall: StrictcallOptions | None = None
    truncation: Annotated[Literal["auto", "disabled"] | None, IGNORED] = Field(
        None, description="Accepted; what does not fit is refused, and the answer says 'disabled'."
    )

    # Refused, because to ignore them would change what the answer is.
    conversation: Annotated[None, unsupported_parameter(NO_CONVERSATION)] = None
    prompt: Annotated[None, unsupported_parameter(NO_PROMPT)] = None


class ResponseRequestBody(ResponsePromptBody):
    """What a client may ask of Responses."""

    model_config = ConfigDict(json_schema_extra={"examples": [*EXAMPLES]})

    max_output_tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Tokens that the answer may have, reasoning included. The context is a limit too."
    )
    include: Annotated[list[Include], Field(fail_fast=True)] | None = Field(
        None, description="What this server does not have is accepted, and is not there."
    )
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = Field(None, description="Only with `stream`.")
    store: bool | None = Field(
        None, description="Whether the response can be asked for later; it can, where the server stores any."
    )
    metadata: Annotated[dict[MetadataKey, MetadataValue], Field(max_length=16)] | None = None

    # How tokens are drawn.
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    top_k: Annotated[int, Field(ge=-1, le=2**31 - 1)] | None = Field(
        None, description="0 and -1 consider every token."
    )
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None

    # Accepted, and without effect here.
    max_tool_calls: Annotated[int | None, IGNORED] = Field(
        None, description="Of tools that OpenAI runs; there are none."
    )
    prompt_cache_key: Annotated[str | None, IGNORED] = None
    prompt_cache_options: Annotated[AnyObject | None, IGNORED] = None
    prompt_cache_retention: Annotated[str | None, IGNORED] = None
    safety_identifier: Annotated[Annotated[str, Field(max_length=128)] | None, IGNORED] = None
    service_tier: Annotated[
        Literal["auto", "default", "flex", "scale", "priority", "fast"] | None, IGNORED
    ] = None
    user: Annotated[str | None, IGNORED] = None

    background: Annotated[bool | None, unsupported_values(NO_BACKGROUND, True)] = None
    moderation: Annotated[None, unsupported_parameter("This server moderates nothing. Leave it out.")] = None
