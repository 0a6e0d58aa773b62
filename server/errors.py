"""Every error a client can meet, in OpenAI's form: the one table of names, statuses and types.

`ApiError` is raised anywhere on the path and becomes a response in `server/http/boundary.py`, or the
last event of a stream that has begun. The body is `{"error": {"message", "type", "param", "code"}}`, all
four always there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Code(Enum):
    """`code` → HTTP status and `type`. Codes of OpenAI keep OpenAI's spelling."""

    # What the client can fix.
    INVALID_JSON = (None, 400, "invalid_request_error")
    MISSING_PARAMETER = ("missing_required_parameter", 400, "invalid_request_error")
    INVALID_TYPE = ("invalid_type", 400, "invalid_request_error")
    INVALID_VALUE = ("invalid_value", 400, "invalid_request_error")
    EMPTY_ARRAY = ("empty_array", 400, "invalid_request_error")
    BELOW_MIN = ("integer_below_min_value", 400, "invalid_request_error")
    ABOVE_MAX = ("integer_above_max_value", 400, "invalid_request_error")
    DECIMAL_BELOW_MIN = ("decimal_below_min_value", 400, "invalid_request_error")
    DECIMAL_ABOVE_MAX = ("decimal_above_max_value", 400, "invalid_request_error")
    STRING_TOO_LONG = ("string_above_max_length", 400, "invalid_request_error")
    STRING_TOO_SHORT = ("string_below_min_length", 400, "invalid_request_error")
    ARRAY_TOO_LONG = ("array_above_max_length", 400, "invalid_request_error")
    UNKNOWN_PARAMETER = ("unknown_parameter", 400, "invalid_request_error")
    UNSUPPORTED_PARAMETER = ("unsupported_parameter", 400, "invalid_request_error")
    UNSUPPORTED_VALUE = ("unsupported_value", 400, "invalid_request_error")
    INVALID_TOOLS = ("invalid_function_parameters", 400, "invalid_request_error")
    INVALID_SCHEMA = ("invalid_json_schema", 400, "invalid_request_error")
    TEMPLATE_REFUSED = ("chat_template_error", 400, "invalid_request_error")
    MASK_TOO_SLOW = ("mask_too_slow", 400, "invalid_request_error")
    CONTEXT_LENGTH = ("context_length_exceeded", 400, "invalid_request_error")
    PREVIOUS_NOT_FOUND = ("previous_response_not_found", 400, "invalid_request_error")
    BODY_TOO_LARGE = ("request_too_large", 413, "invalid_request_error")
    MALFORMED_HTTP = ("malformed_http", 400, "invalid_request_error")
    HEAD_TOO_LARGE = ("headers_too_large", 431, "invalid_request_error")
    READ_TIMEOUT = ("request_read_timeout", 408, "invalid_request_error")
    MISSING_KEY = (None, 401, "invalid_request_error")
    INVALID_KEY = ("invalid_api_key", 401, "invalid_request_error")
    MODEL_NOT_FOUND = ("model_not_found", 404, "invalid_request_error")
    RESPONSE_NOT_FOUND = ("response_not_found", 404, "invalid_request_error")
    NOT_FOUND = ("unknown_url", 404, "invalid_request_error")
    NO_SUCH_API = ("unsupported_endpoint", 404, "invalid_request_error")
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405, "invalid_request_error")
    RATE_LIMITED = ("rate_limit_exceeded", 429, "requests")
    # What the model or the server could not do.
    SCHEMA_VIOLATION = ("schema_violation", 500, "server_error")
    UNREADABLE_CALL = ("unreadable_call", 500, "server_error")
    NOT_STORED = ("response_store_error", 500, "server_error")
    INTERNAL = ("internal_error", 500, "server_error")
    ENGINE_FAILED = ("engine_error", 500, "server_error")
    ENGINE_DEAD = ("engine_dead", 503, "server_error")
    ENGINE_RESTARTING = ("engine_restarting", 503, "service_unavailable_error")
    WORKER_LOST = ("worker_lost", 503, "service_unavailable_error")
    OVERLOADED = ("server_is_overloaded", 503, "service_unavailable_error")
    STOPPING = ("server_stopping", 503, "service_unavailable_error")
    REQUEST_TIMEOUT = ("request_timeout", 504, "server_error")

    def __init__(self, code: str | None, status: int, type_: str) -> None:
        self.code = code
        self.status = status
        self.type = type_


@dataclass(eq=False)
class ApiError(Exception):
    """An error with its place in the request (`param`, e.g. `tools[1].function.name`) and its headers."""

    kind: Code
    message: str
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return self.kind.status

    def body(self) -> dict[str, dict[str, str | None]]:
        """The response body, which a stream also sends as its last event."""
        return {
            "error": {
                "message": self.message,
                "type": self.kind.type,
                "param": self.param,
                "code": self.kind.code,
            }
        }

    def __str__(self) -> str:
        return self.message
