"""Rules in, languages out: the automaton of a string, a key or a number.

languages = Languages()
languages.text([Rule("#", "maxLength", ShorterOrEqual(40)), Rule("#", "pattern", Matches("^[a-z]"))], ledger)
languages.number([Rule("#", "minimum", AtLeast(Decimal(1)))], ledger, integer=True)
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from server.schema.automata.automaton import ANY_TEXT, Automaton
from server.schema.automata.fitting import Fitted, fit_number, fit_text
from server.schema.automata.limits import AutomatonLimits, TooLarge
from server.schema.automata.rules import Limit, Rule, Whole
from server.schema.automata.table import automaton, meet, table_of
from server.schema.automata.tables import LimitTables
from server.schema.nodes import Number
from server.schema.recent import Recent
from server.schema.unmasked import Ledger


class Languages:
    """Makes languages, and remembers the last `size` of them. Safe for threads.

    A language allows what its rules allow, and no more unless the ledger has a note on one of the rules.
    """

    def __init__(self, limits: AutomatonLimits | None = None, *, size: int = 1_024) -> None:
        self._limits = limits or AutomatonLimits()
        self._tables = LimitTables(self._limits, size=size)
        self._fitted = Recent[Hashable, Fitted](size=size)
        self._meetings = Recent[tuple[Automaton, Automaton], Automaton | TooLarge | None](size=size)

    def text(self, rules: Iterable[Rule], ledger: Ledger) -> Automaton | None:
        """The texts that keep the rules: `ANY_TEXT` if all do, None if none does."""
        rules = tuple(rules)
        if not rules:
            return ANY_TEXT
        limits = _limits_of(rules)
        fitted = self._fitted.get(("text", limits), lambda: fit_text(limits, self._tables, self._limits))
        _note(rules, fitted.notes, ledger)
        return fitted.language

    def number(self, rules: Iterable[Rule], ledger: Ledger, *, integer: bool) -> Number | None:
        """The numbers that keep the rules, written without an exponent; None if none does.

        An integer has no fraction, not even `.0`. Where no rule is left, `text` is None.
        """
        rules = tuple(rules)
        limits = _limits_of(rules)
        integer = integer or Whole() in limits
        limits = tuple(limit for limit in limits if limit != Whole())
        fitted = self._fitted.get(
            (integer, limits), lambda: fit_number(limits, self._tables, self._limits, integer=integer)
        )
        _note(rules, fitted.notes, ledger)
        if fitted.language is None:
            return None
        return Number(integer=integer, text=None if fitted.language == ANY_TEXT else fitted.language)

    def meet(self, a: Automaton, b: Automaton) -> Automaton | None:
        """The texts of both, None if there is none. Raises `TooLarge`."""
        met = self._meetings.get((a, b), lambda: self._meet(a, b))
        if isinstance(met, TooLarge):
            raise TooLarge
        return met

    def _meet(self, a: Automaton, b: Automaton) -> Automaton | TooLarge | None:
        try:
            table = meet([table_of(a), table_of(b)], limit=self._limits.reached)
        except TooLarge as error:
            return error
        return automaton(table) if len(table.rows) <= self._limits.words else TooLarge()

    def disjoint(self, a: Automaton, b: Automaton) -> bool:
        """Whether no text is of both; False also where that would take too long to tell."""
        try:
            return self.meet(a, b) is None
        except TooLarge:
            return False


def _limits_of(rules: Sequence[Rule]) -> tuple[Limit, ...]:
    """The limits, each once, in an order of their own: the order of a schema's keywords says nothing."""
    return tuple(
        sorted({rule.limit for rule in rules}, key=lambda limit: (type(limit).__name__, repr(limit)))
    )


def _note(rules: Sequence[Rule], notes: Mapping[Limit, str], ledger: Ledger) -> None:
    for rule in rules:
        if rule.limit in notes:
            ledger.note(rule.pointer, rule.keyword, notes[rule.limit])
