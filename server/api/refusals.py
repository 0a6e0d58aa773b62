"""OpenAI's sentences for what is wrong with a part of a request, as clients know and search for them.

    missing("tools[0].type")                # 400 missing_required_parameter
    # Missing required parameter: 'tools[0].type'.

Every function returns the error for the caller to raise. Paths are the client's; "" is the whole body.
Whatever the client sent, message and param are short, and text that can be encoded.
"""

from collections.abc import Sequence

from server.errors import ApiError, Code
from server.request import Json

MAX_MESSAGE = 1000
MAX_PATH = 200
MAX_VALUE = 80
"""Characters of a client's value that a message repeats."""

KINDS = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def refusal(code: Code, path: str, message: str) -> ApiError:
    """An error about the part of the body at `path`."""
    return ApiError(code, cut(message, MAX_MESSAGE), cut(path, MAX_PATH) or None)


def invalid(path: str, reason: str) -> ApiError:
    return refusal(Code.INVALID_VALUE, path, f"Invalid {named(path)}: {reason}")


def missing(path: str) -> ApiError:
    return refusal(Code.MISSING_PARAMETER, path, f"Missing required parameter: {named(path)}.")


def wrong_type(path: str, expected: str, given: Json) -> ApiError:
    kind = KINDS.get(type(given), "something else")
    message = f"Invalid type for {named(path)}: expected {expected}, but got {kind} instead."
    return refusal(Code.INVALID_TYPE, path, message)


def not_one_of(path: str, supported: Sequence[str], given: Json) -> ApiError:
    """`given` is none of the `supported` strings, or no string at all."""
    if not isinstance(given, str):
        return wrong_type(path, listed(supported, "or") if supported[1:] else "a string", given)
    message = f"Invalid value: {quote(given)}. Supported values are: {listed(supported, 'and')}."
    return refusal(Code.INVALID_VALUE, path, message)


def below(path: str, least: float, given: float | str) -> ApiError:
    code, kind = _number_kind(least, Code.BELOW_MIN, Code.DECIMAL_BELOW_MIN)
    bounds = f"Expected a value >= {_short(least)}, but got {_short(given)} instead."
    return refusal(code, path, f"Invalid {named(path)}: {kind} below minimum value. {bounds}")


def above(path: str, most: float, given: float | str) -> ApiError:
    code, kind = _number_kind(most, Code.ABOVE_MAX, Code.DECIMAL_ABOVE_MAX)
    bounds = f"Expected a value <= {_short(most)}, but got {_short(given)} instead."
    return refusal(code, path, f"Invalid {named(path)}: {kind} above maximum value. {bounds}")


def text_too_long(path: str, most: int, given: str) -> ApiError:
    lengths = (
        f"Expected a string with maximum length {most}, but got a string with length {len(given)} instead."
    )
    return refusal(Code.STRING_TOO_LONG, path, f"Invalid {named(path)}: string too long. {lengths}")


def empty_text(path: str) -> ApiError:
    lengths = "Expected a string with minimum length 1, but got an empty string instead."
    return refusal(Code.STRING_TOO_SHORT, path, f"Invalid {named(path)}: empty string. {lengths}")


def not_matching(path: str, pattern: str, given: str) -> ApiError:
    texts = f"Expected a string that matches the pattern '{pattern}', but got {quote(given)} instead."
    return invalid(path, f"string does not match pattern. {texts}")


def array_too_long(path: str, most: int, length: int) -> ApiError:
    lengths = f"Expected an array with maximum length {most}, but got an array with length {length} instead."
    return refusal(Code.ARRAY_TOO_LONG, path, f"Invalid {named(path)}: array too long. {lengths}")


def empty_array(path: str) -> ApiError:
    lengths = "Expected an array with minimum length 1, but got an empty array instead."
    return refusal(Code.EMPTY_ARRAY, path, f"Invalid {named(path)}: empty array. {lengths}")


def object_too_large(path: str, most: int, size: int) -> ApiError:
    sizes = f"Expected an object with at most {most} properties, but got one with {size} instead."
    return invalid(path, f"too many properties. {sizes}")


def unsupported_value(path: str, given: Json, way_out: str) -> ApiError:
    message = f"Unsupported value: {named(path)} does not support {quote(str(given))}. {way_out}"
    return refusal(Code.UNSUPPORTED_VALUE, path, message)


def unsupported_parameter(path: str, way_out: str) -> ApiError:
    return refusal(Code.UNSUPPORTED_PARAMETER, path, f"Unsupported parameter: {named(path)}. {way_out}")


def unknown_parameter(path: str) -> ApiError:
    return refusal(Code.UNKNOWN_PARAMETER, path, f"Unknown parameter: {named(path)}.")


def named(path: str) -> str:
    """`'tools[0].type'`, as messages name it."""
    return f"'{cut(path, MAX_PATH)}'" if path else "the request body"


def quote(given: str) -> str:
    """The client's text as a message repeats it."""
    return f"'{cut(given, MAX_VALUE)}'"


def listed(values: Sequence[str], word: str) -> str:
    """`'a', 'b', and 'c'`."""
    *others, last = [f"'{value}'" for value in values]
    return f"{', '.join(others)}, {word} {last}" if others[1:] else f" {word} ".join([*others, last])


def cut(text: str, limit: int) -> str:
    """The beginning of the text, without what cannot be encoded."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text.encode(errors="replace").decode()


def _number_kind(bound: float, integer: Code, decimal: Code) -> tuple[Code, str]:
    return (decimal, "decimal") if type(bound) is float else (integer, "integer")


def _short(number: float | str) -> str:
    """The number as it is written; in a URL it is a text."""
    if isinstance(number, str):
        return cut(number, MAX_VALUE)
    if type(number) is float:
        return f"{number:.15g}"
    # Python refuses to write an int of more than 4300 digits.
    return str(number) if abs(number) < 10**MAX_VALUE else f"a number of more than {MAX_VALUE} digits"
