"""Chat Completions in: the checked body becomes the internal request, and what its answer needs to know.

    decode_chat(ChatRequestBody(model="m", messages=[{"role": "user", "content": "Hi"}]))
    # DecodedChat(request=Request(id="chatcmpl-…", api="chat", model="m", …), …)

Here is refused what only shows when fields are read together: `top_logprobs` without `logprobs`, a choice of
a tool that is not there. Schemas are checked later on the path.
"""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from server.api import refusals
from server.api.chat.decode_format import decode_format
from server.api.chat.decode_messages import decode_messages
from server.api.chat.decode_tools import decode_tools
from server.api.chat.request import ChatRequestBody
from server.api.decode_policy import decode_policy
from server.api.sampling import sampling_of
from server.policy import DEFAULT_POLICY, Policy
from server.request import Request, SamplingParams

NOT_STREAMED = "Ask without 'stream', or at /v1/responses, which streams calls of custom tools."

MAX_IGNORED = 32
"""Names of unknown fields that are reported for one request."""


@dataclass(frozen=True, slots=True)
class DecodedChat:
    """The request, and how its client wants the answer told.

    `legacy_functions`: the client spoke of `functions`, so the answer speaks of `function_call`.
    `custom_tools`: the names of those that are called with text.
    `ignored`: unknown fields, as `store_at` or `messages[].cache_control`; at most `MAX_IGNORED`.
    """

    request: Request
    include_usage: bool = False
    legacy_functions: bool = False
    custom_tools: frozenset[str] = frozenset()
    include_reasoning: bool = True
    ignored: tuple[str, ...] = ()


def decode_chat(body: ChatRequestBody, *, max_n: int = 16, policy: Policy = DEFAULT_POLICY) -> DecodedChat:
    """Decode a body that may ask for `max_n` choices. Raises `ApiError` (400) naming the field at fault.

    Its schemas are handled by `policy`, unless it says otherwise.
    """
    _check_together(body, max_n)
    policy = decode_policy(body.strictcall, policy)
    tools = decode_tools(body, all_strict=policy.strict_tools)
    request = Request(
        id=f"chatcmpl-{uuid.uuid4().hex}",
        api="chat",
        model=body.model,
        messages=decode_messages(body.messages),
        tools=tools.tools,
        choice=tools.choice,
        parallel=tools.parallel,
        answer_format=decode_format(body),
        sampling=_sampling(body),
        stop=(body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ()),
        n=body.n or 1,
        reasoning_effort=body.reasoning_effort,
        template_arguments=body.chat_template_kwargs or {},
        continue_final_message=body.continue_final_message is True,
        policy=policy,
        stream=body.stream is True,
    )
    return DecodedChat(
        request=request,
        include_usage=body.stream_options is not None and body.stream_options.include_usage is True,
        legacy_functions=body.functions is not None,
        custom_tools=tools.custom,
        include_reasoning=body.include_reasoning is not False,
        ignored=told_ignored(_ignored(body)),
    )


def _check_together(body: ChatRequestBody, max_n: int) -> None:
    if body.n is not None and body.n > max_n:
        raise refusals.above("n", max_n, body.n)
    if body.stream_options is not None and not body.stream:
        raise refusals.invalid("stream_options", "it is only allowed when 'stream' is true.")
    _check_custom(body)
    if body.top_logprobs is not None and not body.logprobs:
        raise refusals.invalid("top_logprobs", "it is only allowed when 'logprobs' is true.")


def _check_custom(body: ChatRequestBody) -> None:
    """The chunks of a stream have no form for calls of custom tools."""
    for index, tool in enumerate(body.tools or ()):
        if body.stream and tool.type == "custom":
            raise refusals.unsupported_value(f"tools[{index}].type", "custom", NOT_STREAMED)


def _sampling(body: ChatRequestBody) -> SamplingParams:
    return sampling_of(
        body,
        max_tokens=body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens,
        logprobs=(body.top_logprobs or 0) if body.logprobs else None,
    )


def told_ignored(names: Iterable[str]) -> tuple[str, ...]:
    """The names of unknown fields as the log has them: each once, not too many, and harmless."""
    return tuple(for_log(name) for name in list(dict.fromkeys(names))[:MAX_IGNORED])


def _ignored(body: ChatRequestBody) -> Iterator[str]:
    yield from body.unknown
    for message in body.messages:
        yield from (f"messages[].{name}" for name in message.unknown)


def for_log(name: str) -> str:
    """The name of an unknown field as the log may have it."""
    # A line break in a name must not begin another line of the log.
    short = refusals.cut(name, refusals.MAX_VALUE)
    return "".join(character if character.isprintable() else "?" for character in short)
