"""The tables of the numbers that lie on one side of a bound.

compare(Decimal("-0.5"), Order.ABOVE, digits=100)     # accepts "-0.49", "0" and "7.0"

They take decimal notation for granted: no exponent, no leading zeros. `-0` is 0, and equals it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import NamedTuple

from server.schema.automata.limits import TooLarge
from server.schema.automata.notation import CLASSES, SPELLED, size_of
from server.schema.automata.table import Table, explore


class Order(Enum):
    """Where a number lies, seen from a bound; the value tells the signs of their differences."""

    BELOW = (-1,)
    NOT_ABOVE = (-1, 0)
    ABOVE = (1,)
    NOT_BELOW = (0, 1)
    ELSEWHERE = (-1, 1)


def compare(bound: Decimal, order: Order, *, digits: int) -> Table:
    """The numbers that lie so from the bound; raises `TooLarge` if the bound has more digits."""
    if not bound.is_finite() or max(size_of(bound)) > digits:
        raise TooLarge
    whole, _, fraction = format(bound.copy_abs(), "f").partition(".")
    own = _Bound((bound > 0) - (bound < 0), whole, fraction.rstrip("0"))

    def row(place: _Compared) -> Iterable[_Compared | None]:
        return (own.after(place, character) for character in SPELLED)

    def accepts(place: _Compared) -> bool:
        return own.difference(place) in order.value

    start = _Compared(negative=False, fraction=False, read=0, sign=0)
    return explore(start, row, accepts, CLASSES, limit=16 * digits)


class _Compared(NamedTuple):
    """How a number that is being read compares with the bound, signs aside."""

    negative: bool
    fraction: bool
    read: int
    """Digits read of this part; one more than the bound has stands for all that are too many."""
    sign: int
    """Of the difference at the first digit that is not the bound's; 0 if there is none yet."""


@dataclass(frozen=True, slots=True)
class _Bound:
    sign: int
    whole: str
    fraction: str
    """Digits before and behind the point, without zeros that say nothing."""

    def after(self, place: _Compared, character: str) -> _Compared | None:
        if character == "?":
            return None
        if character == "-":
            return place._replace(negative=True)
        if character == ".":
            return _Compared(place.negative, fraction=True, read=0, sign=self._whole_sign(place))
        digits, sign = (self.fraction if place.fraction else self.whole), place.sign
        if sign == 0 and place.read < len(digits):
            sign = (character > digits[place.read]) - (character < digits[place.read])
        elif sign == 0 and place.fraction:
            sign = int(character != "0")
        most = len(digits) if place.fraction else len(digits) + 1
        return place._replace(read=min(place.read + 1, most), sign=sign)

    def _whole_sign(self, place: _Compared) -> int:
        """The difference of what stands before the point; more digits make a larger number."""
        if place.read == len(self.whole):
            return place.sign
        return 1 if place.read > len(self.whole) else -1

    def difference(self, place: _Compared) -> int:
        """The sign of the difference, if the number ends here."""
        sign, read = (place.sign, place.read) if place.fraction else (self._whole_sign(place), 0)
        if sign == 0 and read < len(self.fraction):
            sign = -1
        if self.sign == 0:
            return -sign if place.negative else sign
        if place.negative:
            return -sign if self.sign < 0 else -1
        return 1 if self.sign < 0 else sign
