"""`POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's API on the same path as every other."""

import logging

from fastapi import APIRouter, Request, Response

from server.answering.answer import count_prompt, prepare
from server.api.messages.decode import decode_message, decode_prompt
from server.api.messages.encode import MessageResponse, MessageShape, MessageStream
from server.api.messages.request import CountTokensBody, MessagesRequestBody
from server.api.messages.response import MESSAGE_RESPONSES, MESSAGES_ERROR_RESPONSES, TokenCount
from server.api.respond import respond_streamed, respond_whole
from server.context import context_of
from server.http.exchange import exchange_of

log = logging.getLogger(__name__)
router = APIRouter(responses=MESSAGES_ERROR_RESPONSES)


@router.post("/v1/messages", responses=MESSAGE_RESPONSES)
async def create_message(body: MessagesRequestBody, http: Request) -> Response:
    """Answer a conversation with text, tool calls, or both, in Anthropic's form."""
    context = context_of(http)
    decoded = decode_message(body, policy=context.settings.policy)
    if decoded.ignored:
        log.info("ignored: %s", ", ".join(decoded.ignored))
    answer = await prepare(decoded.request, context)
    shape = MessageShape(
        id=decoded.request.id,
        model=decoded.request.model,
        request_id=exchange_of(http).request_id,
        include_thinking=decoded.include_thinking,
    )
    if decoded.request.stream:
        return await respond_streamed(answer, MessageStream(shape, begun=answer.usage), http)
    return await respond_whole(answer, MessageResponse(shape), http)


@router.post("/v1/messages/count_tokens")
async def count_message_tokens(body: CountTokensBody, http: Request) -> TokenCount:
    """Count the tokens of the prompt that a message would have; the model is not asked."""
    context = context_of(http)
    request = decode_prompt(body, policy=context.settings.policy)
    return TokenCount(input_tokens=await count_prompt(request, context))
