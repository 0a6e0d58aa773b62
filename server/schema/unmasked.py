"""What a mask does not hold.

`{"type": "array", "uniqueItems": true}` leaves `Unmasked("#", "uniqueItems", "items are not compared")`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unmasked:
    """A constraint that is checked when the value is complete, because the mask allows what breaks it."""

    pointer: str
    """Where the constraint stands in the schema, as a URI fragment: `#/properties/tags`."""
    keyword: str
    """The schema's keyword, or `duplicate_key` where the mask lets a key be written twice."""
    why: str


class Ledger:
    """Collects the unmasked constraints of one schema, each once, in the order they were met."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Unmasked] = {}

    def note(self, pointer: str, keyword: str, why: str) -> None:
        self._entries.setdefault((pointer, keyword), Unmasked(pointer, keyword, why))

    def entries(self) -> tuple[Unmasked, ...]:
        return tuple(self._entries.values())
