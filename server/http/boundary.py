"""The one place where exceptions become responses. Inside it, code raises; outside, there is only HTTP.

raise ApiError(Code.INVALID_VALUE, "…", "n")   → 400 {"error": {"message": "…", "param": "n", …}}
GET /v1/modles                                 → 404 unknown_url, with the path that was probably meant
raise KeyError("…")                            → 500 internal_error with the request id; the stack is logged
"""

import difflib
import logging

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from server.engine.protocol import (
    EngineDeadError,
    EngineError,
    EngineRestartingError,
    MaskTooSlowError,
    WorkerLostError,
)
from server.errors import ApiError, Code
from server.http.body import NOT_JSON
from server.http.disconnect import ClientGoneError
from server.http.exchange import Exchange, exchange_of
from server.store.responses import StoreError

log = logging.getLogger(__name__)

SHOWN_PATH_LENGTH = 200

NO_SOUND = "its model reads and writes text. Turn speech into text, or text into speech, before or after it."
ELSEWHERE = {
    "/v1/embeddings": "its model writes text and makes no embeddings. Serve a model that does beside it, for "
    "example with 'vllm serve MODEL --runner pooling', and give that server's URL to whatever embeds.",
    "/v1/audio/speech": NO_SOUND,
    "/v1/audio/transcriptions": NO_SOUND,
    "/v1/audio/translations": NO_SOUND,
    "/v1/images/generations": "its model writes text and makes no images.",
    "/v1/moderations": "its model writes text. Serve a model that moderates beside it.",
    "/v1/messages/batches": "requests are answered as they come. Send each to /v1/messages.",
    "/v1/batches": "requests are answered as they come. Send each to its own URL.",
}
"""Parts of the APIs that are not here, and what to do instead."""


class Boundary:
    """ASGI middleware that answers whatever is raised inside it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        except ClientGoneError:
            return
        except Exception as exc:  # noqa: BLE001 - nothing may leave the server but a response
            error = recorded_error(exc, scope)
            # Once the response has begun it can only be broken off, which the client notices.
            if exchange_of(scope).status is None:
                await error_response(error, exchange_of(scope))(scope, receive, send)


MASK_TOO_SLOW = (
    "The answer was ended, because the grammar that this request asks for takes longer with each token, and "
    "others wait meanwhile: it can read the same text in ever more ways. Give every text one way to be read, "
    "such as 'list ::= item*' for 'list ::= item | list list'."
)


def recorded_error(exc: Exception, scope: Scope) -> ApiError:
    """The error that a client is told of, once the log has it.

    A stream that has begun tells it as its last event.
    """
    error = api_error(exc, scope)
    # An ApiError says on purpose what it says; its message may quote the model, so it is not logged.
    if not isinstance(exc, ApiError | EngineDeadError | EngineRestartingError) and error.status >= 500:
        log.error("%s", error.kind.name, exc_info=exc)
    exchange_of(scope).code = error.kind.code or error.kind.name.lower()
    return error


def api_error(exc: Exception, scope: Scope) -> ApiError:
    """The error that a client is told of when `exc` was raised."""
    match exc:
        case ApiError():
            return exc
        case HTTPException():
            return _routing_error(exc, scope)
        case StoreError():
            message = "Responses cannot be kept or read at the moment. Send 'store': false to do without."
            return ApiError(Code.NOT_STORED, message)
        case EngineDeadError():
            return ApiError(Code.ENGINE_DEAD, "The engine has stopped; the server has to be restarted.")
        case EngineRestartingError():
            message = f"{exc} Send the request again in a moment."
            code = Code.WORKER_LOST if isinstance(exc, WorkerLostError) else Code.ENGINE_RESTARTING
            return ApiError(code, message, headers={"retry-after": str(exc.retry_after)})
        case MaskTooSlowError():
            return ApiError(Code.MASK_TOO_SLOW, MASK_TOO_SLOW)
        case EngineError():
            message = "The engine failed on this request; others are not affected. You can retry it."
            return ApiError(Code.ENGINE_FAILED, message)
    return ApiError(
        Code.INTERNAL,
        "The server had an error while processing your request. Sorry about that! You can retry it; "
        f"the server's log has the reason under request id {exchange_of(scope).request_id}.",
    )


def _routing_error(exc: HTTPException, scope: Scope) -> ApiError:
    called = f"{scope['method']} {scope['path'][:SHOWN_PATH_LENGTH]}"
    if exc.status_code == 404 and (way_out := ELSEWHERE.get(scope["path"])):
        return ApiError(Code.NO_SUCH_API, f"This server has no {scope['path']}: {way_out}")
    if exc.status_code == 404:
        return ApiError(Code.NOT_FOUND, f"Unknown request URL: {called}. {_meant(scope)}")
    if exc.status_code == 405:
        allowed = (exc.headers or {}).get("Allow", "")
        message = f"Not allowed: {called}. This URL takes {allowed}."
        return ApiError(Code.METHOD_NOT_ALLOWED, message, headers=exc.headers or {})
    # FastAPI's own: a body that is not JSON in a way that json.loads does not call so (encoding, depth).
    return ApiError(Code.INVALID_JSON, NOT_JSON)


def _meant(scope: Scope) -> str:
    paths = [route.path for route in scope["app"].routes if isinstance(route, Route)]
    called = "/" + "/".join(part for part in scope["path"][:SHOWN_PATH_LENGTH].lower().split("/") if part)
    for guess in (called, f"/v1{called}"):
        if close := difflib.get_close_matches(guess, paths, n=1, cutoff=0.9):
            return f"Did you mean {close[0]}? The base_url of an SDK ends in /v1."
    return "Please check the URL for typos; /openapi.json lists all there are."


def error_response(error: ApiError, exchange: Exchange) -> JSONResponse:
    """The error as the SDK of the exchange's API understands it."""
    dialect = exchange.dialect
    body = dialect.error_body(error, exchange.request_id)
    return JSONResponse(body, status_code=dialect.status(error), headers=dict(error.headers))
