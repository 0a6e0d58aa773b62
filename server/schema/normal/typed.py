"""A conjunction without choices, as nodes: one for each kind of value that it leaves."""

from collections.abc import Iterator

from server.schema.nodes import Anything, Node
from server.schema.normal import scalars
from server.schema.normal.account import Account, Compiler
from server.schema.normal.arrays import ArrayBuilder
from server.schema.normal.conjunction import Conjunction
from server.schema.normal.facts import (
    KINDS,
    NUMBERS,
    Among,
    Blind,
    Counted,
    Has,
    Holding,
    Kind,
    Names,
    Row,
    Ruled,
    Shape,
    Unevaluated,
    Unique,
    Widened,
)
from server.schema.normal.objects import ObjectBuilder

_CONTAINERS: tuple[tuple[Kind, type[ArrayBuilder] | type[ObjectBuilder]], ...] = (
    ("array", ArrayBuilder),
    ("object", ObjectBuilder),
)


def typed(conjunction: Conjunction, compiler: Compiler, account: Account) -> list[Node]:
    """The nodes that the conjunction comes to; none if it contradicts itself."""
    for fact in conjunction.facts:
        if isinstance(fact, Widened):
            account.note(fact.place, fact.why)
    kinds = _kinds(conjunction, compiler)
    if any(isinstance(fact, Among) for fact in conjunction.facts):
        node = scalars.literals(conjunction, kinds, compiler)
        return [] if node is None else [node]
    if len(kinds) == len(KINDS) and all(isinstance(fact, Blind | Widened) for fact in conjunction.facts):
        account.note_duplicates()
        return [Anything()]
    nodes = [node for node in _scalars(conjunction, kinds, compiler, account) if node is not None]
    # Not in a function of its own: Python's stack bounds how deep a schema may be.
    for kind, builder in _CONTAINERS:
        if kind not in kinds:
            continue
        own = Account(account.pointer)
        found = list(builder(conjunction, compiler, own).build())
        account.cause = own.cause or account.cause
        if found:
            account.add(own)
        for fact, _ in scalars.excluded(conjunction, kind) if found else ():
            account.note(fact.place, "the mask does not compare objects and arrays")
        nodes += found
    return nodes


def _scalars(
    conjunction: Conjunction, kinds: frozenset[Kind], compiler: Compiler, account: Account
) -> Iterator[Node | None]:
    if "null" in kinds:
        yield scalars.null(conjunction)
    if "boolean" in kinds:
        yield scalars.boolean(conjunction)
    if kinds & NUMBERS:
        yield scalars.number(conjunction, kinds, compiler, account)
    if "string" in kinds:
        yield scalars.text(conjunction, compiler, account)


def _kinds(conjunction: Conjunction, compiler: Compiler) -> frozenset[Kind]:
    """The kinds of value to write: where closed and none is stated, those that keywords speak about."""
    is_stated = len(conjunction.kinds) < len(KINDS) or any(isinstance(f, Among) for f in conjunction.facts)
    if is_stated or not compiler.closed:
        return conjunction.kinds
    spoken = frozenset(kind for fact in conjunction.facts for kind in _spoken_of(fact))
    return spoken or conjunction.kinds


def _spoken_of(fact: object) -> frozenset[Kind]:
    kinds: tuple[Kind, ...] = ()
    match fact:
        case Ruled(kind="string"):
            kinds = ("string",)
        case Ruled(kind="number"):
            kinds = ("integer", "fraction")
        case Counted(kind=kind):
            kinds = (kind,)
        case Shape() | Has() | Names() | Unevaluated(keyword="unevaluatedProperties"):
            kinds = ("object",)
        case Row() | Holding() | Unique() | Unevaluated(keyword="unevaluatedItems"):
            kinds = ("array",)
        case _:
            pass
    return frozenset(kinds)
