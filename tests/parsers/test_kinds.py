"""What a schema says of a value, and text as a value of one of the kinds it allows."""

from typing import Any

import pytest

from parsers.arguments.kinds import ALL, Parameters, kind_of, kinds, read_value, resolved

ROOT: dict[str, Any] = {
    "$defs": {"id": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}, "a/b": {"type": "null"}},
    "properties": {"own": {"type": "string"}},
    "allOf": [{"properties": {"more": {"type": "boolean"}}}, {"$ref": "#/$defs/rest"}],
    "additionalProperties": {"type": "array"},
}

SCHEMAS: dict[str, tuple[Any, set[str]]] = {
    "a type": ({"type": "string"}, {"string"}),
    "numbers may be whole": ({"type": "number"}, {"number", "integer"}),
    "types": ({"type": ["string", "null", 3]}, {"string", "null"}),
    "const": ({"const": 1}, {"integer"}),
    "enum": (
        {"enum": ["a", None, True, 0.5, [], {}]},
        {"string", "null", "boolean", "number", "array", "object"},
    ),
    "reference": ({"$ref": "#/$defs/id"}, {"integer"}),
    "reference with an escape": ({"$ref": "#/$defs/a~1b"}, {"null"}),
    "union": ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"integer", "null"}),
    "exclusive union": ({"oneOf": [{"const": "a"}, {"type": "null"}]}, {"string", "null"}),
    "intersection": ({"allOf": [{"type": ["string", "null"]}, {"type": "string"}]}, {"string"}),
    "nothing": ({}, set(ALL)),
    "a boolean schema": (True, set(ALL)),
    "reference to itself": ({"$ref": "#/$defs/loop"}, set(ALL)),
    "reference elsewhere": ({"$ref": "https://example.com/a"}, set(ALL)),
    "reference to nothing": ({"$ref": "#/$defs/none/a"}, set(ALL)),
    "mistaken keywords": ({"type": 3, "anyOf": {}, "allOf": 3, "enum": 3}, set(ALL)),
}


@pytest.mark.parametrize(("schema", "expected"), SCHEMAS.values(), ids=SCHEMAS.keys())
def test_schema_tells_the_kinds_of_its_values(schema: Any, expected: set[str]) -> None:
    """A keyword that says nothing of the type, or that cannot be read, allows them all."""
    assert kinds(schema, ROOT) == expected


def test_arguments_are_found_wherever_a_schema_names_them() -> None:
    """Also behind references and in `allOf`; those it does not name are `additionalProperties`."""
    root = ROOT | {"$defs": {"rest": {"properties": {"far": {"const": 1}}}}}
    parameters = Parameters(root)

    assert [parameters.has(key) for key in ("own", "more", "far", "none")] == [True, True, True, False]
    assert parameters.kinds("far") == {"integer"}
    assert parameters.kinds("none") == {"array"}
    assert not Parameters({"$ref": "#"}).has("own")


def test_reference_is_replaced_by_what_it_points_to() -> None:
    """What stands beside it counts too; one that points to itself, or to nothing, says nothing."""
    assert resolved({"$ref": "#/$defs/id", "minimum": 1}, ROOT) == {"type": "integer", "minimum": 1}
    assert resolved({"$ref": "#/$defs/none", "minimum": 1}, ROOT) == {"minimum": 1}
    assert resolved({"$ref": "#/$defs/loop"}, ROOT) == {}
    assert resolved(True, ROOT) == {}


VALUES = [
    ("42", {"string"}, '"42"'),
    ("42", {"integer", "null"}, "42"),
    ("42", {"boolean"}, '"42"'),
    ("2.0", {"integer"}, "2.0"),
    ("2.5", {"integer"}, '"2.5"'),
    (" 2.5\n", {"number", "integer"}, "2.5"),
    ("0042", {"integer"}, '"0042"'),
    ("NaN", {"number"}, '"NaN"'),
    ("1e999", {"number"}, '"1e999"'),
    ("True", {"boolean"}, "true"),
    ("yes", {"boolean"}, '"yes"'),
    ("None", {"string", "null"}, "null"),
    ("null", {"string"}, '"null"'),
    ("null", {"integer"}, '"null"'),
    ('{"a": [1]}', {"object"}, '{"a": [1]}'),
    ("{'a': (True, None)}", {"object"}, '{"a": [true, null]}'),
    ("[1, 'x']", {"array"}, '[1, "x"]'),
    ("[1, x]", {"array"}, '"[1, x]"'),
    ("{1, 2}", {"object"}, '"{1, 2}"'),
    ('"quoted"', {"integer"}, '"\\"quoted\\""'),
    ("", {"integer"}, '""'),
]


@pytest.mark.parametrize(("text", "allowed", "expected"), VALUES)
def test_text_is_read_as_an_allowed_value_or_stays_text(text: str, allowed: set[str], expected: str) -> None:
    """A value that no allowed kind spells is left for the validator to judge."""
    assert read_value(text, frozenset(allowed)) == expected


def test_kinds_of_python_values_are_those_of_json() -> None:
    """A boolean is no number."""
    values: list[Any] = [True, 1, 1.0, None, "", [], {}]

    assert [kind_of(value) for value in values] == [
        "boolean",
        "integer",
        "number",
        "null",
        "string",
        "array",
        "object",
    ]
