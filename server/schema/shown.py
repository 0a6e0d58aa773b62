r"""How values are shown to a model: their kind, and as much of them as tells them apart.

shown("3")                     # string "3"
shown({"b": [1, 2, 3]})        # object {"b": [1, 2, 3]}
shown(list(range(1000)))       # array of 1,000 items
"""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

MOST_TEXT = 60
"""Characters of a string, or of a whole value, that are shown."""
MOST_WORDS = 10
"""Entries of a list that are shown: keys, choices, types."""


def shown(value: Any) -> str:
    """A value with its kind in front: `integer 3`, `string "a"`, `null`."""
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean {_json(value)}"
        case int() | float() | Decimal():
            return f"{'integer' if isinstance(value, int) else 'number'} {number(value)}"
        case str():
            return f"string {text(value)}"
        case list():
            return _whole(value) or f"array of {counted(len(value), 'item')}"
        case _:
            return _whole(value) or f"object with the keys {listed(value)}"


def literal(value: Any) -> str:
    """A value as it would be written, shortened: `3`, `"a"`, `{"b": [1, 2, 3]}`."""
    match value:
        case bool() | None:
            return _json(value)
        case int() | float() | Decimal():
            return number(value)
        case str():
            return text(value)
        case _:
            return cut(_json(value))


def text(value: str) -> str:
    """A string in quotes; a long one by its beginning and its length."""
    if len(value) <= MOST_TEXT:
        return _json(value)
    return f"{_json(value[:MOST_TEXT])}… of {len(value):,} characters"


def number(value: float | Decimal) -> str:
    """A number as it was written, or nearly so; one that fills lines is shortened."""
    return cut(str(value).replace("E+", "e").replace("E", "e") if isinstance(value, Decimal) else str(value))


def listed(words: Sequence[str] | dict[str, Any], *, joint: str = ", ") -> str:
    """Strings in quotes, the first few of them: `"a", "b", … (12 in all)`."""
    return _few([text(word) for word in words], joint)


def chosen(values: Sequence[Any]) -> str:
    """Values to choose from: `"a", 2 or null`."""
    return _few([literal(value) for value in values], " or ")


def either(words: Sequence[str]) -> str:
    """Words to choose from: `integer or null`."""
    return _few(words, " or ")


def counted(count: int, noun: str) -> str:
    """A number of things: `1 item`, `2,000 items`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def cut(value: str) -> str:
    return value if len(value) <= MOST_TEXT else f"{value[:MOST_TEXT]}… of {len(value):,} characters"


def _few(words: Sequence[str], joint: str) -> str:
    if len(words) > MOST_WORDS:
        return f"{', '.join(words[:MOST_WORDS])}, … ({len(words)} in all)"
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])}{joint}{words[-1]}"


def _whole(value: Any) -> str | None:
    """A small array or object as it is; a large one is not written only to be cut."""
    if len(value) > MOST_WORDS:
        return None
    written = _json(value)
    kind = "array" if isinstance(value, list) else "object"
    return f"{kind} {written}" if len(written) <= MOST_TEXT else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
