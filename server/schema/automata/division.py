"""The tables of the multiples of a number.

multiples(Decimal("0.05"), limit=100)     # accepts "0.15", "-7" and "1.100"

They take decimal notation for granted: no exponent, no leading zeros.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from server.schema.automata.limits import TooLarge
from server.schema.automata.notation import CLASSES, SPELLED, reduced
from server.schema.automata.table import Table, explore

_MAX_DIGITS = 9


def multiples(divisor: Decimal, *, limit: int) -> Table:
    """The multiples; raises `TooLarge` if the divisor has many digits before its last zeros."""
    if not divisor.is_finite():
        raise TooLarge
    digits, exponent = reduced(divisor)
    own = _Divisor(int(digits[:_MAX_DIGITS] or 0), max(exponent, 0), max(-exponent, 0))
    if len(digits) > _MAX_DIGITS or not 0 < own.factor <= limit or max(own.zeros, own.places) > limit:
        raise TooLarge

    def row(place: _Divided) -> Iterable[_Divided | None]:
        return (own.after(place, character) for character in SPELLED)

    return explore(_Divided(None, 0, None), row, own.divides, CLASSES, limit=limit)


class _Divided(NamedTuple):
    """What is known of a number that is being read, its point left out."""

    rest: int | None
    """Of what stands before the zeros that come last, by the factor; None as long as all is 0."""
    zeros: int
    """How many zeros come last, as far as the divisor asks."""
    behind: int | None
    """Digits read behind the point; None before it."""


@dataclass(frozen=True, slots=True)
class _Divisor:
    """`factor * 10 ** (zeros - places)`, of which `zeros` or `places` is 0."""

    factor: int
    zeros: int
    places: int

    def after(self, place: _Divided, character: str) -> _Divided | None:
        if character == "?":
            return None
        if character == "-":
            return place
        if character == ".":
            return place._replace(behind=0)
        if place.behind == self.places:
            return place if character == "0" else None
        behind = None if place.behind is None else place.behind + 1
        return self._digit(place, int(character), behind)

    def _digit(self, place: _Divided, digit: int, behind: int | None) -> _Divided:
        if digit == 0:
            if place.rest is None:
                return place._replace(behind=behind)
            if place.zeros < self.zeros:
                return place._replace(zeros=place.zeros + 1, behind=behind)
            return place._replace(rest=place.rest * 10 % self.factor, behind=behind)
        rest = (place.rest or 0) * 10 ** (place.zeros + 1) + digit
        return _Divided(rest % self.factor, 0, behind)

    def divides(self, place: _Divided) -> bool:
        """Whether the number is a multiple, if it ends here."""
        if place.rest is None:
            return True
        missing = self.places - (place.behind or 0)
        return place.zeros == self.zeros and place.rest * 10**missing % self.factor == 0
