"""Who may call: everything but a short list of paths needs a key, if the server has one.

Probes need none. What else operators ask for has keys of its own, and needs none where there are none.

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

from server.errors import ApiError, Code
from server.http.dialect import Dialect
from server.http.exchange import exchange_of

PROBES = frozenset({"/health", "/ready"})
"""What asks for these often cannot send a key."""
OPERATIONS = frozenset({"/metrics", "/version"})
"""What collectors and operators ask for: it spends no model time and does not tell what users sent."""
OPEN_PATHS = PROBES | OPERATIONS
"""What needs no key, unless there is one for operations."""

CHALLENGE = {"www-authenticate": "Bearer"}


class RequireKey:
    """ASGI middleware that raises `ApiError` (401) for a request without a good key.

    It keeps digests of the keys: they are all of one length, and no dump of this object shows a key.
    """

    def __init__(self, app: ASGIApp, *, keys: Sequence[str], ops_keys: Sequence[str]) -> None:
        self.app = app
        self._known = tuple(digest(key.encode()) for key in keys)
        self._known_for_ops = tuple(digest(key.encode()) for key in ops_keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in PROBES:
            known = self._known_for_ops if scope["path"] in OPERATIONS else self._known
            if known:
                self._check(Headers(scope=scope), exchange_of(scope).dialect, known)
        await self.app(scope, receive, send)

    def _check(self, headers: Headers, dialect: Dialect, known: Sequence[bytes]) -> None:
        key = sent_key(headers, dialect)
        if key is None:
            raise ApiError(
                Code.MISSING_KEY,
                f"You didn't provide an API key. You need to provide your API key {dialect.key_place}.",
                headers=CHALLENGE,
            )
        # All keys are compared, in constant time, so that timing tells nothing about any of them.
        sent = digest(key)
        if sum(hmac.compare_digest(sent, each) for each in known) == 0:
            raise ApiError(
                Code.INVALID_KEY,
                "Incorrect API key provided. Use one of the keys that this server was started with.",
                headers=CHALLENGE,
            )


def digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def owner_of(scope: Scope, keys: Sequence[str]) -> str:
    """Whom what a request makes belongs to: a digest of its key. Without `keys`, all is everybody's."""
    key = sent_key(Headers(scope=scope), exchange_of(scope).dialect) if keys else None
    return "" if key is None else hashlib.sha256(key).hexdigest()


def sent_key(headers: Headers, dialect: Dialect) -> bytes | None:
    """The key of a request, from the first place that has one."""
    return next((key for read in dialect.keys if (key := read(headers)) is not None), None)
