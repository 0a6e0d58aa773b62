"""Spell out the choices of a conjunction: a conjunction without choices for each way to decide them.

`{"type": "object", "anyOf": [A, B], "if": C, "then": D}` has four ways at most; those that contradict
themselves are left out as soon as that shows. Where there are too many, choices are left undecided, the last
first, and that is noted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from server.schema.normal.conjunction import Conjunction
from server.schema.normal.facts import Choice, Fails, Holds, Kinds, Member, Place, Widened

MAX_ALTERNATIVES = 96
"""Ways to decide several choices of one node."""
MAX_BRANCHES = 500
"""Ways to decide one choice that stands alone."""
MAX_STEPS = 4_000
"""Branches that are tried for one node."""
MAX_NESTED = 4
"""Choices within branches that are left undecided one by one."""
MAX_CLASHES = 400
"""Pairs of branches of a `oneOf` that a value may fit both of, and that are kept apart."""
GIVEN_UP = "too many combinations with other choices"


class Judge(Protocol):
    """What tells whether a way is one."""

    def is_refuted(self, conjunction: Conjunction) -> bool:
        """Whether nothing satisfies the conjunction, as far as a look can tell."""

    def clashes(self, branches: Sequence[tuple[Member, ...]], base: Sequence[Member]) -> set[tuple[int, int]]:
        """The pairs of branches that one value may fit both of, beside what else is known of it."""


class _TooManyError(Exception):
    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.place = place


@dataclass(slots=True)
class _Spread:
    """One attempt to decide all choices, but for those that are `given_up`."""

    judge: Judge
    given_up: frozenset[Place]
    is_overlooked: frozenset[Place]
    everything: bool
    """Whether choices within branches are given up as well, whatever they are."""
    found: list[Conjunction] = field(default_factory=list)
    steps: int = 0

    def decide(self, conjunction: Conjunction, decided: int) -> None:
        if not conjunction.choices:
            self.found.append(conjunction)
            return
        choice, rest = conjunction.choices[0], conjunction.without_choice()
        if choice.place in self.given_up or (self.everything and decided):
            self._go_on(rest, (Widened(choice.place, GIVEN_UP),), decided)
            return
        for branch in self._branches(choice, rest):
            self.steps += 1
            if self.steps > MAX_STEPS or len(self.found) >= (MAX_ALTERNATIVES if decided else MAX_BRANCHES):
                raise _TooManyError(choice.place)
            self._go_on(rest, branch, decided + 1)

    def _go_on(self, rest: Conjunction, branch: tuple[Member, ...], decided: int) -> None:
        extended = rest.extended(branch)
        if extended is not None and not self.judge.is_refuted(extended):
            self.decide(extended, decided)

    def _branches(self, choice: Choice, rest: Conjunction) -> list[tuple[Member, ...]]:
        """The branches, each with the others denied that it might hold together with."""
        if not choice.exclusive:
            return list(choice.branches)
        clashing = self.judge.clashes(choice.branches, (Kinds(rest.kinds), *rest.facts))
        is_overlooked = choice.place in self.is_overlooked or len(clashing) > MAX_CLASHES
        if is_overlooked and clashing:
            overlap = Widened(choice.place, "a value may fit several branches")
            return [(*branch, overlap) for branch in choice.branches]
        denied: list[list[Member]] = [[] for _ in choice.branches]
        for one, other in clashing:
            denied[one] += _denial(choice, other)
            denied[other] += _denial(choice, one)
        return [(*branch, *others) for branch, others in zip(choice.branches, denied, strict=True)]


def _denial(choice: Choice, index: int) -> list[Member]:
    holds = choice.branches[index][0]
    return [Fails(holds.node, holds.scope, choice.place)] if isinstance(holds, Holds) else []


def spell_out(conjunction: Conjunction, judge: Judge) -> list[Conjunction]:
    """The ways to decide the conjunction's choices; none if it contradicts itself."""
    overlooked: set[Place] = set()
    kept = [choice.place for choice in conjunction.choices]
    nested: set[Place] = set()
    while True:
        given_up = {choice.place for choice in conjunction.choices}.difference(kept) | nested
        everything = len(nested) > MAX_NESTED
        spread = _Spread(judge, frozenset(given_up), frozenset(overlooked), everything=everything)
        try:
            # At once, and not behind each way to decide the others.
            base = conjunction.leaving({place: Widened(place, GIVEN_UP) for place in given_up})
            if base is not None:
                spread.decide(base, 0)
        except _TooManyError as error:
            exclusive = {choice.place for choice in conjunction.choices if choice.exclusive} - overlooked
            if exclusive:
                overlooked |= exclusive
            elif error.place not in kept:
                nested.add(error.place)
            else:
                # Half of them at a time: each attempt may take all steps that there are.
                kept = kept[: len(kept) // 2]
        else:
            return spread.found
