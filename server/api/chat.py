"""`POST /v1/chat/completions`: decode, walk the path, encode. Nothing here knows what a call looks like."""

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from server.answer import Answer, prepare
from server.api.chat_encode import ChatResponse, ChatShape, ChatStream
from server.api.chat_request import ChatRequestBody
from server.api.chat_response import CHAT_RESPONSES
from server.api.decode import DecodedChat, decode_chat
from server.api.disconnect import unless_disconnected
from server.boundary import recorded_error
from server.context import context_of
from server.exchange import exchange_of
from server.observe import Usage

log = logging.getLogger(__name__)
router = APIRouter()

STREAM_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}
"""Neither the client nor a proxy may wait for the end of a stream."""


@router.post("/v1/chat/completions", responses=CHAT_RESPONSES)
async def create_chat_completion(body: ChatRequestBody, http: Request) -> Response:
    """Answer a conversation with text, tool calls, or both."""
    context = context_of(http)
    decoded = decode_chat(body, max_n=context.settings.max_n, policy=context.settings.policy)
    if decoded.ignored:
        log.info("ignored unknown fields: %s", ", ".join(decoded.ignored))
    answer = await prepare(decoded.request, context)
    shape, n = _shape(decoded), decoded.request.n
    if not decoded.stream:
        encoder = ChatResponse(shape, context.vocabulary, n=n)
        return JSONResponse(await unless_disconnected(http, _fold(answer, encoder, http)))
    chunks = _chunks(answer, ChatStream(shape, context.vocabulary, n=n), http)
    # The first chunk is awaited here, so that an engine which refuses the request still gives a status.
    first = await unless_disconnected(http, anext(chunks))
    return StreamingResponse(_rest(first, chunks), media_type="text/event-stream", headers=STREAM_HEADERS)


async def _fold(answer: Answer, encoder: ChatResponse, http: Request) -> dict[str, Any]:
    """Walk the whole path, then respond once."""
    async with aclosing(answer.steps()) as steps:
        async for step in steps:
            encoder.add(step)
    _account(http, answer.usage)
    return encoder.body(answer.usage)


async def _chunks(answer: Answer, encoder: ChatStream, http: Request) -> AsyncGenerator[bytes, None]:
    """Respond step by step. An error before the first chunk is raised; after it, it is the last event."""
    begun = False
    try:
        async with aclosing(answer.steps()) as steps:
            async for step in steps:
                opening = b"" if begun else encoder.open()
                if chunk := opening + encoder.encode(step):
                    begun = True
                    yield chunk
        yield encoder.close(answer.usage)
    except Exception as exc:  # the outermost place of a stream, as `Boundary` is that of a response
        if not begun:
            raise
        error = recorded_error(exc, http.scope)
        # The status line has said 200, but for the log and the metrics this was an error.
        exchange_of(http).status = error.status
        yield encoder.fail(error)
    finally:
        _account(http, answer.usage)


async def _rest(first: bytes, chunks: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """The stream whose first chunk was awaited before its headers were sent."""
    async with aclosing(chunks):
        yield first
        async for chunk in chunks:
            yield chunk


def _shape(decoded: DecodedChat) -> ChatShape:
    return ChatShape(
        id=decoded.request.id,
        model=decoded.request.model,
        created=int(time.time()),
        legacy_functions=decoded.legacy_functions,
        include_reasoning=decoded.include_reasoning,
        include_usage=decoded.include_usage,
        with_logprobs=decoded.request.sampling.logprobs is not None,
    )


def _account(http: Request, usage: Usage) -> None:
    exchange = exchange_of(http)
    exchange.prompt_tokens, exchange.completion_tokens = usage.prompt, usage.completion
