"""Unions: their union as a schema, and whether their branches can meet.

`oneOf: [{"properties": {"kind": {"const": "a"}}, …}, {"properties": {"kind": {"const": "b"}}, …}]` with
`kind` required in both is disjoint, so that a mask of any branch is a mask of exactly one.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from server.schema.document import Document, Located
from server.schema.members import Atom, flatten, includes, kinds, listed, stated, type_of
from server.schema.scalars import Masked

MAX_COMPARED = 64
"""Branches of a `oneOf` that are compared, each with each."""
_DEPTH = 3
"""Keys inside keys that are looked at for a difference."""


def any_of(options: Iterable[Masked]) -> Masked:
    """The union, without empty and repeated options."""
    kept: list[dict[str, Any]] = []
    for option in options:
        for branch in (option or {}).get("anyOf", [option]):
            if branch is not None and branch not in kept:
                kept.append(branch)
    if {} in kept:
        return {}
    return None if not kept else kept[0] if len(kept) == 1 else {"anyOf": kept}


def are_disjoint(document: Document, branches: Sequence[Located]) -> bool:
    """Whether it is plain that no value fits two branches."""
    if len(branches) > MAX_COMPARED:
        return False
    pairs = ((one, two) for index, one in enumerate(branches) for two in branches[:index])
    return all(_differ(document, [one], [two], _DEPTH) for one, two in pairs)


def _differ(document: Document, one: Iterable[Located], two: Iterable[Located], depth: int) -> bool:
    """Whether no value fits both: by type, by listed values, or by a key that both require."""
    left, right = flatten(document, one), flatten(document, two)
    if left is None or right is None:
        return True
    a, b = left[0], right[0]
    values = listed(a), listed(b)
    if values[0] is not None and values[1] is not None:
        return not any(_same(x, y) for x in values[0] for y in values[1])
    types = _types(a, values[0]), _types(b, values[1])
    if not _overlap(*types):
        return True
    if depth == 0 or {"object"} not in types:
        return False
    keys = _required(a) & _required(b)
    return any(_differ(document, _declared(a, key), _declared(b, key), depth - 1) for key in keys)


def _types(atoms: Sequence[Atom], values: list[Any] | None) -> set[str]:
    return kinds(atoms) if values is None else {type_of(value) for value in values}


def _overlap(one: set[str], two: set[str]) -> bool:
    return any(includes(two, name) for name in one) or any(includes(one, name) for name in two)


def _required(atoms: Sequence[Atom]) -> set[str]:
    return {name for _, names in stated(atoms, "required") for name in names}


def _declared(atoms: Sequence[Atom], key: str) -> list[Located]:
    return [properties[key] for _, properties in stated(atoms, "properties") if key in properties]


def _same(one: Any, two: Any) -> bool:
    return isinstance(one, bool) == isinstance(two, bool) and bool(one == two)
