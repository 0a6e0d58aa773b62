"""As many limits as one automaton can hold within its size.

All together if that fits. Else one after the other, the cheap ones first; a limit with which the automaton
would be too large is held more widely or left out, and noted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from server.schema.automata.automaton import ANY_TEXT, Automaton
from server.schema.automata.charsets import size_of as characters_of
from server.schema.automata.limits import AutomatonLimits, TooLarge
from server.schema.automata.notation import Notation, size_of
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
)
from server.schema.automata.table import NOWHERE, Table, automaton, meet
from server.schema.automata.tables import NO_LIMIT, LimitTables, NotHeld
from server.schema.automata.texts import counting
from server.schema.formats import CHECKED, FORMATS

_COUNTED = (16, 1)
"""Repeats that a pattern may still count when it has to be widened, tried in this order."""
_WIDE = 1_000
MAX_TOGETHER = 8
"""Limits that are met all at once; more are met one after the other, which takes fewer steps."""
_ORDER: tuple[type[Limit], ...] = (
    *(IsOneOf, IsNoneOf, HasFormat, Matches, MatchesNot, LongerOrEqual, ShorterOrEqual),
    *(AtLeast, AtMost, NotWhole, Not, MultipleOf),
)
"""Which limits are held first where not all can be."""


@dataclass(frozen=True, slots=True)
class Fitted:
    language: Automaton | None
    """None: no text is allowed."""
    notes: Mapping[Limit, str]
    """The limits beyond which the language goes, and why."""


@dataclass(frozen=True, slots=True)
class _Held:
    """One way to hold a limit; `why` if the table allows more than the limit does."""

    limit: Limit
    table: Table
    why: str | None = None


@dataclass(frozen=True, slots=True)
class _Fit:
    """A table that holds limits, each in one way."""

    table: Table
    held: tuple[_Held, ...]


@dataclass(frozen=True, slots=True)
class _Room:
    """How large a table may be."""

    states: int
    wide: int | None
    """How many of the states may be left by more than `_WIDE` characters: they cost the most."""
    reached: int

    def fits(self, table: Table) -> bool:
        if len(table.rows) > self.states:
            return False
        return self.wide is None or sum(_is_wide(table)) <= self.wide


def _is_wide(table: Table) -> Iterator[bool]:
    sizes = [characters_of(charset) for charset in table.classes]
    for row in table.rows:
        leaving = sum(size for size, target in zip(sizes, row, strict=True) if target != NOWHERE)
        yield leaving > _WIDE


def fit_text(limits: Iterable[Limit], tables: LimitTables, sizes: AutomatonLimits) -> Fitted:
    ordered = _ordered(limits)
    if all(
        isinstance(limit, LongerOrEqual | ShorterOrEqual) and limit.length <= sizes.length
        for limit in ordered
    ):
        return Fitted(_counting(ordered), {})

    def ways() -> Iterator[Iterator[_Held]]:
        return (_ways_of_text(limit, tables, sizes) for limit in ordered)

    room = _room_for_text(ordered, sizes)
    return _fitted(_together(NO_LIMIT, ways(), room) or _in_turn(NO_LIMIT, ways(), room))


def fit_number(
    limits: Iterable[Limit], tables: LimitTables, sizes: AutomatonLimits, *, integer: bool
) -> Fitted:
    """The language is `ANY_TEXT` if any number will do."""
    ordered = _ordered(limits)

    def ways() -> Iterator[Iterator[_Held]]:
        return (_ways(limit, tables.table(limit)) for limit in ordered)

    exact = [limit for limit in ordered if isinstance(tables.table(limit), Table)]
    room = _Room(sizes.numbers, None, sizes.reached)
    forms = [_notation(exact, digits, sizes, integer=integer) for digits in sizes.whole_digits]
    for form in forms:
        fit = _together(tables.notation(form), ways(), room)
        if fit is not None:
            break
    else:
        form = forms[0]
        fit = _in_turn(tables.notation(form), ways(), room)
    fitted = _fitted(fit)
    says_nothing = fitted.language == automaton(tables.notation(form))
    return Fitted(ANY_TEXT, fitted.notes) if says_nothing else fitted


def _counting(limits: Iterable[Limit]) -> Automaton | None:
    """The texts within limits of lengths."""
    least = max((limit.length for limit in limits if isinstance(limit, LongerOrEqual)), default=0)
    most = min((limit.length for limit in limits if isinstance(limit, ShorterOrEqual)), default=None)
    return counting(least, most)


def _ordered(limits: Iterable[Limit]) -> list[Limit]:
    return sorted(limits, key=lambda limit: _ORDER.index(type(limit)))


def _ways_of_text(limit: Limit, tables: LimitTables, sizes: AutomatonLimits) -> Iterator[_Held]:
    """The ways to hold a limit of texts, each wider than the last; the widest allows every text.

    A way is made when it is asked for: tables take time, and mostly the first will do.
    """
    match limit:
        case HasFormat(name) if name not in FORMATS:
            # A name that the check does not know either is no limit.
            why = f"the mask does not know the format {name}"
            yield _Held(limit, NO_LIMIT, why if name in CHECKED else None)
        case HasFormat(name) if not FORMATS[name].exact:
            for held in _ways(limit, tables.table(limit)):
                yield _Held(limit, held.table, held.why or f"the mask holds only the outline of {name}")
        case LongerOrEqual(length) | ShorterOrEqual(length) if length > sizes.length:
            why = f"the mask counts up to {sizes.length} characters"
            counted = tables.table(LongerOrEqual(sizes.length))
            if isinstance(limit, LongerOrEqual) and isinstance(counted, Table):
                yield _Held(limit, counted, why)
            yield _Held(limit, NO_LIMIT, why)
        case Matches(pattern):
            wider = (tables.widened(pattern, counted=counted) for counted in _COUNTED)
            yield from _ways(limit, tables.table(limit), wider)
        case _:
            yield from _ways(limit, tables.table(limit))


def _ways(limit: Limit, exact: Table | NotHeld, wider: Iterable[Table | NotHeld] = ()) -> Iterator[_Held]:
    if isinstance(exact, Table):
        yield _Held(limit, exact)
    for table in wider:
        if isinstance(table, Table):
            yield _Held(limit, table, "the mask does not count all repeats of the pattern")
    why = exact.why if isinstance(exact, NotHeld) else "the mask would be too large with it"
    yield _Held(limit, NO_LIMIT, why)


def _room_for_text(limits: Sequence[Limit], sizes: AutomatonLimits) -> _Room:
    if any(isinstance(limit, HasFormat) for limit in limits):
        return _Room(sizes.formats, sizes.wide, sizes.reached)
    if any(isinstance(limit, Matches | MatchesNot) for limit in limits):
        return _Room(sizes.patterns, sizes.wide, sizes.reached)
    return _Room(sizes.words, None, sizes.reached)


def _notation(
    limits: Sequence[Limit], whole_digits: int, sizes: AutomatonLimits, *, integer: bool
) -> Notation:
    """Digits enough for all bounds, and few enough for a double to keep on their side of each bound."""
    numbers: list[Decimal] = []
    is_rounded_safely = True
    for limit in limits:
        match limit:
            case AtLeast(bound, exclusive) | AtMost(bound, exclusive):
                numbers.append(bound)
                # Rounding may reach a bound, and does not pass it.
                is_rounded_safely &= not exclusive
            case MultipleOf(divisor):
                numbers.append(divisor)
                is_rounded_safely = False
            case Not(excluded):
                numbers += excluded
                is_rounded_safely = False
            case NotWhole():
                is_rounded_safely = False
    lengths = [size_of(number) for number in numbers]
    return Notation(
        integer=integer,
        whole_digits=max([whole_digits, *(whole for whole, _ in lengths)]),
        digits=sizes.digits if is_rounded_safely else sizes.safe_digits,
        fraction_digits=max([0, *(fraction for _, fraction in lengths)]) + 1,
    )


def _together(base: Table, ways: Iterable[Iterator[_Held]], room: _Room) -> _Fit | None:
    """All limits in the best way, if they fit and are not too many to be tried at once."""
    best = tuple(next(way) for way in islice(ways, MAX_TOGETHER + 1))
    if len(best) > MAX_TOGETHER:
        return None
    try:
        table = meet([base, *(held.table for held in best)], limit=room.reached)
    except TooLarge:
        return None
    return _Fit(table, best) if room.fits(table) else None


def _in_turn(base: Table, ways: Iterable[Iterator[_Held]], room: _Room) -> _Fit:
    """One limit after the other, each in the best way that fits with those before it."""
    fit = _Fit(base, ())
    for way in ways:
        for held in way:
            try:
                table = meet([fit.table, held.table], limit=room.reached)
            except TooLarge:
                continue
            if room.fits(table) or held.table is NO_LIMIT:
                fit = _Fit(table, (*fit.held, held))
                break
    return fit


def _fitted(fit: _Fit) -> Fitted:
    return Fitted(automaton(fit.table), {held.limit: held.why for held in fit.held if held.why is not None})
