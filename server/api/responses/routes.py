"""`/v1/responses`: decode, walk the path, encode; and what is kept of it, where the server keeps any.

POST   /v1/responses                    → {"id": "resp_…", "output": […], …}, or its events
GET    /v1/responses/{id}               → the same again
GET    /v1/responses/{id}/input_items   → {"object": "list", "data": […], …}
POST   /v1/responses/input_tokens       → {"object": "response.input_tokens", "input_tokens": 42}
"""

import logging
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from server.answering.answer import Answer, count_prompt, prepare
from server.api import refusals
from server.api.respond import respond_streamed, respond_whole
from server.api.responses.decode import (
    DecodedResponse,
    decode_counted,
    decode_response,
    in_client_words,
    items_of,
)
from server.api.responses.encode import ResponseStream, ResponseWhole
from server.api.responses.records import ResponseRecords
from server.api.responses.request import ResponsePromptBody, ResponseRequestBody
from server.api.responses.response import (
    RESPONSE_RESPONSES,
    DeletedBody,
    InputItemsBody,
    InputTokensBody,
    ResponseBody,
)
from server.context import Context, context_of
from server.errors import ApiError
from server.http.auth import owner_of

log = logging.getLogger(__name__)
router = APIRouter(tags=["responses"])

NEVER_IN_BACKGROUND = "Only responses in the background can be cancelled, and this server has none."


@router.post("/v1/responses", responses=RESPONSE_RESPONSES)
async def create_response(body: ResponseRequestBody, http: Request) -> Response:
    """Answer text or a conversation with text, calls, or both."""
    context, records = context_of(http), records_of(http)
    decoded = decode_response(
        body,
        history=await records.history(body.previous_response_id),
        input_items=await records.resolved(items_of(body)),
        stores=records.kept,
        policy=context.settings.policy,
    )
    _log(decoded)
    answer = await _prepared(decoded, context)
    if decoded.request.stream:
        stream = ResponseStream(decoded.shape, context.vocabulary)
        return await respond_streamed(
            answer, stream, http, last=lambda: records.keep(stream.final, decoded.items)
        )
    whole = ResponseWhole(decoded.shape, context.vocabulary)
    return await respond_whole(answer, whole, http, last=lambda: records.keep(whole.final, decoded.items))


@router.post("/v1/responses/input_tokens")
async def count_input_tokens(body: ResponsePromptBody, http: Request) -> InputTokensBody:
    """Count the tokens of the prompt that a request would have."""
    context, records = context_of(http), records_of(http)
    request = decode_counted(
        body,
        history=await records.history(body.previous_response_id),
        input_items=await records.resolved(items_of(body)),
        policy=context.settings.policy,
    )
    try:
        return InputTokensBody(input_tokens=await count_prompt(request, context))
    except ApiError as error:
        raise in_client_words(error) from error


@router.get("/v1/responses/{response_id}", response_model=ResponseBody)
async def retrieve_response(
    response_id: str, http: Request, stream: Annotated[bool | None, Query()] = None
) -> Response:
    """Give a stored response again."""
    if stream:
        raise refusals.unsupported_value("stream", "true", "Stored responses are given whole.")
    return JSONResponse((await records_of(http).found(response_id)).response)


@router.delete("/v1/responses/{response_id}")
async def delete_response(response_id: str, http: Request) -> DeletedBody:
    """Forget a stored response. Those that went on from it stay as they are."""
    await records_of(http).delete(response_id)
    return DeletedBody(id=response_id)


@router.post("/v1/responses/{response_id}/cancel", response_model=ResponseBody)
async def cancel_response(response_id: str, http: Request) -> Response:
    """Refuse: what could be cancelled does not exist here."""
    await records_of(http).found(response_id)
    raise refusals.invalid("response_id", NEVER_IN_BACKGROUND)


@router.get("/v1/responses/{response_id}/input_items", response_model=InputItemsBody)
async def list_input_items(
    response_id: str,
    http: Request,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    order: Annotated[Literal["asc", "desc"], Query()] = "desc",
    after: Annotated[str | None, Query()] = None,
) -> Response:
    """List the items that the model was shown, those of earlier responses included."""
    items = (await records_of(http).found(response_id)).items
    return JSONResponse(page(items[::-1] if order == "desc" else items, limit=limit, after=after))


def page(items: list[dict[str, Any]], *, limit: int, after: str | None) -> dict[str, Any]:
    """Up to `limit` items behind the one with the id `after`. Raises `ApiError` (400) if there is none."""
    start = 0
    if after is not None:
        ids = [item["id"] for item in items]
        if after not in ids:
            raise refusals.invalid("after", f"there is no item {refusals.quote(after)} in this response.")
        start = ids.index(after) + 1
    shown = items[start : start + limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": start + limit < len(items),
    }


def records_of(http: Request) -> ResponseRecords:
    """What is kept for the caller."""
    context = context_of(http)
    return ResponseRecords(context.responses, owner_of(http.scope, context.settings.api_key))


async def _prepared(decoded: DecodedResponse, context: Context) -> Answer:
    try:
        return await prepare(decoded.request, context)
    except ApiError as error:
        raise in_client_words(error) from error


def _log(decoded: DecodedResponse) -> None:
    if decoded.ignored:
        log.info("ignored unknown fields: %s", ", ".join(decoded.ignored))
    for warning in decoded.shape.warnings:
        log.warning("%s", warning)
