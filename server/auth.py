"""Who may call: everything but a short list of paths needs a key, if the server has one.

    GET /v1/models                                → 401, "You didn't provide an API key. …"
    GET /v1/models  Authorization: Bearer nope    → 401 invalid_api_key
    GET /health                                   → 200

A path that is not on the list, however it is spelled and whether or not it exists, needs the key.
"""

import hashlib
import hmac
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from server.dialect import Dialect
from server.errors import ApiError, Code
from server.exchange import exchange_of

OPEN_PATHS = frozenset({"/health", "/ready", "/metrics", "/version"})
"""What probes and collectors ask for. Nothing here spends model time or tells what users sent."""

CHALLENGE = {"www-authenticate": "Bearer"}


class RequireKey:
    """ASGI middleware that raises `ApiError` (401) for a request without a good key."""

    def __init__(self, app: ASGIApp, *, keys: Sequence[str]) -> None:
        self.app = app
        self._keys = tuple(key.encode() for key in keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._keys and scope["path"] not in OPEN_PATHS:
            self._check(Headers(scope=scope), exchange_of(scope).dialect)
        await self.app(scope, receive, send)

    def _check(self, headers: Headers, dialect: Dialect) -> None:
        key = sent_key(headers, dialect)
        if key is None:
            raise ApiError(
                Code.MISSING_KEY,
                f"You didn't provide an API key. You need to provide your API key {dialect.key_place}.",
                headers=CHALLENGE,
            )
        # All keys are compared, in constant time, so that timing tells nothing about any of them.
        if sum(hmac.compare_digest(key, known) for known in self._keys) == 0:
            raise ApiError(
                Code.INVALID_KEY,
                "Incorrect API key provided. Use one of the keys that this server was started with.",
                headers=CHALLENGE,
            )


def owner_of(scope: Scope, keys: Sequence[str]) -> str:
    """Whom what a request makes belongs to: a digest of its key. Without `keys`, all is everybody's."""
    key = sent_key(Headers(scope=scope), exchange_of(scope).dialect) if keys else None
    return "" if key is None else hashlib.sha256(key).hexdigest()


def sent_key(headers: Headers, dialect: Dialect) -> bytes | None:
    """The key of a request, from the first place that has one."""
    return next((key for read in dialect.keys if (key := read(headers)) is not None), None)
