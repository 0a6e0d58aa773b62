"""The layers that keep a server from more than it can do: one before a request's body is read, one after.

    POST /v1/chat/completions, all places taken               → 429 rate_limit_exceeded, retry-after: 3
    POST /v1/chat/completions  x-request-timeout: 20          → 504 request_timeout after 20 seconds
    POST /v1/chat/completions, the server has got SIGTERM     → 503 server_stopping

Only requests that spend model time are bounded (`server.http.exchange.generates`).
"""

import math

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from server.errors import ApiError, Code
from server.http.exchange import generates
from server.limits.admission import Admission
from server.limits.time_limit import HEADER, current_limit, limited

SHOWN_VALUE_LENGTH = 40


class TakePlace:
    """ASGI middleware that raises `ApiError` (429, 503) where no place is free, before it reads anything."""

    def __init__(self, app: ASGIApp, *, admission: Admission) -> None:
        self.app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not generates(scope):
            await self.app(scope, receive, send)
            return
        with self._admission.place(asked_seconds(Headers(scope=scope))) as limit, limited(limit):
            await self.app(scope, receive, send)


class TakeTurn:
    """ASGI middleware that lets a request wait for its turn."""

    def __init__(self, app: ASGIApp, *, admission: Admission) -> None:
        self.app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not generates(scope):
            await self.app(scope, receive, send)
            return
        async with self._admission.turn(current_limit()):
            await self.app(scope, receive, send)


def asked_seconds(headers: Headers) -> float | None:
    """What a client says of the time that its request may take. Raises `ApiError` (400)."""
    text = headers.get(HEADER)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        message = (
            f"Invalid header {HEADER}: '{text[:SHOWN_VALUE_LENGTH]}' is no number of seconds such as 20."
        )
        raise ApiError(Code.INVALID_VALUE, message, HEADER)
    return seconds
