"""The table of the texts in which a pattern is found.

found(parse("^a|b$", properties), size=2_000, limit=400)     # "ax", "xb", and not "xa"

A machine with many states at once (Thompson) first, then the sets of states that a text can lead to.
"""

from collections.abc import Iterable, Iterator

from server.schema.automata.automaton import ANY_CHARACTER, Charset
from server.schema.automata.charsets import classes_of, members
from server.schema.automata.limits import TooLarge
from server.schema.automata.pattern import Characters, Choice, Edge, Part, Repeat, Sequence
from server.schema.automata.table import Table, explore


def found(part: Part, *, size: int, limit: int) -> Table:
    """Raises `TooLarge`: for a pattern of more than `size` characters, repeats written out, or states."""
    machine = _Machine(size)
    start, end = machine.state(), machine.state()
    machine.moves[start] = (ANY_CHARACTER, start)
    body = machine.state()
    machine.free[start].append(body)
    machine.free[machine.add(part, body)].append(end)
    return _determined(machine, start, end, limit)


class _Machine:
    """States with at most one move each, and steps between them that read nothing."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.moves: list[tuple[Charset, int] | None] = []
        self.free: list[list[int]] = []
        self.edges: dict[Edge, dict[int, list[int]]] = {edge: {} for edge in Edge}
        """Steps that are free at the start, or at the end, of the text."""

    def state(self) -> int:
        if len(self.moves) > 3 * self._size:
            raise TooLarge
        self.moves.append(None)
        self.free.append([])
        return len(self.moves) - 1

    def add(self, part: Part, source: int) -> int:
        """Add the part behind the source, which has no move yet, and return the state behind it."""
        match part:
            case Characters(charset):
                target = self.state()
                self.moves[source] = (charset, target)
                return target
            case Sequence(parts):
                for inner in parts:
                    source = self.add(inner, source)
                return source
            case Choice(branches):
                return self._choice(branches, source)
            case Repeat(inner, least, most):
                return self._repeat(inner, least, most, source)
            case Edge():
                target = self.state()
                self.edges[part].setdefault(source, []).append(target)
                return target

    def _choice(self, branches: Iterable[Part], source: int) -> int:
        end = self.state()
        for branch in branches:
            self.free[self.add(branch, self._fork(source))].append(end)
        return end

    def _repeat(self, part: Part, least: int, most: int | None, source: int) -> int:
        for _ in range(least):
            source = self.add(part, self._fork(source))
        end = self.state()
        if most is None:
            loop = self._fork(source)
            self.free[loop].append(end)
            self.free[self.add(part, self._fork(loop))].append(loop)
            return end
        for _ in range(most - least):
            self.free[source].append(end)
            source = self.add(part, self._fork(source))
        self.free[source].append(end)
        return end

    def _fork(self, source: int) -> int:
        state = self.state()
        self.free[source].append(state)
        return state

    def reached(self, states: Iterable[int], *edges: Edge) -> set[int]:
        """The states that are reached without reading, by free steps and by those of the edges."""
        pending = list(states)
        seen = set(pending)
        while pending:
            state = pending.pop()
            steps = [*self.free[state]]
            for edge in edges:
                steps += self.edges[edge].get(state, ())
            pending += set(steps) - seen
            seen.update(steps)
        return seen


def _determined(machine: _Machine, start: int, end: int, limit: int) -> Table:
    """Sets of states are bits of an integer; those that only lead to others without reading are left out."""
    classes = classes_of(move[0] for move in machine.moves if move)
    kept = {state for state, move in enumerate(machine.moves) if move}
    kept |= machine.edges[Edge.END].keys() | {end}
    moves: dict[int, tuple[list[int], int]] = {}
    columns: dict[Charset, list[int]] = {}
    reached: dict[int, int] = {}
    for state, move in enumerate(machine.moves):
        if move:
            charset, target = move
            if charset not in columns:
                columns[charset] = members(charset, classes)
            if target not in reached:
                reached[target] = _bits(machine.reached([target]) & kept)
            moves[state] = (columns[charset], reached[target])
    done = 1 << end
    ends = _bits({state for state in kept if end in machine.reached([state], Edge.END)})
    begins = machine.reached([start], Edge.START)
    ends_empty = end in machine.reached([start], *Edge)

    def row(place: tuple[int, bool]) -> list[tuple[int, bool] | None]:
        states, _ = place
        if states & done:
            return [(done, False)] * len(classes)
        following = [0] * len(classes)
        for state in _ones(states):
            for column in moves[state][0] if state in moves else ():
                following[column] |= moves[state][1]
        return [(done if states & done else states, False) if states else None for states in following]

    def accepts(place: tuple[int, bool]) -> bool:
        states, is_start = place
        return ends_empty if is_start and not states & done else bool(states & (ends | done))

    return explore((_bits(begins & kept), True), row, accepts, classes, limit=limit)


def _bits(states: Iterable[int]) -> int:
    bits = 0
    for state in states:
        bits |= 1 << state
    return bits


def _ones(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
