"""The members of a node: everything that holds for one value, with references and `allOf` taken out.

`{"$ref": "#/$defs/a", "maxLength": 3}` has two: `{"maxLength": 3}`, and what stands at `#/$defs/a`.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from server.schema.document import Document, Located, SchemaError

MAX_ENUM = 5_000
"""Values of one `enum`."""

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

Atom = tuple[Located, dict[str, Any]]
"""A node without references and `allOf`: where it stands, and its keywords."""


def flatten(document: Document, members: Iterable[Located]) -> tuple[list[Atom], bool] | None:
    """Take out references and `allOf`; None if a member is `false`.

    Returns the atoms, and whether a reference was followed.
    """
    atoms: list[Atom] = []
    seen: set[Located] = set()
    pending, followed = list(members)[::-1], False
    while pending:
        node = pending.pop()
        if node.schema is False:
            return None
        if node in seen:
            continue
        seen.add(node)
        if node.schema is True:
            atoms.append((node, {}))
            continue
        keywords = document.read(node)
        if (target := _target(document, keywords)) is not None:
            pending.append(target)
            node, followed = node.without("$ref"), True
            del keywords["$ref"]
        if "allOf" in keywords:
            pending.extend(reversed(keywords.pop("allOf")))
            node = node.without("allOf")
        atoms.append((node, keywords))
    return atoms, followed


def _target(document: Document, keywords: dict[str, Any]) -> Located | None:
    if "$ref" not in keywords or document.has_embedded_resources:
        return None
    return document.resolve(keywords["$ref"])


def stated(atoms: Iterable[Atom], keyword: str) -> list[tuple[str, Any]]:
    """Where the keyword stands among the atoms, and what it says."""
    return [(node.pointer, keywords[keyword]) for node, keywords in atoms if keyword in keywords]


def largest(atoms: Sequence[Atom], keyword: str) -> int:
    """The strongest of a `minX` keyword that counts."""
    return max((math.ceil(value) for _, value in stated(atoms, keyword)), default=0)


def smallest(atoms: Sequence[Atom], keyword: str) -> int | None:
    """The strongest of a `maxX` keyword that counts."""
    return min((math.floor(value) for _, value in stated(atoms, keyword)), default=None)


def listed(atoms: Sequence[Atom]) -> list[Any] | None:
    """The values of the first `const` or `enum`."""
    for _, value in stated(atoms, "const"):
        return [value]
    for pointer, values in stated(atoms, "enum"):
        if len(values) > MAX_ENUM:
            raise SchemaError(pointer, f"the enum has more than {MAX_ENUM:,} values")
        return list(values)
    return None


def kinds(atoms: Sequence[Atom]) -> set[str]:
    """The types that every `type` among the atoms admits."""
    kept = set(TYPES)
    for _, types in stated(atoms, "type"):
        kept = {name for name in kept if includes({types} if isinstance(types, str) else set(types), name)}
    return kept


def type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    return {float: "number", str: "string", list: "array"}.get(type(value), "object")


def includes(types: set[str], name: str) -> bool:
    """Whether a value of the type `name` is of one of the types."""
    return name in types or (name == "integer" and "number" in types)
