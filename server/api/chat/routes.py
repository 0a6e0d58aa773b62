"""`POST /v1/chat/completions`: decode, walk the path, encode. Nothing here knows what a call looks like."""

import logging
import time

from fastapi import APIRouter, Request, Response

from server.answering.answer import prepare
from server.api.chat.decode import DecodedChat, decode_chat
from server.api.chat.encode import ChatResponse, ChatShape, ChatStream
from server.api.chat.request import ChatRequestBody
from server.api.chat.response import CHAT_RESPONSES
from server.api.respond import respond_streamed, respond_whole
from server.context import context_of

log = logging.getLogger(__name__)
router = APIRouter()


@router.post("/v1/chat/completions", responses=CHAT_RESPONSES)
async def create_chat_completion(body: ChatRequestBody, http: Request) -> Response:
    """Answer a conversation with text, tool calls, or both."""
    context = context_of(http)
    decoded = decode_chat(body, max_n=context.settings.max_n, policy=context.settings.policy)
    if decoded.ignored:
        log.info("ignored unknown fields: %s", ", ".join(decoded.ignored))
    answer = await prepare(decoded.request, context)
    shape, n = _shape(decoded), decoded.request.n
    if decoded.request.stream:
        return await respond_streamed(answer, ChatStream(shape, context.vocabulary, n=n), http)
    return await respond_whole(answer, ChatResponse(shape, context.vocabulary, n=n), http)


def _shape(decoded: DecodedChat) -> ChatShape:
    return ChatShape(
        id=decoded.request.id,
        model=decoded.request.model,
        created=int(time.time()),
        legacy_functions=decoded.legacy_functions,
        custom_tools=decoded.custom_tools,
        include_reasoning=decoded.include_reasoning,
        include_usage=decoded.include_usage,
        with_logprobs=decoded.request.sampling.logprobs is not None,
    )
