"""How large a schema may be: what is at a limit passes, what is over it is told which."""

from typing import Any

import pytest

from server.schema.check import validator_of
from server.schema.document import Document, SchemaError
from server.schema.limits import DEFAULT_LIMITS, NAMES, SchemaLimits, read_limit
from server.schema.references import is_recursive


def nested(levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


def doubling(levels: int) -> Any:
    """A schema that asks twice of a value what each level below asks twice of it: 2 ** levels questions."""
    twice = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**twice, f"d{levels}": {"type": "null"}}}


AT_THE_LIMIT: dict[str, tuple[SchemaLimits, Any, Any]] = {
    "characters": (SchemaLimits(characters=11), {"const": 1}, {"const": 12}),
    "depth": (SchemaLimits(depth=2), nested(3), nested(4)),
    "values": (SchemaLimits(values=4), {"enum": [1, 2]}, {"enum": [1, 2, 3]}),
    "properties": (
        SchemaLimits(properties=3),
        {"properties": {"a": {"properties": {"b": {}}}, "c": {}}},
        {"properties": {"a": {"properties": {"b": {}}}, "c": {}, "d": {}}},
    ),
    "enum_values": (
        SchemaLimits(enum_values=3),
        {"enum": [1, 2], "not": {"enum": [1]}},
        {"enum": [1, 2], "not": {"enum": [1, 2]}},
    ),
    "branches": (SchemaLimits(branches=2), {"anyOf": [{}, {}]}, {"anyOf": [{}, {}, {}]}),
    "subschemas": (SchemaLimits(subschemas=100), doubling(4), doubling(5)),
    "pattern_length": (
        SchemaLimits(pattern_length=3),
        {"pattern": "^a$"},
        {"patternProperties": {"^ab$": {}}},
    ),
    "pattern_repeats": (SchemaLimits(pattern_repeats=6), {"pattern": "(a{2}){3}"}, {"pattern": "(a{2}){4}"}),
}


def test_every_limit_is_here() -> None:
    """A limit that is added is tested."""
    assert list(AT_THE_LIMIT) == list(NAMES)


@pytest.mark.parametrize("name", AT_THE_LIMIT)
def test_the_limit_itself_passes_and_one_more_does_not(name: str) -> None:
    """The message has the number, and the setting that changes it."""
    limits, at, over = AT_THE_LIMIT[name]
    validator_of(at, tool=False, limits=limits)

    with pytest.raises(SchemaError, match=f"more than {getattr(limits, name)} .*--schema-limit {name}=…"):
        validator_of(over, tool=False, limits=limits)


@pytest.mark.parametrize(
    "schema",
    [
        nested(20_000),
        doubling(60),
        {"enum": list(range(20_000))},
        {"properties": {str(number): {} for number in range(6_000)}},
        {"anyOf": [{"const": number} for number in range(600)]},
        {"pattern": "^([a-z]{1,200}-){1,200}[0-9]{1,500}$"},
        {"pattern": "a" * 3_000},
        {"description": "y" * 2_000_000},
    ],
    ids=["depth", "doubling", "enum", "properties", "branches", "repeats", "pattern", "characters"],
)
def test_by_default_no_schema_is_too_large_to_be_handled(schema: Any) -> None:
    """What has held up other servers for seconds, or for ever (B244 among them), is refused (B327)."""
    with pytest.raises(SchemaError, match="--schema-limit"):
        validator_of(schema, tool=False)


CIRCLES = [
    {"$ref": "#"},
    {"allOf": [{"$ref": "#"}]},
    {"not": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
    {"if": {"$ref": "#/$defs/a"}, "$defs": {"a": {"then": {"$ref": "#"}}}},
    {"dependentSchemas": {"a": {"$ref": "#"}}},
    {"properties": {"a": {"$ref": "#/properties/a"}}},
]
TREES = [
    {"properties": {"next": {"$ref": "#"}}},
    {"anyOf": [{"type": "null"}, {"items": {"$ref": "#"}}]},
    {"$defs": {"a": {"additionalProperties": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
]
PLAIN = [
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}},
    {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"items": {}}}},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/a",
        "allOf": [{"$ref": "#"}],
    }
    | {"definitions": {"a": {}}},
    {"const": {"$ref": "#"}},
]


@pytest.mark.parametrize("schema", CIRCLES, ids=str)
def test_a_circle_of_references_is_refused(schema: Any) -> None:
    """It asks of a value what it asks of it already, and describes none."""
    with pytest.raises(SchemaError, match="leads back to itself and never ends"):
        validator_of(schema, tool=False)


@pytest.mark.parametrize("schema", [*TREES, *PLAIN], ids=str)
def test_a_reference_that_takes_the_value_apart_is_no_circle(schema: Any) -> None:
    """Trees and lists are described so; and up to draft 7 what stands beside `$ref` is not read."""
    validator_of(schema, tool=False)

    assert is_recursive(Document.load(schema)) is (schema in TREES)


def test_limits_are_changed_one_by_one() -> None:
    """The last word on a limit counts; the others keep their defaults."""
    limits = DEFAULT_LIMITS.changed([read_limit("depth=9"), read_limit("depth=10"), read_limit("values=1")])

    assert limits == SchemaLimits(depth=10, values=1)


@pytest.mark.parametrize(
    "text", ["deep=1", "depth", "depth=", "depth=0", "depth=-1", "depth=1.5", "depth=²", "=1"]
)
def test_a_limit_that_cannot_be_read_is_refused(text: str) -> None:
    """With the names that there are, or the form of a limit."""
    with pytest.raises(ValueError, match=r"none of the limits characters, depth|is not NAME=VALUE"):
        read_limit(text)
