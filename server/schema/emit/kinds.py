"""Nodes as nodes of one kind each.

by_kind(Union((Text(), Literals((1, None)))), {})
# [("string", Text()), ("integer", Literals((1,))), ("null", Literals((None,)))]
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parsers.arguments.kinds import kind_of
from server.schema.nodes import (
    Anything,
    Array,
    Boolean,
    FreeKeys,
    Literals,
    Node,
    Null,
    Number,
    Object,
    Phrase,
    Property,
    Reference,
    Text,
    Union,
    Values,
)

Definitions = Mapping[str, Node]

ANYTHING = Union(
    (
        Text(),
        Number(),
        Boolean(),
        Null(),
        Array((), Anything()),
        Object((), (FreeKeys(None, Anything()),)),
    )
)
"""What anything is, one kind at a time."""


def by_kind(node: Node, definitions: Definitions) -> list[tuple[str, Node]]:
    """The node as nodes of one kind each."""
    return list(_by_kind(node, definitions, frozenset()))


def _by_kind(node: Node, definitions: Definitions, within: frozenset[str]) -> Iterator[tuple[str, Node]]:
    match node:
        case Anything():
            yield from _by_kind(ANYTHING, definitions, within)
        case Union(nodes):
            for one in nodes:
                yield from _by_kind(one, definitions, within)
        case Reference(name):
            if name not in within:
                yield from _by_kind(definitions[name], definitions, within | {name})
        case Literals(values):
            yield from _literals_by_kind(values)
        case _:
            yield _kind(node), node


def _literals_by_kind(values: Sequence[Any]) -> Iterator[tuple[str, Node]]:
    for kind in dict.fromkeys(map(kind_of, values)):
        own = [value for value in values if kind_of(value) == kind]
        if kind in ("array", "object"):
            yield from ((kind, node_of(value)) for value in own)
        else:
            yield kind, Literals(tuple(own))


def node_of(value: Any) -> Node:
    """The node that has this value and no other."""
    match value:
        case Mapping():
            members = (Property(name, node_of(one), required=True) for name, one in value.items())
            return Object(tuple(members), ())
        case list() | tuple():
            return Array(tuple(map(node_of, value)), None, least=len(value))
        case _:
            return Literals((value,))


def _kind(node: Node) -> str:
    match node:
        case Text() | Phrase():
            return "string"
        case Number(integer):
            return "integer" if integer else "number"
        case Boolean():
            return "boolean"
        case Array():
            return "array"
        case Object():
            return "object"
        case _:
            return "null"


def names_of(values: Values) -> tuple[str, ...]:
    """The keys of all properties within the values, each once."""
    found: dict[str, None] = {}
    pending: list[Node] = [values.root, *values.definitions.values()]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) not in seen:
            seen.add(id(node))
            if isinstance(node, Object):
                found |= dict.fromkeys(item.name for item in node.properties)
            pending += _inner(node)
    return tuple(sorted(found))


def _inner(node: Node) -> list[Node]:
    match node:
        case Union(nodes):
            return list(nodes)
        case Object(properties, free):
            return [*(item.value for item in properties), *(keys.value for keys in free)]
        case Array(prefix, items, contains=contains):
            counted = [] if contains is None else [contains.matching, contains.other]
            return [one for one in (*prefix, items, *counted) if one is not None]
        case Literals(values):
            return [one for _, one in _literals_by_kind(values) if not isinstance(one, Literals)]
        case _:
            return []
