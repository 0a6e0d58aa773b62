"""Objects: declared keys, free keys, and what all of them hold."""

from typing import Any

import pytest

from server.schema.document import SchemaError
from server.schema.nodes import Object
from tests.server.schema.normal.meaning import meaning_of, wrong_of

EXACT: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "properties of several members": (
        {"properties": {"a": {"minimum": 1}}, "allOf": [{"properties": {"a": {"type": "integer"}}}]},
        [{"a": 1}, {}, 3],
        [{"a": 0}, {"a": "x"}],
    ),
    "patterns that overlap": (
        {
            "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 2}},
            "additionalProperties": {"type": "null"},
        },
        [{"ac": 1, "cb": "x", "ab": 2, "c": None}],
        [{"ab": 1}, {"ab": "x"}, {"c": 1}, {"ac": None}],
    ),
    "declared key that matches a pattern": (
        {"properties": {"ab": {"minimum": 1}}, "patternProperties": {"^a": {"type": "integer"}}},
        [{"ab": 1}],
        [{"ab": 0}, {"ab": 1.5}, {"ac": 1.5}],
    ),
    "additionalProperties sees its own node's keys only": (
        {"allOf": [{"properties": {"a": {}}}], "additionalProperties": False},
        [{}],
        [{"a": 1}],
    ),
    "propertyNames": (
        {"propertyNames": {"pattern": "^a", "maxLength": 2}, "type": "object"},
        [{"a": 1, "ab": 1}],
        [{"b": 1}, {"abc": 1}],
    ),
    "propertyNames that lists them": (
        {"propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"type": "integer"}},
        [{"b": 1}, {}],
        [{"c": 1}, {"a": "x"}],
    ),
    "propertyNames of declared keys": (
        {"properties": {"abc": {}}, "propertyNames": {"anyOf": [{"const": "x"}, {"maxLength": 2}]}},
        [{"ab": 1, "x": 1}],
        [{"abc": 1}],
    ),
    "no names at all": ({"propertyNames": False, "type": "object"}, [{}], [{"a": 1}]),
    "forbidden key": ({"type": "object", "not": {"required": ["a"]}}, [{}, {"b": 1}], [{"a": 1}]),
    "counted keys": (
        {"properties": {"a": {}, "b": {}}, "required": ["a"], "minProperties": 2, "maxProperties": 2},
        [{"a": 1, "b": 1}, {"a": 1, "c": 1}],
        [{"a": 1}, {"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1}],
    ),
    "required key that must match": (
        {"required": ["ab"], "patternProperties": {"^a": {"type": "null"}}, "type": "object"},
        [{"ab": None}],
        [{"ab": 1}, {}],
    ),
}


@pytest.mark.parametrize(("schema", "good", "bad"), EXACT.values(), ids=EXACT)
def test_keys_hold_what_all_members_ask(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """And nothing is noted."""
    assert wrong_of(schema, good, bad) == []


def test_keys_come_in_the_order_of_the_schema() -> None:
    """Declared ones first, then the others, as they come."""
    meaning = meaning_of({"properties": {"b": {}, "a": {"properties": {"d": {}, "c": {}}}}})

    assert list(meaning.arranged({"z": 1, "a": 1, "b": 1, "y": 1})) == ["b", "a", "z", "y"]
    assert list(meaning.arranged({"a": {"c": 1, "d": 1}})["a"]) == ["d", "c"]


CLOSED: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "declared keys only": ({"properties": {"a": {}}}, [{"a": 1}, {}], [{"b": 1}]),
    "those of all members": (
        {"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}]},
        [{"a": 1, "b": 1}],
        [{"c": 1}],
    ),
    "open where it says so": ({"properties": {"a": {}}, "additionalProperties": True}, [{"b": 1}], [1]),
    "open where it declares nothing": ({"type": "object"}, [{"b": 1}], [1]),
    "patterns": ({"patternProperties": {"^a": {}}}, [{"ab": 1}], [{"b": 1}]),
    "no key that only a branch not taken speaks of": (
        {
            "type": "object",
            "oneOf": [
                {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
            ],
        },
        [{"a": 1}, {"b": 1}],
        [{"a": 1, "b": "x"}, {"a": 1, "b": 1}],
    ),
}


@pytest.mark.parametrize(("schema", "good", "bad"), CLOSED.values(), ids=CLOSED)
def test_closed_objects_have_the_keys_that_are_declared(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """Where a schema does not say what other keys are, a strict tool has none."""
    meaning = meaning_of(schema, closed=True)

    assert [value for value in good if not meaning.allows(value)] == []
    assert [value for value in bad if meaning.allows(value)] == []


def test_closed_schemas_have_the_types_that_their_keywords_speak_of() -> None:
    """Where no type is stated; a model is not to answer 3 where `minLength` stands."""
    meaning = meaning_of({"properties": {"s": {"minLength": 1}, "any": {"title": "Any"}}}, closed=True)

    assert meaning.allows({"s": "a", "any": 3})
    assert not meaning.allows({"s": 3})
    assert not meaning.allows(3)


def test_branches_are_compared_as_what_they_mean_where_a_mask_is_narrower() -> None:
    """A string fits a branch that speaks of numbers: closed or not, it fits both of these."""
    schema = {"oneOf": [{"minLength": 2}, {"maximum": 3}]}

    assert not meaning_of(schema, closed=True).allows("ab")
    assert meaning_of(schema, closed=True).allows("a")


def test_too_many_counted_keys_are_noted() -> None:
    """Counting takes a state for each key and count."""
    properties = {f"k{number}": {"type": "null"} for number in range(300)}
    meaning = meaning_of({"type": "object", "properties": properties, "minProperties": 100})

    assert meaning.noted == [("#", "minProperties")]
    assert isinstance(meaning.root, Object)
    assert meaning.root.least == 0


def test_too_many_optional_keys_are_refused() -> None:
    """Their mask takes minutes to compile; as many that are required are no trouble."""
    keys = [f"k{number}" for number in range(2_001)]
    schema = {"type": "object", "properties": dict.fromkeys(keys, True)}

    with pytest.raises(SchemaError, match="2,000 optional keys"):
        meaning_of(schema)
    meaning_of({**schema, "required": keys})
