"""The body of `POST /v1/messages`: each field supported, accepted and ignored, or refused.

    {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}], "tools": […]}

Types and limits are Anthropic's. Null is the same as absent, and unknown fields are ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from server.api.body_types import (
    IGNORED,
    AnyObject,
    AnySchema,
    Body,
    RequestBody,
    by_member,
    unsupported_parameter,
)
from server.api.chat.request import MAX_MESSAGES, NonEmptyText, StrictcallOptions
from server.api.messages.blocks import CacheControl, Text, Turn
from server.request import Json

EXAMPLES: list[dict[str, Any]] = [
    {
        "model": "SmolLM2-135M-Instruct",
        "max_tokens": 200,
        "messages": [{"role": "user", "content": "What is the weather in Lima?"}],
        "tools": [
            {
                "name": "get_weather",
                "description": "The weather in a city.",
                "input_schema": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}},
                    "required": ["city"],
                    "additionalProperties": False,
                },
                "strict": True,
            }
        ],
        "tool_choice": {"type": "auto"},
    },
]

MAX_STOPS = 64
MAX_EXAMPLES = 32
LEAST_BUDGET = 1024

Name = Annotated[str, Field(max_length=128, pattern="^[a-zA-Z0-9_-]+$", examples=["get_weather"])]


class ClientTool(Body):
    """A tool that the client runs."""

    type: Literal["custom"] | None = None
    name: Name
    description: str | None = None
    input_schema: AnySchema
    strict: bool | None = Field(None, description="Whether calls must fit the schema exactly.")
    input_examples: Annotated[list[dict[str, Any]], Field(max_length=MAX_EXAMPLES, fail_fast=True)] | None = (
        Field(None, description="Inputs that fit the schema; the model reads them in the description.")
    )
    allowed_callers: Annotated[Any, IGNORED] = Field(None, description="Accepted, and not read.")
    cache_control: CacheControl = None
    defer_loading: Annotated[bool | None, IGNORED] = Field(
        None, description="Accepted; every tool is shown from the start."
    )
    eager_input_streaming: Annotated[bool | None, IGNORED] = Field(
        None, description="Accepted; pieces are sent as they come."
    )


class OtherTool(Body):
    """A tool that Anthropic defines. The model here does not know it, so it is left out."""

    type: Annotated[str, Field(min_length=1)]
    name: str | None = None


def _tool_kind(value: Json) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "|other" if isinstance(kind, str) and kind != "custom" else "|custom"


class AutoChoice(Body):
    type: Literal["auto"]
    disable_parallel_tool_use: bool | None = Field(None, description="Whether one call is the most.")


class AnyChoice(Body):
    type: Literal["any"]
    disable_parallel_tool_use: bool | None = Field(None, description="Whether one call is the most.")


class ToolChoice(Body):
    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool | None = Field(None, description="It is always one call.")


class NoneChoice(Body):
    type: Literal["none"]


Choice = Annotated[
    Annotated[AutoChoice, Tag("|auto")]
    | Annotated[AnyChoice, Tag("|any")]
    | Annotated[ToolChoice, Tag("|tool")]
    | Annotated[NoneChoice, Tag("|none")],
    by_member("type", "auto", "any", "tool", "none"),
]

Display = Annotated[
    Literal["summarized", "omitted"] | None, Field(description="'omitted' keeps the text of thoughts back.")
]


class ThinkingOn(Body):
    type: Literal["enabled"]
    budget_tokens: Annotated[int, Field(ge=LEAST_BUDGET)] = Field(
        description="Less than `max_tokens`, which is the limit of thoughts and answer together."
    )
    display: Display = None


class ThinkingOff(Body):
    type: Literal["disabled"]


class ThinkingAdaptive(Body):
    """The model thinks as it is used to."""

    type: Literal["adaptive"]
    display: Display = None


class ThinkingBetweenTools(Body):
    """The same as adaptive."""

    type: Literal["between_tools"]


Thinking = Annotated[
    Annotated[ThinkingOn, Tag("|enabled")]
    | Annotated[ThinkingOff, Tag("|disabled")]
    | Annotated[ThinkingAdaptive, Tag("|adaptive")]
    | Annotated[ThinkingBetweenTools, Tag("|between_tools")],
    by_member("type", "enabled", "disabled", "adaptive", "between_tools"),
]


class JsonFormat(Body):
    type: Literal["json_schema"]
    schema_: AnySchema = Field(alias="schema")


class OutputConfig(Body):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = Field(
        None, description="Given to the model's template, where thinking is not disabled."
    )
    format: JsonFormat | None = Field(None, description="What text of the answer must be; always strict.")


class PromptBody(RequestBody):
    """What the prompt of a message is made of, and how it is answered."""

    model: NonEmptyText
    messages: Annotated[list[Turn], Field(min_length=1, max_length=MAX_MESSAGES, fail_fast=True)]
    system: Text | None = None

    # What the model may call.
    tools: (
        Annotated[
            list[
                Annotated[
                    Annotated[ClientTool, Tag("|custom")] | Annotated[OtherTool, Tag("|other")],
                    Discriminator(_tool_kind),
                ]
            ],
            Field(fail_fast=True),
        ]
        | None
    ) = None
    tool_choice: Choice | None = Field(
        None, description="'auto' with tools and 'none' without, unless it is given."
    )

    # What the answer looks like.
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    strictcall: StrictcallOptions | None = None

    # How the prompt is rendered.
    chat_template_kwargs: dict[str, Any] | None = Field(None, description="Arguments of the chat template.")

    # Accepted, and without effect here.
    cache_control: CacheControl = None
    context_management: Annotated[AnyObject | None, IGNORED] = Field(
        None, description="The context is what the client sends."
    )
    diagnostics: Annotated[AnyObject | None, IGNORED] = None
    inference_geo: Annotated[str | None, IGNORED] = None
    metadata: Annotated[AnyObject | None, IGNORED] = None
    service_tier: Annotated[Literal["auto", "standard_only"] | None, IGNORED] = None
    speed: Annotated[Literal["standard", "fast"] | None, IGNORED] = None
    user_profile_id: Annotated[str | None, IGNORED] = None
    workspace_id: Annotated[str | None, IGNORED] = None

    # Refused, because to ignore them would change what the answer is.
    container: Annotated[None, unsupported_parameter("This server runs no code. Leave it out.")] = None
    mcp_servers: Annotated[
        list[Any] | None,
        unsupported_parameter("This server calls no tools. Connect the client, and send its tools.", []),
    ] = None
    output_format: Annotated[None, unsupported_parameter("Send it as 'output_config.format'.")] = None


class MessagesRequestBody(PromptBody):
    """What a client may ask of Messages."""

    model_config = ConfigDict(json_schema_extra={"examples": [*EXAMPLES]})

    max_tokens: Annotated[int, Field(ge=1)] = Field(
        description="Tokens that the answer may have, thoughts included. The context is a limit too."
    )
    stream: bool | None = None
    stop_sequences: Annotated[list[NonEmptyText], Field(max_length=MAX_STOPS, fail_fast=True)] | None = None

    # How tokens are drawn.
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        None, description="0 considers every token."
    )


class CountTokensBody(PromptBody):
    """A message of which only the prompt is made."""

    model_config = ConfigDict(json_schema_extra={"examples": [*EXAMPLES]})
