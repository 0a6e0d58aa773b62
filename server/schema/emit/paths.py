"""The states of a language that need a rule, and the ways from one to the next.

paths(<automaton of ^a[0-9]b*c$>, once=…)
# {0: (Path((Step("a"), Step("0-9"), Step("c", behind="b")), target=4),), 4: ()}, charsets as characters

A state that does not end the text and has one way on is a step of the ways that lead to it. So a language
comes to fewer rules, and fewer of them lead back to each other: XGrammar's compiler remembers a rule that
leads to itself, but none of those that lead in a circle.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from server.schema.automata.automaton import Automaton, Charset

_MOST_COPIED = 8
"""Steps that are written in more than one place."""


@dataclass(frozen=True, slots=True)
class Step:
    """One of the characters, behind any number of those that may come before it."""

    charset: Charset
    behind: Charset | None = None


@dataclass(frozen=True, slots=True)
class Path:
    steps: tuple[Step, ...]
    target: int


def paths(language: Automaton, once: Callable[[Charset], bool]) -> Mapping[int, tuple[Path, ...]]:
    """For the start and each state that is still led to, the paths from it, in the order of its moves.

    `once`: whether the characters are all written in one way, so that any number of them is one repeat.
    """
    passed = _passed(language, once)
    found: dict[int, tuple[Path, ...]] = {}
    pending = [0]
    while pending:
        state = pending.pop()
        if state not in found:
            moves = language.states[state].moves
            found[state] = tuple(_path(state, charset, target, passed) for charset, target in moves)
            pending += [path.target for path in found[state]]
    return found


@dataclass(frozen=True, slots=True)
class _Passed:
    """A state that is only a step: what is read there, and the state behind it."""

    step: Step
    target: int
    is_copied: bool


def _passed(language: Automaton, once: Callable[[Charset], bool]) -> dict[int, _Passed]:
    arrivals = Counter(
        target
        for state, at in enumerate(language.states)
        for charset, target in at.moves
        for _ in range(1 if once(charset) else 2)
        if target != state
    )
    found = {}
    for state, at in enumerate(language.states):
        onward = [move for move in at.moves if move[1] != state]
        back = [charset for charset, target in at.moves if target == state]
        if len(onward) == 1 and not at.accepts and all(map(once, back)):
            charset, target = onward[0]
            step = Step(charset, back[0] if back else None)
            found[state] = _Passed(step, target, is_copied=state == 0 or arrivals[state] > 1)
    return found


def _path(state: int, charset: Charset, target: int, passed: Mapping[int, _Passed]) -> Path:
    steps = [Step(charset)]
    # States that are passed lead in no circle: from each the end can be reached. A move back to the same
    # state is one of its own rule.
    while target != state and target in passed:
        at = passed[target]
        if at.is_copied and len(steps) >= _MOST_COPIED:
            break
        steps.append(at.step)
        target = at.target
    return Path(tuple(steps), target)
