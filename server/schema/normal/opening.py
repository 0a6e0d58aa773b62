"""The keywords of a node that holds, as facts, members and choices: one step towards nodes.

opening.holds(Holds(Located("#", {"type": "string", "anyOf": [A, B]})))
# Opened((Kinds({"string"}),), (Choice(Place("#", "anyOf"), ((Holds(A),), (Holds(B),))),))
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

from server.schema.automata import rules
from server.schema.document import Document
from server.schema.normal.facts import (
    Among,
    Counted,
    Has,
    Holding,
    Holds,
    Kinds,
    Names,
    Opened,
    Place,
    Row,
    Shape,
    Unevaluated,
    Unique,
)
from server.schema.normal.in_place import IN_PLACE
from server.schema.normal.reading import Reader, Reading, bound_of, contained, kinds_of, values_of
from server.schema.normal.resources import Resources

_UNEVALUATED: tuple[Literal["unevaluatedProperties", "unevaluatedItems"], ...] = (
    "unevaluatedProperties",
    "unevaluatedItems",
)
_UNEVALUATED_NAMES = frozenset(_UNEVALUATED)


def open_node(at: Holds, document: Document, resources: Resources) -> Opened | None:
    """What the node comes to; None if nothing fits it."""
    if isinstance(at.node.schema, bool):
        return Opened() if at.node.schema else None
    keywords = document.read(at.node)
    if at.node not in at.owners and not _UNEVALUATED_NAMES.isdisjoint(keywords):
        inside = replace(at, owners=(*at.owners, at.node))
    else:
        inside = at
    reading = Reading(inside, keywords, resources)
    for keyword, value in keywords.items():
        if (read := _READERS.get(keyword)) is not None:
            read(reading, value)
    for keyword in _UNEVALUATED:
        if keyword in keywords:
            _read_unevaluated(reading, at, keyword)
    return Opened(tuple(reading.members), tuple(reading.choices))


def _read_bound(keyword: str) -> Reader:
    return lambda reading, value: reading.rule("number", keyword, bound_of(keyword, value))


def _read_count(kind: Literal["object", "array"], keyword: str) -> Reader:
    def read(reading: Reading, value: Any) -> None:
        least, most = (int(value), None) if keyword.startswith("min") else (0, int(value))
        reading.members.append(Counted(kind, least, most, reading.place(keyword)))

    return read


def _read_values(keyword: str) -> Reader:
    def read(reading: Reading, value: Any) -> None:
        source = Place(reading.at.node.pointer, keyword)
        reading.members.append(Among(source, values_of(keyword, value)))

    return read


def _read_shape(reading: Reading, _: Any) -> None:
    keywords, at = reading.keywords, reading.at
    first = next(k for k in ("properties", "patternProperties", "additionalProperties") if k in keywords)
    shape = Shape(
        at.node,
        at.scope,
        at.owners,
        reading.place(first),
        {name: reading.below(child) for name, child in keywords.get("properties", {}).items()},
        {name: reading.below(child) for name, child in keywords.get("patternProperties", {}).items()},
        reading.below(keywords["additionalProperties"]) if "additionalProperties" in keywords else None,
    )
    if shape not in reading.members:
        reading.members.append(shape)


def _read_row(reading: Reading, _: Any) -> None:
    keywords, at = reading.keywords, reading.at
    row = Row(
        at.node,
        at.scope,
        at.owners,
        reading.place("prefixItems" if "prefixItems" in keywords else "items"),
        tuple(reading.below(child) for child in keywords.get("prefixItems", ())),
        reading.below(keywords["items"]) if "items" in keywords else None,
    )
    if row not in reading.members:
        reading.members.append(row)


def _read_contains(reading: Reading, value: Any) -> None:
    least, most = contained(reading.keywords)
    opposite = reading.failing(value, "contains")
    owners = reading.at.owners if reading.resources.counts_contained else ()
    found = Holding(reading.below(value), opposite, least, most, owners, reading.place("contains"))
    reading.members.append(found)


def _read_unique(reading: Reading, value: Any) -> None:
    if value:
        reading.members.append(Unique(reading.place("uniqueItems")))


def _read_names(reading: Reading, value: Any) -> None:
    reading.members.append(Names(reading.below(value), reading.place("propertyNames")))


def _read_required(reading: Reading, value: Any) -> None:
    reading.members += [Has(name) for name in value]


def _read_unevaluated(
    reading: Reading, at: Holds, keyword: Literal["unevaluatedProperties", "unevaluatedItems"]
) -> None:
    value = reading.below(reading.keywords[keyword])
    reading.members.append(Unevaluated(keyword, at.node, at.scope, at.owners, reading.place(keyword), value))


_READERS: Mapping[str, Reader] = {
    "type": lambda reading, value: reading.members.append(Kinds(kinds_of(value))),
    **{keyword: _read_values(keyword) for keyword in ("enum", "const")},
    **{
        keyword: _read_bound(keyword)
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    },
    "multipleOf": lambda reading, value: reading.rule(
        "number", "multipleOf", rules.MultipleOf(Decimal(str(value)))
    ),
    "minLength": lambda reading, value: reading.rule("string", "minLength", rules.LongerOrEqual(int(value))),
    "maxLength": lambda reading, value: reading.rule("string", "maxLength", rules.ShorterOrEqual(int(value))),
    "pattern": lambda reading, value: reading.rule("string", "pattern", rules.Matches(value)),
    "format": lambda reading, value: reading.rule("string", "format", rules.HasFormat(value)),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties"), _read_shape),
    **dict.fromkeys(("prefixItems", "items"), _read_row),
    **{keyword: _read_count("array", keyword) for keyword in ("minItems", "maxItems")},
    **{keyword: _read_count("object", keyword) for keyword in ("minProperties", "maxProperties")},
    "contains": _read_contains,
    "uniqueItems": _read_unique,
    "propertyNames": _read_names,
    "required": _read_required,
    **IN_PLACE,
}
