"""Tables: what is done to them keeps their language."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.schema.automata.charsets import classes_of, single
from server.schema.automata.limits import TooLarge
from server.schema.automata.table import (
    NOWHERE,
    Table,
    automaton,
    complement,
    explore,
    meet,
    minimise,
    table_of,
)
from server.schema.automata.texts import at_least, at_most

CLASSES = classes_of([single("a"), single("b")])
COLUMNS = {charset[0][0]: place for place, charset in enumerate(CLASSES)}
TEXTS = ["".join(letters) for length in range(6) for letters in product("abc", repeat=length)]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    size = draw(st.integers(1, 6))
    targets = st.sampled_from([NOWHERE, *range(size)])
    rows = draw(st.lists(st.tuples(*[targets] * len(CLASSES)), min_size=size, max_size=size))
    return Table(CLASSES, tuple(rows), tuple(draw(st.lists(st.booleans(), min_size=size, max_size=size))))


def accepted(table: Table) -> set[str]:
    """The texts of up to five of the letters a, b and c that the table accepts."""
    return {text for text in TEXTS if accepts(table, text)}


def accepts(table: Table, text: str) -> bool:
    state = NOWHERE if table.is_empty else 0
    for character in text:
        if state == NOWHERE:
            return False
        column = next(place for place, charset in enumerate(table.classes) if contains(charset, character))
        state = table.rows[state][column]
    return state != NOWHERE and table.accepting[state]


def contains(charset: tuple[tuple[int, int], ...], character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in charset)


@settings(deadline=None)
@given(tables())
def test_the_minimal_table_has_the_same_language(table: Table) -> None:
    """States and classes are fewer, and no text is lost or won."""
    smaller = minimise(table)

    assert accepted(smaller) == accepted(table)
    assert len(smaller.rows) <= len(table.rows)
    assert minimise(smaller) == smaller


@settings(deadline=None)
@given(tables())
def test_no_two_states_of_a_minimal_table_do_the_same(table: Table) -> None:
    """Begun at each of its states, it accepts other texts."""
    smaller = minimise(table)
    started = [
        frozenset(accepted(Table(smaller.classes, swapped(smaller, state), swapped_ends(smaller, state))))
        for state in range(len(smaller.rows))
    ]

    assert len(set(started)) == len(smaller.rows)


def swapped(table: Table, start: int) -> tuple[tuple[int, ...], ...]:
    """The rows with another start."""
    names = {0: start, start: 0}
    rows = [tuple(names.get(target, target) for target in row) for row in table.rows]
    rows[0], rows[start] = rows[start], rows[0]
    return tuple(rows)


def swapped_ends(table: Table, start: int) -> tuple[bool, ...]:
    ends = list(table.accepting)
    ends[0], ends[start] = ends[start], ends[0]
    return tuple(ends)


@settings(deadline=None)
@given(tables())
def test_the_complement_has_all_other_texts(table: Table) -> None:
    """And the complement of the complement is the language itself."""
    assert accepted(complement(table)) == set(TEXTS) - accepted(table)
    assert automaton(complement(complement(table))) == automaton(minimise(table))


@settings(deadline=None)
@given(st.lists(tables(), min_size=1, max_size=3))
def test_a_meeting_has_the_texts_of_all(chosen: list[Table]) -> None:
    """Whatever the order in which they meet, the automaton is the same."""
    met = meet([minimise(table) for table in chosen], limit=1_000)

    assert accepted(met) == set.intersection(*map(accepted, chosen))
    assert automaton(met) == automaton(meet([minimise(table) for table in reversed(chosen)], limit=1_000))


@settings(deadline=None)
@given(tables())
def test_an_automaton_and_its_table_are_one(table: Table) -> None:
    """A language that is not empty goes back and forth unchanged."""
    smaller = minimise(table)
    made = automaton(smaller)

    assert (made is None) == (accepted(table) == set())
    if made is not None:
        assert automaton(table_of(made)) == made
        assert {text for text in TEXTS if made.accepts(text)} == accepted(table)


def test_states_are_numbered_as_they_are_first_visited() -> None:
    """The characters of a state's moves are in order, and so are the states they lead to."""
    columns = [0] * len(CLASSES)
    columns[COLUMNS[ord("a")]], columns[COLUMNS[ord("b")]] = 2, 1
    table = Table(CLASSES, (tuple(columns), (1, 1, NOWHERE), (NOWHERE, 2, 2)), (False, True, True))

    made = automaton(minimise(table))

    assert made is not None
    assert [target for _, target in made.states[0].moves] == [0, 1, 2]


def test_many_tables_are_met_in_fewer_combinations() -> None:
    """Each combination takes a step for each of them, and what takes too many is given up."""
    counters = [at_most(length) for length in range(30, 70)]

    assert meet(counters, limit=6_000) == counters[0]
    with pytest.raises(TooLarge):
        meet([at_least(300)] * 3_000, limit=6_000)


def test_exploring_ends_at_its_limit() -> None:
    """An automaton without end costs no more than its limit allows."""
    with pytest.raises(TooLarge):
        explore(0, lambda place: [place + 1], lambda _: True, classes_of([]), limit=100)
