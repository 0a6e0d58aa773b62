"""What fails a node, keyword by keyword."""

from typing import Any

import pytest

from tests.server.schema.normal.meaning import meaning_of, wrong_of

OBJECT = {"type": "object", "additionalProperties": {"type": "integer"}}

EXACT: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "true": ({"anyOf": [{"not": True}, {"const": 1}]}, [1], [2]),
    "false": ({"not": False, "type": "null"}, [None], [1]),
    "type": ({"not": {"type": ["integer", "string"]}}, [1.5, None, []], [1, 1.0, "a"]),
    "const": ({"type": "number", "not": {"const": 1}}, [2, 1.5], [1, 1.0]),
    "false is not 0": ({"enum": [0, False], "not": {"const": False}}, [0], [False]),
    "enum": ({"type": ["string", "null"], "not": {"enum": ["a", None]}}, ["b", ""], ["a", None]),
    "minimum": ({"type": "number", "not": {"minimum": 2}}, [1.5], [2, 3]),
    "exclusiveMaximum": ({"type": "number", "not": {"exclusiveMaximum": 2}}, [2, 3], [1.9]),
    "whole": ({"type": "number", "not": {"multipleOf": 1}}, [1.5], [2]),
    "minLength": ({"not": {"minLength": 2}}, ["a"], ["ab", 1]),
    "maxLength": ({"not": {"maxLength": 2}}, ["abc"], ["ab", None]),
    "minLength of none": ({"anyOf": [{"not": {"minLength": 0}}, {"const": 1}]}, [1], ["", 2]),
    "pattern": ({"not": {"pattern": "^a"}}, ["b", ""], ["a", 1]),
    "minItems": ({"not": {"minItems": 2}}, [[], [1]], [[1, 2], 1]),
    "maxItems": ({"not": {"maxItems": 1}}, [[1, 2]], [[1], {}]),
    "items": ({"not": {"items": {"type": "integer"}}}, [["a"], [1, "a"]], [[], [1], 1]),
    "items after a tuple": ({"not": {"prefixItems": [True], "items": False}}, [[1, 2]], [[1], []]),
    "prefixItems": ({"not": {"prefixItems": [{"type": "null"}]}}, [[1], [1, 2]], [[None], [], 1]),
    "contains": ({"not": {"contains": {"const": 1}}}, [[], [2]], [[1], [2, 1], 1]),
    "maxContains": (
        {"not": {"contains": {"const": 1}, "minContains": 0, "maxContains": 1}},
        [[1, 1]],
        [[1], [], 1],
    ),
    "required": ({"not": {"required": ["a", "b"]}}, [{}, {"a": 1}], [{"a": 1, "b": 1}, 1]),
    "properties": ({"not": {"properties": {"a": {"const": 1}}}}, [{"a": 2}], [{"a": 1}, {}, 1]),
    "no other keys": (
        {**OBJECT, "maxProperties": 2, "not": {"additionalProperties": False}},
        [{"c": 1}],
        [{}],
    ),
    "other keys of a closed object": (
        {
            "properties": {"a": {}, "b": {"type": "integer"}},
            "additionalProperties": False,
            "not": {"properties": {"a": {}}, "additionalProperties": {"const": 1}},
        },
        [{"b": 2}, {"a": 1, "b": 2}],
        [{}, {"a": 1}, {"b": 1}, 1],
    ),
    "minProperties": ({"not": {"minProperties": 1}}, [{}], [{"a": 1}, 1]),
    "dependentRequired": (
        {"not": {"dependentRequired": {"a": ["b"]}}},
        [{"a": 1}],
        [{}, {"a": 1, "b": 1}, 1],
    ),
    "dependentSchemas": (
        {"not": {"dependentSchemas": {"a": {"maxProperties": 1}}}},
        [{"a": 1, "b": 1}],
        [{"a": 1}, {}, 1],
    ),
    "allOf": ({"not": {"allOf": [{"type": "integer"}, {"minimum": 2}]}}, [1, "a"], [2]),
    "anyOf": ({"not": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}, [None], [1, "a"]),
    "oneOf": ({"not": {"oneOf": [{"type": "integer"}, {"minimum": 2}]}}, [2, 1.5], [1, 2.5]),
    "not": ({"not": {"not": {"type": "null"}}}, [None], [1]),
    "if": (
        {"not": {"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}}},
        [0, None],
        [1, "a"],
    ),
    "$ref": ({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "null"}}}, [1], [None]),
    "what says nothing": ({"anyOf": [{"not": {"title": "all"}}, {"const": 1}]}, [1], [2]),
    "items of themselves": (
        {"type": "array", "items": {"not": {"$ref": "#"}}, "maxItems": 2},
        [[1], [[[]]]],
        [[[]], 1],
    ),
}


@pytest.mark.parametrize(("schema", "good", "bad"), EXACT.values(), ids=EXACT)
def test_what_fails_a_node_is_known_exactly(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """And nothing is noted."""
    assert wrong_of(schema, good, bad) == []


WIDENED: dict[str, tuple[Any, Any, Any]] = {
    "multipleOf": ({"multipleOf": 2}, 4, "a"),
    "format": ({"format": "date"}, "2024-01-01", 1),
    "uniqueItems": ({"uniqueItems": True}, [1, 2], [1]),
    "patternProperties": ({"patternProperties": {"a": False}}, {"b": 1}, {}),
    "propertyNames": ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {}),
    "additionalProperties": ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, {}),
    "unevaluatedProperties": ({"unevaluatedProperties": False}, {"a": 1}, {}),
    "unevaluatedItems": ({"unevaluatedItems": {"type": "integer"}}, [1], []),
}


@pytest.mark.parametrize(("schema", "wrong", "right"), WIDENED.values(), ids=WIDENED)
def test_what_is_negated_in_part_is_noted_where_it_is_asked_for(schema: Any, wrong: Any, right: Any) -> None:
    """The mask lets pass what breaks it, though not what is of another kind altogether."""
    meaning = meaning_of({"not": schema})

    assert meaning.noted == [("#", "not")]
    assert meaning.allows(wrong)
    assert not meaning.allows(right)
