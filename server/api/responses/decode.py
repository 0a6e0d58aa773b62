"""Responses in: the checked body becomes the internal request, and what its answer needs to know.

    decode_response(ResponseRequestBody(model="m", input="Hi"))
    # DecodedResponse(request=Request(id="resp_…", api="responses", model="m", …), …)

Here is refused what only shows when fields are read together. Schemas are checked later on the path.
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from server.api import refusals
from server.api.body_types import Body
from server.api.chat.decode import told_ignored
from server.api.chat.request import JsonObjectFormat
from server.api.decode_policy import decode_policy
from server.api.responses.decode_items import Placed, decode_items, placed
from server.api.responses.decode_tools import ResponseTools, decode_response_tools
from server.api.responses.echo import echo
from server.api.responses.encode import ResponseShape
from server.api.responses.items import InputItem, MessageItem
from server.api.responses.request import FlatJsonSchemaFormat, ResponsePromptBody, ResponseRequestBody
from server.errors import ApiError, Code
from server.policy import DEFAULT_POLICY, Policy
from server.request import AnswerFormat, FreeText, JsonObject, JsonSchema, Message, Request, SamplingParams

LOGPROBS = "message.output_text.logprobs"
SEALED_REASONING = "reasoning.encrypted_content"
RENAMED = {"messages": "input"}
"""What the path calls parts of a request, where this API has another name for them."""


@dataclass(frozen=True, slots=True)
class DecodedResponse:
    """The request, how its client wants the answer told, its input as items, and the unknown fields."""

    request: Request
    shape: ResponseShape
    items: tuple[InputItem, ...] = ()
    ignored: tuple[str, ...] = ()


def decode_response(
    body: ResponseRequestBody,
    *,
    history: Sequence[InputItem] = (),
    input_items: Sequence[InputItem] | None = None,
    stores: bool = False,
    policy: Policy = DEFAULT_POLICY,
) -> DecodedResponse:
    """Decode a body. Raises `ApiError` (400) naming the field at fault.

    `history` are the items of the response that it goes on from, and `input_items` those of its own input,
    if references among them had to be looked up. `stores`: whether the server stores responses.
    """
    if body.stream_options is not None and not body.stream:
        raise refusals.invalid("stream_options", "it is only allowed when 'stream' is true.")
    items = items_of(body) if input_items is None else tuple(input_items)
    include = frozenset(body.include or ())
    asked, tools = _prompt_request(body, items, history, policy)
    request = replace(
        asked,
        parallel=body.parallel_tool_calls is not False,
        sampling=_sampling(body, wants_logprobs=LOGPROBS in include),
        stream=body.stream is True,
    )
    return DecodedResponse(
        request=request,
        shape=ResponseShape(
            id=request.id,
            created=int(time.time()),
            echo=echo(body, stored=stores and body.store is not False),
            names=tools.names,
            warnings=tools.warnings,
            with_logprobs=request.sampling.logprobs is not None,
            seals_reasoning=SEALED_REASONING in include,
        ),
        items=(*history, *items),
        ignored=told_ignored(_ignored(body)),
    )


def decode_counted(
    body: ResponsePromptBody,
    *,
    history: Sequence[InputItem],
    input_items: Sequence[InputItem],
    policy: Policy = DEFAULT_POLICY,
) -> Request:
    """Decode what the prompt is made of alone."""
    request, _ = _prompt_request(body, input_items, history, policy)
    return request


def _prompt_request(
    body: ResponsePromptBody, items: Sequence[InputItem], history: Sequence[InputItem], policy: Policy
) -> tuple[Request, ResponseTools]:
    """The request as far as its prompt goes, and its tools as its client knows them."""
    policy = decode_policy(body.strictcall, policy)
    tools = decode_response_tools(body, all_strict=policy.strict_tools)
    request = Request(
        id=f"resp_{uuid.uuid4().hex}",
        api="responses",
        model=body.model,
        messages=decode_prompt(body, items, history),
        tools=tools.tools,
        choice=tools.choice,
        answer_format=_format(body),
        reasoning_effort=body.reasoning.effort if body.reasoning is not None else None,
        template_arguments=body.chat_template_kwargs or {},
        policy=policy,
    )
    return request, tools


def items_of(body: ResponsePromptBody) -> tuple[InputItem, ...]:
    """The input as items. Raises `ApiError` (400) where there is none."""
    if isinstance(body.input, str):
        return (MessageItem(type="message", role="user", content=body.input),)
    if body.input is None and body.previous_response_id is None:
        raise refusals.missing("input")
    return tuple(body.input or ())


def decode_prompt(
    body: ResponsePromptBody, items: Sequence[InputItem], history: Sequence[InputItem]
) -> tuple[Message, ...]:
    """The conversation: instructions, what went before, and the input."""
    before = [Placed(item, "previous_response_id") for item in history]
    messages = decode_items([*before, *placed(items, "input")])
    if body.instructions:
        messages = (Message("system", body.instructions, "instructions"), *messages)
    if not messages:
        raise _no_items()
    return messages


def _no_items() -> ApiError:
    return refusals.refusal(
        Code.EMPTY_ARRAY, "input", "Invalid 'input': empty array. Send text, or at least one item."
    )


def _format(body: ResponsePromptBody) -> AnswerFormat:
    asked = body.text.format if body.text is not None else None
    if isinstance(asked, FlatJsonSchemaFormat):
        return JsonSchema(
            name=asked.name,
            schema=asked.schema_,
            strict=asked.strict is True,
            param="text.format.schema",
        )
    return JsonObject() if isinstance(asked, JsonObjectFormat) else FreeText()


def _sampling(body: ResponseRequestBody, *, wants_logprobs: bool) -> SamplingParams:
    return SamplingParams(
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        seed=body.seed,
        max_tokens=body.max_output_tokens,
        logprobs=body.top_logprobs if body.top_logprobs is not None else 0 if wants_logprobs else None,
    )


def _ignored(body: ResponseRequestBody) -> Iterator[str]:
    yield from body.unknown
    parts: Iterable[tuple[str, Body]] = [
        *(("input[]", item) for item in (body.input if isinstance(body.input, list) else ())),
        *(("tools[]", tool) for tool in body.tools or ()),
    ]
    for place, part in parts:
        yield from (f"{place}.{name}" for name in part.unknown)


def in_client_words(error: ApiError) -> ApiError:
    """The error with its place as this API names it."""
    return replace(error, param=RENAMED.get(error.param or "", error.param))
