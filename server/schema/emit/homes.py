"""Free text up to a mark: the states of its automaton as one that all others lead back to.

While text is looked through for `</p>`, nothing is seen yet, or `<`, or `</`, or `</p`. Each of these states
leads to others in circles, and XGrammar's compiler remembers no rules that lead in a circle. So there is one
rule, of the state in which nothing is seen: a way from it goes on until nothing is seen again.

    text ::= [^<] text | [<] [<]* [^</] text | [<] [<]* [/] [^p<] text | … | "</p>"

What begins to look like the mark and then begins anew, as `</<` does, is left out: no more is lost by it.
"""

from collections.abc import Iterator, Mapping

from server.schema.automata.automaton import Automaton, Charset
from server.schema.emit.paths import Path, Step

Ways = Mapping[int, tuple[Path, ...]]


def around_home(language: Automaton, free: Automaton, ways: Ways) -> Ways:
    """The ways of a language with one rule for its free text, if it comes to that."""
    home = _home(language, free)
    if home is None or home not in ways:
        return ways
    inside = _reached(language, home)
    found = {home: tuple(_ways_on(language, home, home, deep=True))}
    pending = [0]
    while pending:
        state = pending.pop()
        if state in found:
            continue
        found[state] = tuple(
            path for way in ways[state] for path in _ways_home(language, way, home, inside, deep=state == 0)
        )
        pending += [path.target for path in found[state] if path.target is not None]
    return found


def _home(language: Automaton, free: Automaton) -> int | None:
    """The state from which a text goes on as the free ones begin."""
    return next((state for state in range(len(language.states)) if _is_same(language, state, free)), None)


def _is_same(language: Automaton, state: int, free: Automaton) -> bool:
    """Whether the texts from the state on are those of `free`. Both automata are minimal."""
    known, pending = {state: 0}, [state]
    while pending:
        here = pending.pop()
        one, other = language.states[here], free.states[known[here]]
        if one.accepts != other.accepts or len(one.moves) != len(other.moves):
            return False
        for (charset, target), (same, counterpart) in zip(one.moves, other.moves, strict=True):
            if charset != same or known.get(target, counterpart) != counterpart:
                return False
            if target not in known:
                known[target] = counterpart
                pending.append(target)
    return True


def _reached(language: Automaton, state: int) -> frozenset[int]:
    reached, pending = {state}, [state]
    while pending:
        new = {target for _, target in language.states[pending.pop()].moves} - reached
        reached |= new
        pending += new
    return frozenset(reached)


def _ways_home(
    language: Automaton, way: Path, home: int, inside: frozenset[int], *, deep: bool
) -> Iterator[Path]:
    """A way as ways that lead to states which have rules."""
    if way.target is None or way.target == home or way.target not in inside:
        yield way
    else:
        yield from _ways_on(language, way.target, home, way.steps, deep=deep)


def _ways_on(
    language: Automaton, state: int, home: int, steps: tuple[Step, ...] = (), *, deep: bool
) -> Iterator[Path]:
    """The ways from a state, behind some steps, until nothing of a mark is seen again or the text ends."""
    pending = [(state, steps, frozenset({state}))]
    while pending:
        at, written, passed = pending.pop()
        more = _repeated(language, at, written)
        if language.states[at].accepts and written:
            yield Path(written, None, more)
        for charset, target in language.states[at].moves:
            further = (*written, Step(charset, more))
            if target == home:
                yield Path(further, home)
            elif target not in passed and deep:
                pending.append((target, further, passed | {target}))


def _repeated(language: Automaton, state: int, written: tuple[Step, ...]) -> Charset | None:
    """The characters of the last step, if any number of them may follow."""
    if written and (written[-1].charset, state) in language.states[state].moves:
        return written[-1].charset
    return None
