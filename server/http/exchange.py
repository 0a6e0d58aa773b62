"""One HTTP exchange from its first byte to its last: its id, its headers, its log line, its metrics.

    POST /v1/chat/completions                → x-request-id: req_6f1c…
    X-Request-Id: my-id-7                      x-request-id: my-id-7, openai-processing-ms: 812, …

    log: "POST /v1/chat/completions 200" api=chat duration_ms=1630 prompt_tokens=211 completion_tokens=57

This is the outermost layer, so refused and failed requests have all of it too.
"""

import logging
import re
import time
import uuid
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import cast

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.dialect import Dialect, dialect_of
from server.telemetry.logs import REQUEST_ID, tell
from server.telemetry.metrics import Metrics
from server.telemetry.tracing import NO_STAGE, Stage, Tracing

log = logging.getLogger(__name__)

API_VERSION = "2020-10-01"
"""What OpenAI's own service says in `openai-version`."""

OWN_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
"""A client's request id that is taken as it is. Others could break a log, or be the key to something."""

CLIENT_LEFT = 499
"""Logged and counted as the status of an exchange whose client left before its answer was complete."""

LOGGED_PATH_LENGTH = 200

OPERATIONS = "ops"
APIS = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
    "/v1/models": "models",
    "/tokenize": "tokenize",
    "/detokenize": "tokenize",
    "/health": OPERATIONS,
    "/ready": OPERATIONS,
    "/metrics": OPERATIONS,
    "/version": OPERATIONS,
    "/openapi.json": OPERATIONS,
}
"""The `api` label by path. Any other path is `other`: what clients make up must not make up time series."""

GENERATING = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"})
"""Where a POST spends model time: those requests wait for their turn (`server.http.bounded`)."""

PARENTS = ("/v1/models", "/v1/responses", "/v1/messages")
"""What is below these paths is of the same API, whether or not it exists."""


def api_of(path: str) -> str:
    parents = (parent for parent in PARENTS if path.startswith(f"{parent}/"))
    return APIS.get(next(parents, path), "other")


def generates(scope: Scope) -> bool:
    """Whether a request spends model time."""
    return scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in GENERATING


@dataclass(slots=True)
class Exchange:
    """What is known of an exchange so far. An endpoint adds the tokens, for the log line."""

    request_id: str
    api: str
    started: float = field(default_factory=time.perf_counter)
    status: int | None = None
    """None until the response has begun."""
    complete: bool = False
    """Whether the last byte of the response was sent."""
    code: str | None = None
    """The error code, if the answer is an error."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def dialect(self) -> Dialect:
        """How its API speaks of errors, keys and ids."""
        return dialect_of(self.api)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started


def exchange_of(request: Request | Scope) -> Exchange:
    """The exchange that a request, or its ASGI scope, belongs to."""
    scope = request.scope if isinstance(request, Request) else request
    return cast("Exchange", scope["exchange"])


def request_id_of(headers: Headers) -> str:
    """The client's own request id if it is harmless, else a new one."""
    own = headers.get("x-request-id", "")
    return own if OWN_ID.fullmatch(own) else f"req_{uuid.uuid4().hex}"


class Exchanges:
    """ASGI middleware that opens an `Exchange` for every request and closes its books at the end.

    Probes and scrapes (`ops`) are not counted: a scrape that counts itself would always find one in flight.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, tracing: Tracing) -> None:
        self.app = app
        self._metrics = metrics
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        exchange = Exchange(request_id_of(headers), api_of(scope["path"]))
        scope["exchange"] = exchange
        token = REQUEST_ID.set(exchange.request_id)
        try:
            if exchange.api == OPERATIONS:
                await self._answer(exchange, NO_STAGE, scope, receive, send)
                return
            with self._tracing.request(f"{scope['method']} {exchange.api}", headers) as stage:
                await self._answer(exchange, stage, scope, receive, send)
        finally:
            REQUEST_ID.reset(token)

    async def _answer(
        self, exchange: Exchange, stage: Stage, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _begin(exchange, message)
                stage.happened("respond")
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                exchange.complete = True

        try:
            with self._in_flight(exchange):
                await self.app(scope, receive, send_with_headers)
        finally:
            self._end(exchange, stage, scope)

    def _in_flight(self, exchange: Exchange) -> AbstractContextManager[object]:
        return nullcontext() if exchange.api == OPERATIONS else self._metrics.in_flight.track_inprogress()

    def _end(self, exchange: Exchange, stage: Stage, scope: Scope) -> None:
        status = exchange.status if exchange.complete and exchange.status is not None else CLIENT_LEFT
        if exchange.api != OPERATIONS:
            self._metrics.requests.labels(api=exchange.api, status=str(status)).inc()
            self._metrics.request_seconds.labels(api=exchange.api).observe(exchange.seconds)
        _tell(exchange, status, stage)
        path = scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1") or scope["path"]
        quiet = exchange.api == OPERATIONS and status < 400
        tell(
            log,
            logging.DEBUG if quiet else logging.INFO,
            "%s %s %d",
            scope["method"],
            path[:LOGGED_PATH_LENGTH],
            status,
            fields={
                "api": exchange.api,
                "duration_ms": round(exchange.seconds * 1000),
                "code": exchange.code,
                "prompt_tokens": exchange.prompt_tokens,
                "completion_tokens": exchange.completion_tokens,
            },
        )


def _begin(exchange: Exchange, message: Message) -> None:
    exchange.status = message["status"]
    headers = MutableHeaders(scope=message)
    for name in exchange.dialect.id_headers:
        headers[name] = exchange.request_id
    headers["openai-processing-ms"] = str(round(exchange.seconds * 1000))
    headers["openai-version"] = API_VERSION


def _tell(exchange: Exchange, status: int, stage: Stage) -> None:
    """What the span of a request says when it is over."""
    stage.says(
        strictcall__request_id=exchange.request_id,
        http__response__status_code=status,
        gen_ai__usage__input_tokens=exchange.prompt_tokens,
        gen_ai__usage__output_tokens=exchange.completion_tokens,
    )
    if status >= CLIENT_LEFT:
        stage.failed(exchange.code or str(status))
