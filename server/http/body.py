"""Reads a request's body before anything else sees it: bounded, whole, and taken for JSON.

POST /v1/chat/completions, 9 MB          → 413 request_too_large, of which at most the limit was kept
POST …, half of it, and then nothing     → 408 request_read_timeout
POST … Content-Type: text/plain, {…}     → as if it had said application/json: there is no other body here
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.errors import ApiError, Code
from server.limits.time_limit import current_limit

JSON_TYPE = (b"content-type", b"application/json")

NOT_JSON = (
    "We could not parse the JSON body of your request. The body must be one JSON object in UTF-8, "
    "sent with 'content-type: application/json'."
)

DISCARDED_FACTOR = 8
"""How many times the limit is read, and thrown away, for a client that only listens once it has sent all."""


@dataclass(slots=True)
class ReplayedBody:
    """An ASGI `receive` that gives the body in one piece, and then what the client does next."""

    body: bytes
    receive: Receive
    pending: Iterator[Message] = field(init=False)

    def __post_init__(self) -> None:
        self.pending = iter(({"type": "http.request", "body": self.body, "more_body": False},))

    async def __call__(self) -> Message:
        message = next(self.pending, None)
        return await self.receive() if message is None else message


class ReadBody:
    """ASGI middleware that raises `ApiError` for more than `limit` bytes (413) or `seconds` (408) of body."""

    def __init__(self, app: ASGIApp, *, limit: int, seconds: float) -> None:
        self.app = app
        self._limit = limit
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._seconds):
                body = await current_limit().wait(partial(self._read, scope, receive))
        except TimeoutError:
            raise self._too_slow() from None
        if body is None:
            return  # the client left before it had said what it wants
        if body:
            others = [header for header in scope["headers"] if header[0] != JSON_TYPE[0]]
            scope = {**scope, "headers": [*others, JSON_TYPE]}
        await self.app(scope, ReplayedBody(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._limit * DISCARDED_FACTOR:
            raise self._too_large()
        body = bytearray()
        received = 0
        while (message := await receive())["type"] == "http.request":
            piece: bytes = message.get("body", b"")
            received += len(piece)
            if received <= self._limit:
                body += piece
            if received > self._limit * DISCARDED_FACTOR:
                raise self._too_large()
            if not message.get("more_body", False):
                if received > self._limit:
                    raise self._too_large()
                return bytes(body)
        return None

    def _too_slow(self) -> ApiError:
        return ApiError(
            Code.READ_TIMEOUT,
            f"The request body had not come within {self._seconds:g} s (--receive-seconds). "
            "Send it faster, or less of it.",
            headers={"connection": "close"},
        )

    def _too_large(self) -> ApiError:
        return ApiError(
            Code.BODY_TOO_LARGE,
            f"The request body is larger than this server takes, {self._limit} bytes (--max-body-bytes). "
            "Send fewer or shorter messages and tools.",
        )
