"""A conjunction: all that holds for one value, opened until only facts and choices are left.

conjunction = Conjunction.of([Holds(document.root)], opener)
conjunction.facts      # (Has("a"), …)
conjunction.kinds      # frozenset({"object"})
conjunction.choices    # what is still to be decided: the branches of anyOf, oneOf, if …
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from server.schema.normal.facts import (
    KINDS,
    Choice,
    Counted,
    Either,
    Fact,
    Fails,
    Has,
    Holds,
    Kind,
    Kinds,
    Lacks,
    Member,
    Opened,
    Place,
    Widened,
)


class Opener(Protocol):
    def open(self, member: Holds | Fails) -> Opened | None: ...


@dataclass(slots=True)
class _Bounds:
    """How many keys or items there are, as far as it has been said."""

    least: int = 0
    most: int | None = None

    def narrow(self, counted: Counted) -> bool:
        """Whether there is a number left."""
        self.least = max(self.least, counted.least)
        if counted.most is not None:
            self.most = counted.most if self.most is None else min(self.most, counted.most)
        return self.most is None or self.least <= self.most


@dataclass(slots=True)
class Conjunction:
    """`members`: as they were given, unopened. Not changed once it is made; `extended` copies."""

    opener: Opener
    members: tuple[Member, ...] = ()
    kinds: frozenset[Kind] = frozenset(KINDS)
    choices: tuple[Choice, ...] = ()
    _facts: dict[Fact, None] = field(default_factory=dict)
    _seen: set[Member] = field(default_factory=set)
    _signs: set[tuple[bool, object, object]] = field(default_factory=set)

    @classmethod
    def of(cls, members: Iterable[Member], opener: Opener) -> "Conjunction | None":
        """None if the members contradict each other."""
        return cls(opener).extended(members)

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(self._facts)

    def extended(self, members: Iterable[Member]) -> "Conjunction | None":
        """The conjunction of this and the members; None if they contradict each other."""
        added = tuple(members)
        copy = Conjunction(
            self.opener,
            (*self.members, *added),
            self.kinds,
            self.choices,
            dict(self._facts),
            set(self._seen),
            set(self._signs),
        )
        pending = list(reversed(added))
        while pending:
            opened = copy._take(pending.pop())
            if opened is None:
                return None
            pending += reversed(opened.members)
            for choice in opened.choices:
                if len(choice.branches) == 1:
                    pending += reversed(choice.branches[0])
                elif choice.branches:
                    copy.choices = (*copy.choices, choice)
                else:
                    return None
        return copy

    def without_choice(self) -> "Conjunction":
        """The conjunction without its first choice, which is about to be decided."""
        return Conjunction(
            self.opener,
            self.members,
            self.kinds,
            self.choices[1:],
            dict(self._facts),
            set(self._seen),
            set(self._signs),
        )

    def leaving(self, widened: Mapping[Place, Widened]) -> "Conjunction | None":
        """The conjunction with some of its choices undecided."""
        left = [widened[choice.place] for choice in self.choices if choice.place in widened]
        if not left:
            return self
        rest = replace(self, choices=tuple(c for c in self.choices if c.place not in widened))
        return rest.extended(left)

    def _take(self, member: Member) -> Opened | None:
        """Take a member in; what it comes to beside facts is returned. None: a contradiction."""
        if member in self._seen:
            return Opened()
        self._seen.add(member)
        match member:
            case Holds() | Fails():
                return self._open(member)
            case Either():
                branches = tuple((branch,) for branch in member.members)
                return Opened(choices=(Choice(member.place, branches),))
            case Kinds():
                self.kinds &= member.kinds
            case _:
                self._facts[member] = None
                self._exclude(member)
        return Opened() if self.kinds else None

    def _open(self, member: Holds | Fails) -> Opened | None:
        holds = isinstance(member, Holds)
        if (not holds, member.node, member.scope) in self._signs:
            return None
        self._signs.add((holds, member.node, member.scope))
        return self.opener.open(member)

    def _exclude(self, fact: Fact) -> None:
        """Take out a kind that the facts leave no value of."""
        match fact:
            case Has(name) if Lacks(name) in self._facts:
                self.kinds -= {"object"}
            case Lacks(name) if any(isinstance(f, Has) and f.name == name for f in self._facts):
                self.kinds -= {"object"}
            case Counted(kind):
                bounds = _Bounds()
                counted = (f for f in self._facts if isinstance(f, Counted) and f.kind == kind)
                if not all(list(map(bounds.narrow, counted))):
                    self.kinds -= {kind}
            case _:
                pass
