"""What is wrong with a body: pydantic's list of faults becomes one error, about the first of them.

    read_body(ChatRequestBody, {"model": "m", "messages": [{"role": "user"}]})

raises `ApiError` with the code `missing_required_parameter`, the param `messages[0].content` and the message
"Missing required parameter: 'messages[0].content'.".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from server.api import refusals
from server.api.body_types import TAG
from server.errors import ApiError, Code
from server.http.body import NOT_JSON
from server.request import Json

Model = TypeVar("Model", bound=BaseModel)

Fault = Mapping[str, Any]
"""One entry of `ValidationError.errors()`."""

PLACES = frozenset({"body", "query", "path", "header", "cookie"})
"""What FastAPI puts before the place of a fault."""

EXPECTED = {
    "string_type": "a string",
    "string_unicode": "a string",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "bool_parsing": "a boolean",
    "float_type": "a number",
    "bool_type": "a boolean",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "an array",
    "none_required": "null",
}
"""Pydantic's types of fault that say that a value has the wrong type."""


def read_body(model: type[Model], value: Json) -> Model:
    """Check a parsed body. Raises `ApiError` (400) about its first fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise body_error(error.errors(include_url=False)) from error


def body_error(faults: Sequence[Fault]) -> ApiError:
    """The error for the first of the faults that pydantic found, be it by itself or for FastAPI."""
    fault = faults[0]
    place = fault["loc"]
    if place and place[0] in PLACES:
        place = place[1:]
        if not place and fault["type"] == "missing":
            return ApiError(Code.MISSING_PARAMETER, "The request has no body. Send a JSON object.")
    path, kind = client_path(place), fault["type"]
    if kind in EXPECTED:
        return refusals.wrong_type(path, EXPECTED[kind], fault["input"])
    return TELL.get(kind, _other)(path, fault)


def client_path(place: Sequence[str | int]) -> str:
    """The client's path: `("messages", 0, "|user", "content")` → `messages[0].content`."""
    path = ""
    for step in place:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step != "[key]" and not step.startswith(TAG):
            path += f".{step}" if path else step
    return path


def _missing(path: str, _fault: Fault) -> ApiError:
    return refusals.missing(path)


def _literal(path: str, fault: Fault) -> ApiError:
    # Pydantic writes the choices as 'a', 'b' or 'c'.
    choices = fault["ctx"]["expected"].strip("'").replace("' or '", "', '").split("', '")
    return refusals.not_one_of(path, choices, fault["input"])


def _member(path: str, fault: Fault) -> ApiError:
    given, key = fault["input"], fault["ctx"]["key"]
    if not isinstance(given, dict):
        return refusals.wrong_type(path, "an object", given)
    path = f"{path}.{key}"
    if given.get(key) is None:
        return refusals.missing(path)
    return refusals.not_one_of(path, fault["ctx"]["values"], given[key])


def _kind(path: str, fault: Fault) -> ApiError:
    return refusals.wrong_type(path, fault["ctx"]["expected"], fault["input"])


def _below(path: str, fault: Fault) -> ApiError:
    return refusals.below(path, fault["ctx"]["ge"], fault["input"])


def _above(path: str, fault: Fault) -> ApiError:
    return refusals.above(path, fault["ctx"]["le"], fault["input"])


def _text_too_long(path: str, fault: Fault) -> ApiError:
    return refusals.text_too_long(path, fault["ctx"]["max_length"], fault["input"])


def _text_too_short(path: str, _fault: Fault) -> ApiError:
    return refusals.empty_text(path)


def _pattern(path: str, fault: Fault) -> ApiError:
    return refusals.not_matching(path, fault["ctx"]["pattern"], fault["input"])


def _too_many(path: str, fault: Fault) -> ApiError:
    given, most = fault["input"], fault["ctx"]["max_length"]
    if isinstance(given, dict):
        return refusals.object_too_large(path, most, len(given))
    return refusals.array_too_long(path, most, len(given))


def _too_few(path: str, _fault: Fault) -> ApiError:
    return refusals.empty_array(path)


def _unsupported_value(path: str, fault: Fault) -> ApiError:
    return refusals.unsupported_value(path, fault["input"], fault["ctx"]["way_out"])


def _unsupported_parameter(path: str, fault: Fault) -> ApiError:
    return refusals.unsupported_parameter(path, fault["ctx"]["way_out"])


def _unsound(_path: str, fault: Fault) -> ApiError:
    return refusals.invalid(client_path(fault["ctx"]["path"]), fault["ctx"]["reason"])


def _not_json(_path: str, _fault: Fault) -> ApiError:
    return ApiError(Code.INVALID_JSON, NOT_JSON)


def _unknown(path: str, _fault: Fault) -> ApiError:
    return refusals.unknown_parameter(path)


def _other(path: str, fault: Fault) -> ApiError:
    return refusals.invalid(path, f"{fault['msg']}.")


TELL: Mapping[str, Callable[[str, Fault], ApiError]] = {
    "missing": _missing,
    "literal_error": _literal,
    "not_a_member": _member,
    "not_a_kind": _kind,
    "greater_than_equal": _below,
    "less_than_equal": _above,
    "string_too_long": _text_too_long,
    "string_too_short": _text_too_short,
    "string_pattern_mismatch": _pattern,
    "too_long": _too_many,
    "too_short": _too_few,
    "unsupported_value": _unsupported_value,
    "unsupported_parameter": _unsupported_parameter,
    "unsound": _unsound,
    "json_invalid": _not_json,
    "extra_forbidden": _unknown,
}
"""Pydantic's types of fault, and ours from `body_types`."""
