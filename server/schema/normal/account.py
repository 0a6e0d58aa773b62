"""What the nodes of a conjunction rest on: whom they ask, and what they have to tell.

Much is tried that comes to nothing: a branch that contradicts itself, a comparison of two. What it noted
counts only if its node is used, so every conjunction keeps an account of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from server.schema.automata.automaton import Automaton
from server.schema.automata.languages import Languages
from server.schema.document import Located
from server.schema.nodes import Node
from server.schema.normal.facts import Fails, Holds, Member, Place
from server.schema.normal.truth import Truth
from server.schema.unmasked import Ledger

Key = frozenset[Member]

DUPLICATES = "the mask lets an undeclared key be written twice"


@dataclass(slots=True)
class Account:
    """`ledger`: what the mask does not hold here. `parts`: the conjunctions of keys and items."""

    pointer: str
    ledger: Ledger = field(default_factory=Ledger)
    parts: list[Key] = field(default_factory=list)
    failed: str | None = None
    """The place of the part that came to nothing last."""
    cause: str | None = None
    """The place of the part for which all of this comes to nothing."""

    def note(self, place: Place, why: str) -> None:
        self.ledger.note(place.pointer, place.keyword, why)

    def note_duplicates(self) -> None:
        self.ledger.note(self.pointer, "duplicate_key", DUPLICATES)

    def add(self, other: "Account") -> None:
        for entry in other.ledger.entries():
            self.ledger.note(entry.pointer, entry.keyword, entry.why)
        self.parts += other.parts


class Compiler(Protocol):
    """What objects, arrays and strings ask of the whole."""

    @property
    def closed(self) -> bool: ...

    @property
    def truth(self) -> Truth: ...

    @property
    def languages(self) -> Languages: ...

    def node(self, members: Iterable[Member], account: Account) -> Node | None:
        """What the members come to, as a part of the account's own node. None: nothing."""

    def spend(self, language: Automaton | None) -> None:
        """Count the states of a language. Raises `SchemaError` if all of them would be too large a mask."""

    def seen(self, node: Node) -> Node | None:
        """What a reference stands for; None if that is not known yet."""


def pointer_of(members: Iterable[Member], otherwise: str) -> str:
    """The place of the first node among the members."""
    nodes: Iterable[Located] = (member.node for member in members if isinstance(member, Holds | Fails))
    return next((node.pointer for node in nodes), otherwise)
