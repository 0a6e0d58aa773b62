"""The tables of how numbers are written: in decimal notation, `-12.50`, without an exponent.

notation(Notation(integer=False, whole_digits=40, digits=17, fraction_digits=1), limit=100)
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from server.schema.automata.charsets import classes_of, single
from server.schema.automata.table import Table, explore

CLASSES = classes_of(single(character) for character in "-.0123456789")
SPELLED = "".join(chr(charset[0][0]) if len(charset) == 1 else "?" for charset in CLASSES)
"""The character of each class; `?` for all that no number is written with."""


class _Spelled(NamedTuple):
    """Where the spelling of a number has come to: what may follow is counted down."""

    part: str
    """`start`, `sign`, `zero`, `whole`, `point` or `fraction`."""
    left: int = 0


@dataclass(frozen=True, slots=True)
class Notation:
    """Numbers without an exponent and without leading zeros.

    At most `whole_digits` before the point, and with those behind it at most `digits`, of which
    `fraction_digits` may stand behind the point whatever stands before it.
    """

    integer: bool
    whole_digits: int
    digits: int
    fraction_digits: int


def notation(form: Notation, *, limit: int) -> Table:
    """The numbers in a notation."""

    def follow(place: _Spelled, character: str) -> _Spelled | None:
        part, left = place
        if character == "-":
            return _Spelled("sign") if part == "start" else None
        if character == ".":
            if form.integer or part not in ("zero", "whole"):
                return None
            before = 0 if part == "zero" else form.whole_digits - left
            return _Spelled("point", max(form.digits - before, form.fraction_digits))
        if part in ("start", "sign"):
            return _Spelled("zero") if character == "0" else _Spelled("whole", form.whole_digits - 1)
        if part == "zero" or left == 0:
            return None
        return _Spelled("whole" if part == "whole" else "fraction", left - 1)

    def row(place: _Spelled) -> Iterable[_Spelled | None]:
        return (None if character == "?" else follow(place, character) for character in SPELLED)

    ends = ("zero", "whole", "fraction")
    return explore(_Spelled("start"), row, lambda place: place.part in ends, CLASSES, limit=limit)


def fractional(*, limit: int) -> Table:
    """Numbers that are not whole: one digit behind the point is not 0."""

    def row(part: str) -> Iterable[str]:
        return ("point" if c == "." else "found" if part == "point" and c in "123456789" else part
                for c in SPELLED)  # fmt: skip

    return explore("whole", row, lambda part: part == "found", CLASSES, limit=limit)


def size_of(number: Decimal) -> tuple[int, int]:
    """How many digits a number has before the point and behind it."""
    _, exponent = reduced(number)
    return max(number.adjusted() + 1, 1), max(-exponent, 0)


def reduced(number: Decimal) -> tuple[str, int]:
    """The least digits and the exponent that make up a number, its sign left out; "" and 0 for 0.

    Decimal's own arithmetic would round to the precision of its context.
    """
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    return (text, int(exponent) + len(digits) - len(text)) if text else ("", 0)
