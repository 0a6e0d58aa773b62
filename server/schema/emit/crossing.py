r"""How the phrases of a grammar cross an automaton: from which of its states to which.

Text without quotes cannot hold the mark that it ends with, and terminals may spell a mark together, as `"<"`
and `"/p>"` do. So each rule is looked at as it stands in each state of an automaton of what has been written
(Bar-Hillel's construction), of which `allowed` has those that lead to no mark.

crossing = Crossing(productions, allowed, languages)
crossing.ends("tag", 0)            # {0, 1}: 1, where a text of it ends with "<"
crossing.between("NAME", 0, 1)     # the terminal's texts that lead there, as an automaton
"""

from server.schema.automata.automaton import ANY_TEXT, Automaton
from server.schema.automata.charsets import common
from server.schema.automata.languages import Languages
from server.schema.automata.limits import TooLarge
from server.schema.automata.table import NOWHERE, Table, automaton, minimise, table_of
from server.schema.nodes import Productions

MOST_STEPS = 100_000
"""Steps in which ends are found; a processor takes a few tenths of a second."""

Rest = tuple[str, int, int]
"""What is left of a way: its rule, its number among the rule's ways, and the place from which on."""
_Item = tuple[Rest, int, int]
"""A rest, the state that its rule began in, and the state that it begins in."""
_Ends = dict[int, frozenset[int]]
"""For states, where they lead."""


class Crossing:
    """The ends of all rules, as they stand in a text from its start on. All states of `allowed` accept.

    Raises `TooLarge` if there are too many.
    """

    def __init__(self, grammar: Productions, allowed: Automaton, languages: Languages) -> None:
        self._grammar = grammar
        self._allowed = allowed
        self._languages = languages
        self._sides: dict[tuple[int, int | None], Automaton | None] = {}
        self._ends: dict[tuple[str, int], frozenset[int]] = {}
        self._rests: dict[tuple[str, int], list[_Ends]] = {}
        self._explore(grammar.start)

    def ends(self, symbol: str, state: int) -> frozenset[int]:
        """The states in which a text of the symbol may end that begins in this state, if any does."""
        return self._ends.get((symbol, state), frozenset())

    def ends_of(self, rest: Rest, state: int) -> frozenset[int]:
        """The same of what is left of a way."""
        rule, number, place = rest
        if (rule, number) not in self._rests:
            self._rests[rule, number] = self._of_rests(self._grammar.rules[rule][number])
        return self._rests[rule, number][place][state]

    def between(self, symbol: str, state: int, end: int | None) -> Automaton:
        """The texts of a terminal that lead from a state to one of its ends, or to any. Raises `TooLarge`."""
        text = self._grammar.texts[symbol]
        if self._allowed == ANY_TEXT or text.word is not None:
            return text
        if (state, end) not in self._sides:
            self._sides[state, end] = _side(self._allowed, state, end)
        side = self._sides[state, end]
        found = None if side is None else self._languages.meet(text, side)
        if found is None:
            raise ValueError("it is no end")
        return found

    def _explore(self, start: str) -> None:
        """Go through all ways at once; one that waits for a rule goes on from each end of it."""
        rules = self._grammar.rules
        pending: list[_Item] = []
        waiting: dict[tuple[str, int], list[_Item]] = {}
        seen: set[_Item] = set()

        def begin(rule: str, state: int) -> None:
            waiting[rule, state] = []
            self._ends[rule, state] = frozenset()
            pending.extend(((rule, number, 0), state, state) for number in range(len(rules[rule])))

        begin(start, 0)
        while pending:
            item = pending.pop()
            if item in seen:
                continue
            seen.add(item)
            if len(seen) > MOST_STEPS:
                raise TooLarge
            (rule, number, place), began, state = item
            way = rules[rule][number]
            if place == len(way):
                if state not in self._ends[rule, began]:
                    self._ends[rule, began] |= {state}
                    pending += [(_further(rest), first, state) for rest, first, _ in waiting[rule, began]]
                continue
            symbol = way[place]
            if symbol in rules:
                if (symbol, state) not in waiting:
                    begin(symbol, state)
                waiting[symbol, state].append(item)
            elif (symbol, state) not in self._ends:
                self._ends[symbol, state] = self._walk(self._grammar.texts[symbol], state)
            pending += [(_further(item[0]), began, end) for end in self.ends(symbol, state)]

    def _of_rests(self, way: tuple[str, ...]) -> list[_Ends]:
        states = range(len(self._allowed.states))
        found: list[_Ends] = [{state: frozenset({state}) for state in states}]
        for symbol in reversed(way):
            behind = found[-1]
            found.append(
                {
                    state: frozenset(end for each in self.ends(symbol, state) for end in behind[each])
                    for state in states
                }
            )
        return found[::-1]

    def _walk(self, text: Automaton, state: int) -> frozenset[int]:
        if self._allowed == ANY_TEXT:
            return frozenset({state})
        seen = {(0, state)}
        pending = list(seen)
        while pending:
            here, there = pending.pop()
            for charset, target in text.states[here].moves:
                for other, end in self._allowed.states[there].moves:
                    if (target, end) not in seen and common(charset, other):
                        seen.add((target, end))
                        pending.append((target, end))
        return frozenset(end for here, end in seen if text.states[here].accepts)


def _further(rest: Rest) -> Rest:
    rule, number, place = rest
    return rule, number, place + 1


def _side(allowed: Automaton, state: int, end: int | None) -> Automaton | None:
    """All texts that lead from one state to another."""
    table = table_of(allowed)
    order = [state, *(each for each in range(len(table.rows)) if each != state)]
    numbers = {each: number for number, each in enumerate(order)} | {NOWHERE: NOWHERE}
    rows = tuple(tuple(numbers[target] for target in table.rows[each]) for each in order)
    accepting = tuple(end is None or each == end for each in order)
    return automaton(minimise(Table(table.classes, rows, accepting)))
