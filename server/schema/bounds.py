"""Whether a schema is within the limits, told in milliseconds, with the place and the limit that it is over.

check_bounds(Document.load({"enum": [1, 2, 3]}), SchemaLimits(enum_values=2))
# SchemaError("#", "the schema has more than 2 enum values, …; --schema-limit enum_values=… sets the limit")
"""

from collections.abc import Iterator
from typing import Any

from server.schema.document import Document, Located, SchemaError
from server.schema.limits import SchemaLimits
from server.schema.references import circle, subschemas
from server.schema.repeats import repeats

_UNIONS = ("anyOf", "oneOf", "allOf")


def check_bounds(document: Document, limits: SchemaLimits) -> None:
    """Raise `SchemaError` if the schema has too much of something, or goes round in circles."""
    properties = enum_values = 0
    for node in document.walk():
        if not isinstance(node.schema, dict):
            continue
        properties += _length(node.schema.get("properties"))
        _refuse(node, "properties", properties, limits)
        enum_values += _length(node.schema.get("enum"))
        _refuse(node, "enum_values", enum_values, limits)
        for union in _UNIONS:
            _refuse(node, "branches", _length(node.schema.get(union)), limits)
        for pattern in _patterns(node.schema):
            _refuse(node, "pattern_length", len(pattern), limits)
            _refuse(node, "pattern_repeats", repeats(pattern), limits)
    _check_references(document, limits)


def _check_references(document: Document, limits: SchemaLimits) -> None:
    node = circle(document)
    if node is not None:
        raise SchemaError(node.pointer, "the schema leads back to itself and never ends")
    known: dict[Located, int] = {}
    for node in document.walk():
        count = subschemas(document, node, known)
        _refuse(node, "subschemas", count, limits)


def _refuse(node: Located, name: str, count: int, limits: SchemaLimits) -> None:
    if count > getattr(limits, name):
        raise SchemaError(node.pointer, limits.over(name))


def _length(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _patterns(schema: dict[str, Any]) -> Iterator[str]:
    if isinstance(pattern := schema.get("pattern"), str):
        yield pattern
    if isinstance(patterns := schema.get("patternProperties"), dict):
        yield from patterns
