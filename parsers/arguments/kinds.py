"""What kinds of value a schema allows, and text as a value of one of them.

Families that write values without JSON's quotes need the tool's schema to read them back:

    kinds({"type": ["integer", "null"]}, root)   ->  frozenset({"integer", "null"})
    read_value("42", frozenset({"integer"}))     ->  '42'
    read_value("42", frozenset({"string"}))      ->  '"42"'
"""

import ast
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from parsers.arguments.json_text import is_json, write_json
from parsers.arguments.style import Schema

STRING = frozenset({"string"})
CONTAINERS = frozenset({"object", "array"})
ALL = frozenset({"string", "integer", "number", "boolean", "null", "object", "array"})

DEEPEST_REFERENCE = 16
"""References and unions followed inside each other; behind that a schema says nothing."""

LONGEST_LITERAL = 100_000
"""Characters of a Python literal that is still tried; longer text stays text."""

_LITERALS = {
    "true": ("boolean", "true"),
    "false": ("boolean", "false"),
    "null": ("null", "null"),
    "none": ("null", "null"),
}
"""In lower case, as Python's spellings are read too."""


class Spelled(Enum):
    """How a value is spelled, by what stands beside it."""

    AS_TEXT = "as_text"
    AS_JSON = "as_json"
    BY_SCHEMA = "by_schema"
    """Nothing is said: the tool's schema tells."""


def kinds(schema: Any, root: Schema, depth: int = 0) -> frozenset[str]:
    """The JSON types that a value may have: all of them where the schema does not say."""
    if not isinstance(schema, Mapping) or depth > DEEPEST_REFERENCE:
        return ALL
    allowed = _by_type(schema)
    if "$ref" in schema:
        allowed &= kinds(_target(schema["$ref"], root), root, depth + 1)
    for branches in (schema.get("anyOf"), schema.get("oneOf")):
        if isinstance(branches, list) and branches:
            allowed &= frozenset().union(*(kinds(branch, root, depth + 1) for branch in branches))
    for branch in schema["allOf"] if isinstance(schema.get("allOf"), list) else []:
        allowed &= kinds(branch, root, depth + 1)
    return allowed


def _by_type(schema: Mapping[str, Any]) -> frozenset[str]:
    if "const" in schema:
        return frozenset({kind_of(schema["const"])})
    if isinstance(schema.get("enum"), list):
        return frozenset(map(kind_of, schema["enum"]))
    named = schema.get("type")
    if isinstance(named, str):
        return _closed([named])
    return _closed(filter(lambda name: isinstance(name, str), named)) if isinstance(named, list) else ALL


def _closed(names: Iterable[str]) -> frozenset[str]:
    found = frozenset(names)
    return found | {"integer"} if "number" in found else found


def kind_of(value: Any) -> str:
    """The JSON type of a Python value."""
    for kind, classes in (
        ("null", type(None)),
        ("boolean", bool),
        ("string", str),
        ("integer", int),
        ("number", float),
        ("array", list | tuple),
    ):
        if isinstance(value, classes):
            return kind
    return "object"


def properties(schema: Any, root: Schema, depth: int = 0) -> dict[str, Any]:
    """The schemas of the properties that an object schema names, also behind references and in `allOf`."""
    if not isinstance(schema, Mapping) or depth > DEEPEST_REFERENCE:
        return {}
    own = schema.get("properties")
    found = dict(own) if isinstance(own, Mapping) else {}
    branches = schema["allOf"] if isinstance(schema.get("allOf"), list) else []
    for branch in [*branches, *([_target(schema["$ref"], root)] if "$ref" in schema else [])]:
        found = properties(branch, root, depth + 1) | found
    return found


def resolved(schema: Any, root: Schema) -> Schema:
    """The schema with what its reference points to, if it is one."""
    for _ in range(DEEPEST_REFERENCE):
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" not in schema:
            return schema
        target = _target(schema["$ref"], root)
        own = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **own} if isinstance(target, Mapping) else own
    return {}


def _target(reference: Any, root: Schema) -> Any:
    """What a reference within the schema points to, or nothing."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


class Parameters:
    """The arguments that a tool takes, by its schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._named = properties(schema, schema)

    def has(self, key: str) -> bool:
        return key in self._named

    def kinds(self, key: str) -> frozenset[str]:
        """The kinds of value that argument `key` may have: all of them where the schema does not say."""
        return kinds(self._named.get(key, self._schema.get("additionalProperties")), self._schema)


def read_value(text: str, allowed: frozenset[str]) -> str:
    """The JSON text of the value that `text` spells, of one of the `allowed` kinds if it can be.

    Text that spells no such value stays text: whether that is right is for a validator to say.
    """
    bare = text.strip()
    if allowed != STRING:
        for kind, value in filter(None, (_literal(bare), _json_value(bare), _python_value(bare, allowed))):
            if kind in allowed or (kind == "number" and "integer" in allowed and float(value).is_integer()):
                return value
    return write_json(text)


def _literal(bare: str) -> tuple[str, str] | None:
    """Read true, false and null, as JSON or Python spells them."""
    return _LITERALS.get(bare.lower())


def _json_value(bare: str) -> tuple[str, str] | None:
    """Read a number, object or array. A string in quotes is text that has quotes."""
    if bare[:1] in ("", '"', "t", "f", "n") or not is_json(bare):
        return None
    return ("object" if bare[0] == "{" else "array" if bare[0] == "[" else _number_kind(bare)), bare


def _number_kind(bare: str) -> str:
    return "integer" if bare.removeprefix("-").isdecimal() else "number"


def _python_value(bare: str, allowed: frozenset[str]) -> tuple[str, str] | None:
    """Read an object or array as Python writes it: some templates show the model such."""
    wanted = allowed & CONTAINERS and bare.startswith(("{", "["))
    if not wanted or len(bare) > LONGEST_LITERAL:
        return None
    try:
        value = ast.literal_eval(bare)
        return kind_of(value), write_json(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
