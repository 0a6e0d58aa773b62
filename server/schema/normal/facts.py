"""What is known of a value: the members of a conjunction.

`{"type": "string", "not": {"maxLength": 2}}` is opened, step by step, into facts that no keyword is left in:

    Holds(#)
    Kinds({string}), Fails(#/not)
    Kinds({string}), Ruled(LongerOrEqual(3))

A fact that speaks of strings says nothing of other values, as keywords do. All members are hashable, and two
are equal that come from one place: a conjunction is remembered by its members.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from server.schema.automata.rules import Rule
from server.schema.document import Located

Kind = Literal["null", "boolean", "integer", "fraction", "string", "array", "object"]
"""The types of JSON Schema, with its numbers in two: those that are whole, and the others."""

KINDS: tuple[Kind, ...] = ("null", "boolean", "integer", "fraction", "string", "array", "object")
NUMBERS: frozenset[Kind] = frozenset(("integer", "fraction"))

Scope = tuple[str, ...]
"""The resources that lead to a node, the outermost first, which `$dynamicRef` asks for."""


@dataclass(frozen=True, slots=True)
class Place:
    """A keyword of the schema, for the ledger."""

    pointer: str
    keyword: str


@dataclass(frozen=True, slots=True)
class Holds:
    """The value fits the node.

    `owners`: the nodes with `unevaluated…` for which the keys and items count that this one speaks of.
    `blame`: the keyword to name if a mask cannot hold the node, where that is not the node's own.
    """

    node: Located
    scope: Scope = ()
    owners: tuple[Located, ...] = ()
    blame: Place | None = None


@dataclass(frozen=True, slots=True)
class Fails:
    """The value does not fit the node."""

    node: Located
    scope: Scope
    blame: Place


@dataclass(frozen=True, slots=True)
class Kinds:
    """The value is of one of these kinds."""

    kinds: frozenset[Kind]


@dataclass(frozen=True, slots=True)
class Among:
    """The value is one of those that the keyword lists."""

    place: Place
    values: tuple[Any, ...] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Differs:
    """The value is none of those that the keyword lists. `place` is to name where a mask cannot hold it."""

    source: Place
    place: Place
    values: tuple[Any, ...] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ruled:
    """A string, or a number, keeps to the rule."""

    kind: Literal["string", "number"]
    rule: Rule


@dataclass(frozen=True, slots=True)
class Shape:
    """What the keys of an object hold: those of `properties`, of `patterns`, and the others.

    `others` None: anything. `declares`: a closed object has the declared keys only.
    """

    node: Located
    scope: Scope
    owners: tuple[Located, ...]
    place: Place
    properties: Mapping[str, Holds] = field(compare=False, repr=False)
    patterns: Mapping[str, Holds] = field(compare=False, repr=False)
    others: "Holds | None" = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Has:
    """An object has the key, and a value of it that keeps to `value`, if there is one."""

    name: str
    value: "Member | None" = None


@dataclass(frozen=True, slots=True)
class Lacks:
    """An object does not have the key."""

    name: str


@dataclass(frozen=True, slots=True)
class Strays:
    """An object has a key beside those names and patterns, and a value of it that keeps to `value`."""

    names: frozenset[str]
    patterns: tuple[str, ...]
    value: "Fails | None"
    place: Place


@dataclass(frozen=True, slots=True)
class Names:
    """Every key of an object, as a string, keeps to `value`."""

    value: Holds
    place: Place


@dataclass(frozen=True, slots=True)
class Counted:
    """How many keys an object has, or items an array."""

    kind: Literal["object", "array"]
    least: int
    most: int | None
    place: Place


@dataclass(frozen=True, slots=True)
class Row:
    """What the items of an array hold: the first by place, then all others. `others` None: anything."""

    node: Located
    scope: Scope
    owners: tuple[Located, ...]
    place: Place
    first: tuple[Holds, ...] = field(compare=False, repr=False)
    others: "Holds | None" = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class At:
    """An array has an item at the index that keeps to `value`."""

    index: int
    value: "Member"


@dataclass(frozen=True, slots=True)
class Holding:
    """An array has at least `least` and at most `most` items that keep to `value`; the others do not."""

    value: "Member"
    opposite: "Member"
    least: int
    most: int | None
    owners: tuple[Located, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Unique:
    """No two items of an array are equal."""

    place: Place


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """Keys, or items, that no other keyword of `node` has spoken of hold `value`."""

    keyword: Literal["unevaluatedProperties", "unevaluatedItems"]
    node: Located
    scope: Scope
    owners: tuple[Located, ...]
    place: Place
    value: Holds


@dataclass(frozen=True, slots=True)
class Blind:
    """Which keys and items of the owners other keywords have spoken of cannot be told."""

    owners: tuple[Located, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """The value keeps to one of the members."""

    members: tuple["Member", ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Widened:
    """Nothing: here the mask holds less than the schema asks, and the ledger is to say so."""

    place: Place
    why: str


Fact = (
    Kinds
    | Among
    | Differs
    | Ruled
    | Shape
    | Has
    | Lacks
    | Strays
    | Names
    | Counted
    | Row
    | At
    | Holding
    | Unique
    | Unevaluated
    | Blind
    | Widened
)
Member = Holds | Fails | Either | Fact


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the branches holds, each a conjunction. `exclusive`: and no other one does.

    `place` is to name if there are too many combinations to spell them all out.
    """

    place: Place
    branches: tuple[tuple[Member, ...], ...]
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """What a member comes to, one step on. None in its place: a contradiction."""

    members: tuple[Member, ...] = ()
    choices: tuple[Choice, ...] = ()
