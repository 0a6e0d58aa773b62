"""The internal request: what every HTTP surface decodes into, and all that the path behind it knows.

A chat request `{"messages": [{"role": "user", "content": "Hi"}], "n": 2}` becomes

    Request(id="chatcmpl-…", api="chat", model="m", messages=(Message("user", "Hi"),), n=2, …)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from server.policy import DEFAULT_POLICY, Policy

Json = Any
"""A value as `json.loads` gives it."""

Schema = Mapping[str, Any] | bool
"""A JSON Schema as the client sent it."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call in the history: `arguments` is the text that the client sent, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation, its text parts already joined.

    `param` is where the client wrote it (`messages[2]`), for error messages.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    param: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A function the model may call. `parameters` is None where the client gave none: no arguments.

    `param` is where the client wrote it (`tools[0].function`), for error messages, and `schema_key` what the
    client calls its parameters. `examples` are arguments that the client says are right. `lark` is the Lark
    grammar that the one string of the parameters is held to.
    """

    name: str
    description: str = ""
    parameters: Schema | None = None
    strict: bool = False
    param: str = ""
    schema_key: str = "parameters"
    examples: tuple[Mapping[str, Json], ...] = ()
    lark: str | None = None

    @property
    def schema_param(self) -> str:
        """Where the client wrote the parameters."""
        return f"{self.param}.{self.schema_key}"


class Mode(StrEnum):
    """Whether a call may, must, or must not be written."""

    NONE = "none"
    AUTO = "auto"
    REQUIRED = "required"
    NAMED = "named"
    """Exactly one call, of the one allowed tool."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """`allowed` is the subset of tool names that may be called; None is all of them."""

    mode: Mode
    allowed: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        """The `choice` label of the metrics: none, auto, required, named or allowed."""
        return "allowed" if self.allowed is not None and self.mode is not Mode.NAMED else self.mode.value

    @property
    def forces_call(self) -> bool:
        return self.mode in (Mode.REQUIRED, Mode.NAMED)


@dataclass(frozen=True, slots=True)
class FreeText:
    """`response_format: text`, or none at all."""


@dataclass(frozen=True, slots=True)
class JsonObject:
    """`response_format: json_object`: any JSON object."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """`response_format: json_schema`. `param` is where the schema stands in the client's request."""

    name: str
    schema: Schema
    strict: bool
    param: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """vLLM's `structured_outputs.choice`: the answer is one of these strings."""

    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matching:
    """vLLM's `structured_outputs.regex`: the whole answer matches."""

    regex: str


@dataclass(frozen=True, slots=True)
class Grammar:
    """vLLM's `structured_outputs.grammar`: XGrammar's EBNF."""

    ebnf: str


@dataclass(frozen=True, slots=True)
class Tagged:
    """vLLM's `structured_outputs.structural_tag`: an XGrammar structural tag, or the format inside one."""

    tag: Mapping[str, Json]


AnswerFormat = FreeText | JsonObject | JsonSchema | OneOf | Matching | Grammar | Tagged


@dataclass(frozen=True, slots=True)
class Templated:
    """The prompt is the messages, as the model's chat template shows them."""

    param = "messages"


@dataclass(frozen=True, slots=True)
class RawText:
    """The prompt is a text as it stands: what spells a control token is one. `param` is its place."""

    text: str
    param: str = "prompt"


@dataclass(frozen=True, slots=True)
class RawTokens:
    """The prompt is these tokens. `param` is their place."""

    token_ids: tuple[int, ...]
    param: str = "prompt"


PromptSource = Templated | RawText | RawTokens


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is drawn. None is the model's own default (its generation config), or OpenAI's."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float | None = None
    seed: int | None = None
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    max_tokens: int | None = None
    logprobs: int | None = None
    """How many alternatives to report beside each token: 0 is the token alone, None is no logprobs."""
    stream_interval: int = 1
    """Tokens that the engine gathers before it gives them. The first comes at once, and so do the last."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, whatever API it came by. `id` is also its name in the logs and in the engine.

    `source` is what its prompt is made of; only one that is `Templated` has messages.
    """

    id: str
    api: str
    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    choice: ToolChoice = ToolChoice(Mode.NONE)
    parallel: bool = True
    answer_format: AnswerFormat = FreeText()
    sampling: SamplingParams = SamplingParams()
    stop: tuple[str, ...] = ()
    n: int = 1
    reasoning_effort: str | None = None
    template_arguments: Mapping[str, Json] = field(default_factory=dict)
    continue_final_message: bool = False
    policy: Policy = DEFAULT_POLICY
    source: PromptSource = Templated()
    stream: bool = False
    """Whether the client is told the answer while it is written."""

    @property
    def callable_tools(self) -> Sequence[ToolDefinition]:
        """The tools that `tool_choice` lets the model call, in the client's order."""
        if self.choice.mode is Mode.NONE:
            return ()
        if self.choice.allowed is None:
            return self.tools
        return tuple(tool for tool in self.tools if tool.name in self.choice.allowed)
