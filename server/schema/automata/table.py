"""Automata while they are worked on: one row for each state, one column for each class of characters.

digits = explore(0, lambda state: (0, None), lambda state: True, classes_of([DIGIT]), limit=10)
meet([digits, minimise(other)], limit=1_000)
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from server.schema.automata.automaton import Automaton, Charset, State
from server.schema.automata.charsets import Classes, classes_of, members, refine, union
from server.schema.automata.limits import TooLarge

NOWHERE = -1
"""In a row: no text of the language goes on like this."""
MAX_STEPS = 600_000
"""Steps in which automata are met; a processor takes a tenth of a second."""
LEAST_MET = 200
"""Combinations of states that are tried however many steps each takes."""

Place = TypeVar("Place", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Table:
    """State 0 is the start. Without states, the language is empty."""

    classes: Classes
    rows: tuple[tuple[int, ...], ...]
    """For each state and each class, the next state or `NOWHERE`."""
    accepting: tuple[bool, ...]

    @property
    def is_empty(self) -> bool:
        return not self.rows

    @property
    def is_all(self) -> bool:
        """Whether every text is of the language; of a minimal table."""
        return self.accepting == (True,) and NOWHERE not in self.rows[0]


def explore(
    start: Place,
    row: Callable[[Place], Iterable[Place | None]],
    accepts: Callable[[Place], bool],
    classes: Classes,
    *,
    limit: int,
) -> Table:
    """Make a table of the places that are reached from the start, and `minimise` it.

    `row` gives, for each class, the next place, or None for nowhere. Raises `TooLarge` if more than `limit`
    places are reached.
    """
    numbers: dict[Place, int] = {start: 0}
    places, rows = [start], []
    for place in places:
        numbered = []
        for following in row(place):
            if following is None:
                numbered.append(NOWHERE)
                continue
            number = numbers.setdefault(following, len(places))
            if number == len(places):
                if number >= limit:
                    raise TooLarge
                places.append(following)
            numbered.append(number)
        rows.append(tuple(numbered))
    return minimise(Table(classes, tuple(rows), tuple(map(accepts, places))))


def meet(tables: Sequence[Table], *, limit: int) -> Table:
    """The texts of all the tables; raises `TooLarge` if more than `limit` combinations of states are met.

    Of many tables, or of many classes of characters, fewer are tried: each costs a step for each of them.
    """
    tables = [table for table in tables if not table.is_all] or tables[:1]
    if len(tables) == 1:
        return tables[0]
    classes, places = refine([table.classes for table in tables])
    if any(table.is_empty for table in tables):
        return Table(classes, (), ())
    columns = list(zip(*places, strict=True))
    limit = min(limit, max(MAX_STEPS // (len(tables) * len(classes)), LEAST_MET))
    rows = [
        [[row[place] for place in column] for row in table.rows]
        for table, column in zip(tables, columns, strict=True)
    ]

    def following(states: tuple[int, ...]) -> Iterable[tuple[int, ...] | None]:
        sides = [side[state] for side, state in zip(rows, states, strict=True)]
        return (None if NOWHERE in states else states for states in zip(*sides, strict=True))

    def accepts(states: tuple[int, ...]) -> bool:
        return all(table.accepting[state] for table, state in zip(tables, states, strict=True))

    return explore((0,) * len(tables), following, accepts, classes, limit=limit)


def complement(table: Table) -> Table:
    """All texts that are not of the table's language."""
    sink = len(table.rows)
    rows = [tuple(sink if state == NOWHERE else state for state in row) for row in table.rows]
    rows.append((sink,) * len(table.classes))
    return minimise(Table(table.classes, tuple(rows), (*(not accepts for accepts in table.accepting), True)))


def minimise(table: Table) -> Table:
    """The same language with the fewest states and classes."""
    kept = _finishing(table)
    if 0 not in kept:
        return Table(table.classes, (), ())
    block = _blocks(table, kept)
    first: dict[int, int] = {}
    for state in sorted(kept):
        first.setdefault(block[state], state)
    numbers = {name: number for number, name in enumerate(first)}
    rows = [
        tuple(numbers[block[state]] if state in kept else NOWHERE for state in table.rows[representative])
        for representative in first.values()
    ]
    columns: dict[tuple[int, ...], list[Charset]] = {}
    for charset, column in zip(table.classes, zip(*rows, strict=True), strict=True):
        columns.setdefault(column, []).append(charset)
    return Table(
        tuple(union(*charsets) for charsets in columns.values()),
        tuple(zip(*columns, strict=True)),
        tuple(table.accepting[representative] for representative in first.values()),
    )


def _finishing(table: Table) -> set[int]:
    """The states from which the text can still end well."""
    sources: dict[int, set[int]] = {}
    for state, row in enumerate(table.rows):
        for following in set(row):
            sources.setdefault(following, set()).add(state)
    kept = {state for state, accepts in enumerate(table.accepting) if accepts}
    pending = list(kept)
    while pending:
        found = sources.get(pending.pop(), set()) - kept
        kept |= found
        pending += found
    return kept


def _blocks(table: Table, kept: set[int]) -> list[int]:
    """For each kept state, the name of its block: states of a block accept the same texts (Hopcroft)."""
    accepting = {state for state in kept if table.accepting[state]}
    blocks = [states for states in (accepting, kept - accepting) if states]
    block = [0] * len(table.rows)
    for name, states in enumerate(blocks):
        for state in states:
            block[state] = name
    sources = _sources(table, kept)
    pending = set(range(len(blocks)))
    while pending:
        splitter = list(blocks[pending.pop()])
        for column in sources:
            into: dict[int, set[int]] = {}
            for target in splitter:
                for state in column.get(target, ()):
                    into.setdefault(block[state], set()).add(state)
            for name, found in into.items():
                if len(found) == len(blocks[name]):
                    continue
                rest = blocks[name] - found
                small, blocks[name] = sorted((found, rest), key=len)
                for state in small:
                    block[state] = len(blocks)
                # If the whole block is still to be looked at, so are both parts; else one of them tells all.
                pending.add(len(blocks))
                blocks.append(small)
    return block


def _sources(table: Table, kept: set[int]) -> list[dict[int, list[int]]]:
    """For each class and each kept state, the kept states that lead to it."""
    sources: list[dict[int, list[int]]] = [{} for _ in table.classes]
    for state in kept:
        for column, target in zip(sources, table.rows[state], strict=True):
            if target in kept:
                column.setdefault(target, []).append(state)
    return sources


def automaton(table: Table) -> Automaton | None:
    """The minimal table as an automaton, numbered in the order of first visit; None if it is empty."""
    if table.is_empty:
        return None
    merged: dict[tuple[int, ...], Charset] = {}
    numbers, visited = {0: 0}, [0]
    states = []
    for state in visited:
        moves = []
        for target, columns in _targets(table.rows[state]).items():
            charset = merged.get(columns)
            if charset is None:
                charset = merged[columns] = union(*(table.classes[column] for column in columns))
            moves.append((charset, target))
        moves.sort()
        for _, target in moves:
            if target not in numbers:
                numbers[target] = len(visited)
                visited.append(target)
        numbered = tuple((charset, numbers[target]) for charset, target in moves)
        states.append(State(table.accepting[state], numbered))
    return Automaton(tuple(states))


def _targets(row: Sequence[int]) -> dict[int, tuple[int, ...]]:
    targets: dict[int, list[int]] = {}
    for column, target in enumerate(row):
        if target != NOWHERE:
            targets.setdefault(target, []).append(column)
    return {target: tuple(columns) for target, columns in targets.items()}


def table_of(source: Automaton) -> Table:
    """An automaton as a table."""
    classes = classes_of(charset for state in source.states for charset, _ in state.moves)
    rows = []
    for state in source.states:
        row = [NOWHERE] * len(classes)
        for charset, target in state.moves:
            for place in members(charset, classes):
                row[place] = target
        rows.append(tuple(row))
    return Table(classes, tuple(rows), tuple(state.accepts for state in source.states))
