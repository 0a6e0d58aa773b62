"""`POST /v1/completions`: prompts as they stand, gone on with. There is no template, and no call."""

import logging
import time

from fastapi import APIRouter, Request, Response

from server.answering.answer import prepare_all
from server.api.completions.decode import decode_completions
from server.api.completions.encode import CompletionResponse, CompletionShape, CompletionStream
from server.api.completions.request import CompletionsRequestBody
from server.api.completions.response import COMPLETION_RESPONSES
from server.api.respond import respond_streamed, respond_whole
from server.context import context_of

log = logging.getLogger(__name__)
router = APIRouter()


@router.post("/v1/completions", responses=COMPLETION_RESPONSES)
async def create_completion(body: CompletionsRequestBody, http: Request) -> Response:
    """Go on with a text, or with each of several."""
    context = context_of(http)
    decoded = decode_completions(body, max_n=context.settings.max_n, policy=context.settings.policy)
    if decoded.ignored:
        log.info("ignored unknown fields: %s", ", ".join(decoded.ignored))
    answer = await prepare_all(decoded.requests, context)
    first = decoded.requests[0]
    echoed = [prompt.text if decoded.echo else "" for prompt in answer.prompts for _ in range(first.n)]
    shape = CompletionShape(
        id=first.id,
        model=first.model,
        created=int(time.time()),
        echoed=tuple(echoed),
        include_usage=decoded.include_usage,
        with_logprobs=first.sampling.logprobs is not None,
    )
    if decoded.requests[0].stream:
        return await respond_streamed(answer, CompletionStream(shape, context.vocabulary), http)
    return await respond_whole(answer, CompletionResponse(shape, context.vocabulary), http)
