"""How an API speaks of what all its endpoints share: errors, keys, and the ids of exchanges.

    dialect_of("chat").error_body(error, id)       # {"error": {"message", "type", "param", "code"}}
    dialect_of("messages").error_body(error, id)   # {"type": "error", "error": {"type", "message"}, …}

Whatever is raised is one `ApiError`; only here does it take the form that the SDK of its API understands.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from starlette.datastructures import Headers

from server.errors import ApiError

KeyReader = Callable[[Headers], bytes | None]
"""Finds a key in the headers of a request; None where there is none."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """`keys` are the places where a key may stand, and `key_place` says so to who sent none.

    `id_headers` are the headers of a response that have the id of its exchange.
    """

    error_body: Callable[[ApiError, str], dict[str, Any]]
    status: Callable[[ApiError], int]
    keys: tuple[KeyReader, ...]
    key_place: str
    id_headers: tuple[str, ...]


def bearer(headers: Headers) -> bytes | None:
    """The key of `Authorization: Bearer KEY`, or None where there is no such header."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    # Headers are decoded as Latin-1, so this gives back the bytes as they were sent.
    return key.strip().encode("latin-1") if scheme.lower() == "bearer" and key.strip() else None


def x_api_key(headers: Headers) -> bytes | None:
    """The key of `x-api-key: KEY`, or None where there is no such header."""
    return headers.get("x-api-key", "").strip().encode("latin-1") or None


def _openai_body(error: ApiError, _request_id: str) -> dict[str, Any]:
    return error.body()


def _openai_status(error: ApiError) -> int:
    return error.status


OPENAI = Dialect(
    error_body=_openai_body,
    status=_openai_status,
    keys=(bearer,),
    key_place="in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)",
    id_headers=("x-request-id",),
)

OVERLOADED = 529
"""The status by which Anthropic's clients know that they should come again later."""

ANTHROPIC_TYPES = MappingProxyType(
    {
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        504: "timeout_error",
        OVERLOADED: "overloaded_error",
    }
)
"""Anthropic's types by their status; all other 4xx are `invalid_request_error`, all other 5xx `api_error`."""


def _anthropic_status(error: ApiError) -> int:
    return OVERLOADED if error.kind.type == "service_unavailable_error" else error.status


def _anthropic_body(error: ApiError, request_id: str) -> dict[str, Any]:
    status = _anthropic_status(error)
    other = "invalid_request_error" if status < 500 else "api_error"
    # This form has no `param`: the message has to name the field.
    named = error.param is None or error.param in error.message
    message = error.message if named else f"{error.param}: {error.message}"
    return {
        "type": "error",
        "error": {"type": ANTHROPIC_TYPES.get(status, other), "message": message},
        "request_id": request_id,
    }


ANTHROPIC = Dialect(
    error_body=_anthropic_body,
    status=_anthropic_status,
    keys=(x_api_key, bearer),
    key_place="in an x-api-key header, or in an Authorization header using Bearer auth",
    id_headers=("request-id", "x-request-id"),
)

DIALECTS: Mapping[str, Dialect] = MappingProxyType({"messages": ANTHROPIC})
"""By the `api` of an exchange; all others speak OpenAI's."""


def dialect_of(api: str) -> Dialect:
    """The dialect of an API, by the name that it has in the metrics."""
    return DIALECTS.get(api, OPENAI)
