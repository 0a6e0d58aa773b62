"""The states of a language that need a rule, and the ways from one to the next.

paths(<automaton of ^(a[0-9]b*c)*$>, forms=lambda charset: 1)
# {0: (Path((Step("a"), Step("0-9"), Step("c", behind="b")), target=0),)}, charsets as characters

XGrammar's compiler remembers a rule that leads to itself, but none of those that lead in a circle. So a state
of a circle that does not end the text and has one way on is a step of the ways that lead to it.

`forms` tells in how many ways the characters of a set are written. A path is written in each way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from server.schema.automata.automaton import Automaton, Charset

Forms = Callable[[Charset], int]

_MOST_STEPS = 16
_MOST_WAYS = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One of the characters, behind any number of those that may come before it."""

    charset: Charset
    behind: Charset | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """`target`: the state that it leads to; None: the end of the text. Any number of `more` stand before."""

    steps: tuple[Step, ...]
    target: int | None
    more: Charset | None = None


def paths(language: Automaton, forms: Forms) -> Mapping[int, tuple[Path, ...]]:
    """For the start and each state that is still led to, the paths from it, in the order of its moves."""
    passed = _passed(language, forms)
    found: dict[int, tuple[Path, ...]] = {}
    pending = [0]
    while pending:
        state = pending.pop()
        if state not in found:
            moves = language.states[state].moves
            found[state] = tuple(_path(state, move, passed, forms) for move in moves)
            pending += [path.target for path in found[state] if path.target is not None]
    return found


def _path(
    state: int, move: tuple[Charset, int], passed: Mapping[int, tuple[Step, int]], forms: Forms
) -> Path:
    charset, target = move
    steps, ways = [Step(charset)], forms(charset)
    # The states that are passed lead in no circle by themselves: from each of them the end can be reached.
    while target != state and target in passed and len(steps) < _MOST_STEPS:
        step, following = passed[target]
        ways *= forms(step.charset)
        if ways > _MOST_WAYS:
            break
        steps.append(step)
        target = following
    return Path(tuple(steps), target)


def _passed(language: Automaton, forms: Forms) -> Mapping[int, tuple[Step, int]]:
    """The states that are mere steps: what is read there, and the state behind them."""
    if all(target >= state for state, at in enumerate(language.states) for _, target in at.moves):
        return {}
    circles = _circles(language)
    found = {}
    for state, at in enumerate(language.states):
        onward = [move for move in at.moves if move[1] != state]
        back = [charset for charset, target in at.moves if target == state]
        # Only what is written in one way can be repeated in place without a cost for each token.
        if len(onward) == 1 and not at.accepts and all(forms(charset) == 1 for charset in back):
            charset, target = onward[0]
            if circles[target] == circles[state]:
                found[state] = (Step(charset, back[0] if back else None), target)
    return found


def _circles(language: Automaton) -> list[int]:
    """For each state, the name of its circle: the states that it leads to and that lead to it (Tarjan)."""
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    circle = [-1] * len(language.states)
    open_states: list[int] = []
    pending = [(0, iter(language.states[0].moves))]
    while pending:
        state, moves = pending[-1]
        if state not in order:
            order[state] = lowest[state] = len(order)
            open_states.append(state)
        target = next((target for _, target in moves if circle[target] < 0 and target != state), None)
        if target is not None and target not in order:
            pending.append((target, iter(language.states[target].moves)))
        elif target is not None:
            lowest[state] = min(lowest[state], order[target])
        else:
            pending.pop()
            if lowest[state] == order[state]:
                while circle[state] < 0:
                    circle[open_states.pop()] = state
            if pending:
                above = pending[-1][0]
                lowest[above] = min(lowest[above], lowest[state])
    return circle
