"""Whether two nodes have no value in common, as far as a look at them tells."""

from typing import Protocol

from server.schema.automata.languages import Languages
from server.schema.nodes import (
    Anything,
    Array,
    Boolean,
    Literals,
    Node,
    Null,
    Number,
    Object,
    Property,
    Reference,
    Text,
    Union,
)
from server.schema.normal.truth import canonical
from server.schema.normal.values import Resolver, may_allow

MAX_DEPTH = 6


class Comparer(Resolver, Protocol):
    @property
    def languages(self) -> Languages: ...


def are_disjoint(one: Node, other: Node, comparer: Comparer, depth: int = 0) -> bool:
    """True only if no value fits both."""
    first, second = comparer.seen(one), comparer.seen(other)
    if first is None or second is None or depth > MAX_DEPTH:
        return False
    match first, second:
        case (Anything(), _) | (_, Anything()) | (Reference(), _) | (_, Reference()):
            return False
        case Union(nodes), _:
            return all(are_disjoint(node, second, comparer, depth) for node in nodes)
        case _, Union(nodes):
            return all(are_disjoint(first, node, comparer, depth) for node in nodes)
        case Literals(values), Literals(others):
            return set(map(canonical, values)).isdisjoint(map(canonical, others))
        case Literals(values), _:
            return not any(may_allow(second, value, comparer) for value in values)
        case _, Literals(values):
            return not any(may_allow(first, value, comparer) for value in values)
        case _:
            return _differ(first, second, comparer, depth)


def _differ(first: Node, second: Node, comparer: Comparer, depth: int) -> bool:
    match first, second:
        case (Null(), Null()) | (Boolean(), Boolean()):
            return False
        case Number(text=one), Number(text=other):
            return one is not None and other is not None and comparer.languages.disjoint(one, other)
        case Text(one), Text(other):
            return one is not None and other is not None and comparer.languages.disjoint(one, other)
        case Array(), Array():
            return _arrays_differ(first, second, comparer, depth)
        case Object(), Object():
            return _objects_differ(first, second, comparer, depth)
        case _:
            return True


def _counts_differ(first: Array | Object, second: Array | Object) -> bool:
    pairs = ((first, second), (second, first))
    return any(one.most is not None and one.most < other.least for one, other in pairs)


def _arrays_differ(first: Array, second: Array, comparer: Comparer, depth: int) -> bool:
    if _counts_differ(first, second):
        return True
    if first.contains is not None or second.contains is not None:
        return False
    for index in range(max(first.least, second.least)):
        items = [
            array.prefix[index] if index < len(array.prefix) else array.items for array in (first, second)
        ]
        one, other = items
        if one is None or other is None or are_disjoint(one, other, comparer, depth + 1):
            return True
        if index >= max(len(first.prefix), len(second.prefix)):
            break
    return False


def _objects_differ(first: Object, second: Object, comparer: Comparer, depth: int) -> bool:
    if _counts_differ(first, second):
        return True
    own = {each.name: each for each in first.properties}
    others = {each.name: each for each in second.properties}
    names = {name: None for name, each in (*own.items(), *others.items()) if each.required}
    return any(
        _values_differ(own.get(name), others.get(name), first, second, name, comparer, depth)
        for name in names
    )


def _values_differ(
    one: Property | None,
    other: Property | None,
    first: Object,
    second: Object,
    name: str,
    comparer: Comparer,
    depth: int,
) -> bool:
    """Whether a key that one of the objects requires tells them apart."""
    if one is None or other is None:
        lacking = first if one is None else second
        return not any(free.names is None or free.names.accepts(name) for free in lacking.free)
    return are_disjoint(one.value, other.value, comparer, depth + 1)
