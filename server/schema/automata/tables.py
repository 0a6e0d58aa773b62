r"""The table of each single limit, made once.

LimitTables(AutomatonLimits()).table(ShorterOrEqual(40))
LimitTables(AutomatonLimits()).table(Matches(r"(a)\1"))     # NotHeld("the mask does not hold …")
"""

from collections.abc import Hashable
from dataclasses import dataclass

from server.schema.automata import texts
from server.schema.automata.comparison import Order, compare
from server.schema.automata.division import multiples
from server.schema.automata.limits import AutomatonLimits, TooLarge
from server.schema.automata.notation import Notation, fractional, notation
from server.schema.automata.pattern import UnsupportedPattern, parse, widen
from server.schema.automata.properties import UnicodeProperties
from server.schema.automata.rules import (
    AtLeast,
    AtMost,
    HasFormat,
    IsNoneOf,
    IsOneOf,
    Limit,
    LongerOrEqual,
    Matches,
    MatchesNot,
    MultipleOf,
    Not,
    NotWhole,
    ShorterOrEqual,
    Whole,
)
from server.schema.automata.search import found
from server.schema.automata.table import Table, complement, meet
from server.schema.formats import FORMATS
from server.schema.recent import Recent

NO_LIMIT = texts.at_least(0)
"""Every text."""


@dataclass(frozen=True, slots=True)
class NotHeld:
    """There is no table of a limit."""

    why: str


class LimitTables:
    """Remembers the last `size` tables. Safe for threads."""

    def __init__(self, limits: AutomatonLimits, *, size: int = 1_024) -> None:
        self._limits = limits
        self._properties = UnicodeProperties()
        self._tables = Recent[Hashable, Table | NotHeld](size=size)
        self._notations = Recent[Notation, Table](size=size)

    def notation(self, form: Notation) -> Table:
        """The numbers in a notation, to be met with those within the limits."""
        return self._notations.get(form, lambda: notation(form, limit=self._limits.reached))

    def table(self, limit: Limit) -> Table | NotHeld:
        """The texts within a limit. Limits of numbers take their notation for granted."""
        return self._tables.get(limit, lambda: self._try(limit, counted=None))

    def widened(self, pattern: str, *, counted: int) -> Table | NotHeld:
        """The texts in which a pattern is found if its repeats count up to `counted` only."""
        return self._tables.get((pattern, counted), lambda: self._try(Matches(pattern), counted=counted))

    def _try(self, limit: Limit, *, counted: int | None) -> Table | NotHeld:
        try:
            if isinstance(limit, Matches):
                return self._found(limit.pattern, counted)
            return self._text(limit) or self._number(limit) or NO_LIMIT
        except TooLarge:
            return NotHeld("the mask would be too large with it")
        except UnsupportedPattern as error:
            return NotHeld(str(error))

    def _text(self, limit: Limit) -> Table | None:
        match limit:
            case LongerOrEqual(length):
                return texts.at_least(length)
            case ShorterOrEqual(length):
                return texts.at_most(length)
            case MatchesNot(pattern):
                return complement(self._found(pattern, None))
            case HasFormat(name) if name in FORMATS:
                return self._found(FORMATS[name].pattern, None)
            case IsOneOf(words):
                return texts.words(words, limit=self._limits.words)
            case IsNoneOf(words):
                return complement(texts.words(words, limit=self._limits.words))
        return None

    def _number(self, limit: Limit) -> Table | None:
        digits, reached = self._limits.bound_digits, self._limits.reached
        match limit:
            case AtLeast(bound, exclusive):
                return compare(bound, Order.ABOVE if exclusive else Order.NOT_BELOW, digits=digits)
            case AtMost(bound, exclusive):
                return compare(bound, Order.BELOW if exclusive else Order.NOT_ABOVE, digits=digits)
            case Not(numbers):
                tables = [compare(number, Order.ELSEWHERE, digits=digits) for number in numbers]
                return meet(tables, limit=reached) if tables else None
            case MultipleOf(divisor):
                return multiples(divisor, limit=reached)
            case Whole():
                return complement(fractional(limit=reached))
            case NotWhole():
                return fractional(limit=reached)
        return None

    def _found(self, pattern: str, counted: int | None) -> Table:
        if len(pattern) > self._limits.pattern_length:
            raise TooLarge
        part = parse(pattern, self._properties)
        if counted is not None:
            part = widen(part, counted=counted)
        return found(part, size=self._limits.pattern_length, limit=self._limits.reached)
