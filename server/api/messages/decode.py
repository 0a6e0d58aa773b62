"""Messages in: the checked body becomes the internal request, and what its answer needs to know.

    decode_message(MessagesRequestBody(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]))
    # DecodedMessage(request=Request(id="msg_…", api="messages", model="m", …), …)

Here is refused what only shows when fields are read together. Schemas are checked later on the path.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace

from server.api import refusals
from server.api.chat.decode import told_ignored
from server.api.decode_policy import decode_policy
from server.api.messages.request import (
    MessagesRequestBody,
    OtherTool,
    PromptBody,
    Thinking,
    ThinkingAdaptive,
    ThinkingOff,
    ThinkingOn,
)
from server.api.messages.tools import decode_tools
from server.api.messages.turns import decode_turns
from server.policy import DEFAULT_POLICY, Policy
from server.prompt.thinking import NONE
from server.request import AnswerFormat, FreeText, JsonSchema, Message, Request, SamplingParams

EFFORT = "medium"
"""The effort of who asks for thinking and says no more."""


@dataclass(frozen=True, slots=True)
class DecodedMessage:
    """The request, and how its client wants the answer told. `ignored` is as in `DecodedChat`."""

    request: Request
    include_thinking: bool = True
    ignored: tuple[str, ...] = ()


def decode_message(body: MessagesRequestBody, *, policy: Policy = DEFAULT_POLICY) -> DecodedMessage:
    """Decode a body. Raises `ApiError` (400) naming the field at fault.

    Its schemas are handled by `policy`, unless it says otherwise.
    """
    thinking = body.thinking
    if isinstance(thinking, ThinkingOn) and thinking.budget_tokens >= body.max_tokens:
        raise refusals.invalid("thinking.budget_tokens", "it must be less than 'max_tokens'.")
    request = replace(
        decode_prompt(body, policy=policy),
        sampling=SamplingParams(
            temperature=body.temperature, top_p=body.top_p, top_k=body.top_k, max_tokens=body.max_tokens
        ),
        stop=tuple(body.stop_sequences or ()),
        stream=body.stream is True,
    )
    return DecodedMessage(
        request=request,
        include_thinking=not _omitted(thinking),
        ignored=told_ignored(_ignored(body)),
    )


def decode_prompt(body: PromptBody, *, policy: Policy = DEFAULT_POLICY) -> Request:
    """Decode what prompt and mask are made of. Raises `ApiError` (400) naming the field at fault."""
    policy = decode_policy(body.strictcall, policy)
    tools = decode_tools(body, all_strict=policy.strict_tools)
    messages = decode_turns(body.system, body.messages)
    return Request(
        id=f"msg_{uuid.uuid4().hex}",
        api="messages",
        model=body.model,
        messages=messages,
        tools=tools.tools,
        choice=tools.choice,
        parallel=tools.parallel,
        answer_format=_format(body),
        reasoning_effort=_effort(body),
        template_arguments=body.chat_template_kwargs or {},
        continue_final_message=_begins_answer(messages[-1]),
        policy=policy,
    )


def _format(body: PromptBody) -> AnswerFormat:
    if body.output_config is None or body.output_config.format is None:
        return FreeText()
    schema = body.output_config.format.schema_
    return JsonSchema(name="format", schema=schema, strict=True, param="output_config.format.schema")


def _effort(body: PromptBody) -> str | None:
    """The effort in OpenAI's words; None leaves thinking to the model."""
    effort = body.output_config.effort if body.output_config is not None else None
    if isinstance(body.thinking, ThinkingOff):
        return NONE
    return effort or EFFORT if isinstance(body.thinking, ThinkingOn) else effort


def _omitted(thinking: Thinking | None) -> bool:
    return isinstance(thinking, ThinkingOn | ThinkingAdaptive) and thinking.display == "omitted"


def _begins_answer(final: Message) -> bool:
    """Whether the answer continues the last turn, as Anthropic's does where that is the assistant's."""
    return final.role == "assistant" and not final.tool_calls


def _ignored(body: MessagesRequestBody) -> Iterator[str]:
    yield from body.unknown
    for turn in body.messages:
        yield from (f"messages[].{name}" for name in turn.unknown)
        if not isinstance(turn.content, str):
            blocks = (name for block in turn.content for name in block.unknown)
            yield from (f"messages[].content[].{name}" for name in blocks)
    for tool in body.tools or ():
        if isinstance(tool, OtherTool):
            yield f"tools[] of type {tool.type}"
        else:
            yield from (f"tools[].{name}" for name in tool.unknown)
