"""Which two items of an array are the same, as JSON Schema compares them.

twins([1, "a", 1.0])     # (0, 2, 1.0)
twins([True, 1])         # raises LookupError: a boolean is no number
"""

from decimal import Decimal
from typing import Any


def twins(items: list[Any]) -> tuple[int, int, Any]:
    """The places of the first item that has come before and of its twin, and the item."""
    seen: dict[Any, int] = {}
    for place, item in enumerate(items):
        first = seen.setdefault(_likeness(item), place)
        if first < place:
            return first, place, item
    raise LookupError("all items differ")


def _likeness(value: Any) -> Any:
    """A key that two values share if they are equal as JSON: order of keys aside, 1 is 1.0 and not true."""
    match value:
        case bool() | None | str():
            return (type(value), value)
        case int() | float() | Decimal():
            return (Decimal, Decimal(value))
        case list():
            return (list, tuple(map(_likeness, value)))
        case _:
            return (dict, frozenset((key, _likeness(item)) for key, item in value.items()))
