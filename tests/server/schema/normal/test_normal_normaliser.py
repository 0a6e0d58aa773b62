"""The whole: recursion, what comes to nothing, and what is noted where."""

from typing import Any

import pytest

from server.schema.document import SchemaError
from server.schema.nodes import Anything, Literals, Object, Property, Reference, Union
from tests.server.schema.normal.meaning import meaning_of, wrong_of

EXACT: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "a tree": (
        {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False},
        [{}, {"next": {"next": {}}}],
        [{"next": 1}, {"next": {"other": 1}}],
    ),
    "a branch without an end": (
        {
            "anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}],
            "$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}},
        },
        [None],
        [{"a": None}, {}],
    ),
    "a key whose value has no end": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 1}},
        },
        [{}, {"b": 1}],
        [{"a": []}],
    ),
    "constants beside other keywords": (
        {"enum": ["a", "bb", 3, [1], {"c": 1}], "anyOf": [{"minLength": 2}, {"items": {"minimum": 2}}]},
        ["bb", 3, {"c": 1}, "a"],
        [[2], "b"],
    ),
    "constants that are equal": ({"enum": [1, 1.0, True]}, [1, True], [0, False]),
}


@pytest.mark.parametrize(("schema", "good", "bad"), EXACT.values(), ids=EXACT)
def test_schemas_mean_what_they_say(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """And nothing is noted."""
    assert wrong_of(schema, good, bad) == []


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (False, "#"),
        ({"type": "string", "minLength": 2, "maxLength": 1}, "#"),
        ({"properties": {"a": {"enum": []}}, "required": ["a"], "type": "object"}, "#/properties/a"),
        (
            {
                "type": "object",
                "required": ["a"],
                "properties": {
                    "a": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"minimum": 2, "maximum": 1} | {"type": "integer"},
                    }
                },
            },
            "#/properties/a/items",
        ),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "#"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "#"),
    ],
)
def test_a_schema_without_a_value_is_refused_with_the_place_of_the_contradiction(
    schema: Any, pointer: str
) -> None:
    """As far as one place is to blame."""
    with pytest.raises(SchemaError, match="no value satisfies") as caught:
        meaning_of(schema)

    assert caught.value.pointer == pointer


def test_what_stands_in_two_places_is_one_definition() -> None:
    """A reference is no node of its own."""
    item = {"type": "object", "properties": {"n": {"type": "null"}}, "additionalProperties": False}
    meaning = meaning_of(
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/item"}, "b": {"$ref": "#/$defs/item"}},
            "additionalProperties": False,
            "$defs": {"item": item},
        }
    )

    assert isinstance(meaning.root, Object)
    first, second = meaning.root.properties
    assert isinstance(second.value, Reference)
    assert meaning.seen(second.value) == meaning.seen(first.value)


def test_a_node_that_says_nothing_allows_anything() -> None:
    """However it says so."""
    assert meaning_of({"title": "T", "allOf": [{}, True]}).root == Anything()
    assert meaning_of({"anyOf": [{"type": "null"}, {}]}).root == Anything()


def test_a_union_has_each_value_once() -> None:
    """Constants together, and none that a type beside them has anyway."""
    schema = {"anyOf": [{"enum": ["a", 1]}, {"type": "integer"}, {"const": "b"}, {"enum": [False, 0]}]}
    root = meaning_of(schema).root

    assert isinstance(root, Union)
    assert Literals(("a", "b", False)) in root.nodes
    assert len(root.nodes) == 2


def test_constants_of_different_types_are_different() -> None:
    """To Python, false is 0, and 1 is true."""
    branches = [
        {"type": "object", "properties": {"a": {"const": value}}, "required": ["a"]} for value in (0, False)
    ]
    root = meaning_of({"anyOf": [{**branch, "additionalProperties": False} for branch in branches]}).root

    assert isinstance(root, Union)
    assert [node.properties for node in root.nodes if isinstance(node, Object)] == [
        (Property("a", Literals((0,)), required=True),),
        (Property("a", Literals((False,)), required=True),),
    ]


@pytest.mark.parametrize(
    ("schema", "noted"),
    [
        ({"properties": {"a": {"type": "array", "uniqueItems": True}}}, ("#/properties/a", "uniqueItems")),
        ({"if": {"uniqueItems": True}, "then": {"type": "array"}}, ("#", "if")),
        ({"allOf": [{"not": {"allOf": [{"multipleOf": 2}]}}]}, ("#/allOf/0", "not")),
        ({"oneOf": [{"type": "integer"}, {"multipleOf": 2, "type": "number"}]}, ("#", "oneOf")),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"not": {"format": "date"}}}}, ("#/$defs/a", "not")),
    ],
)
def test_notes_name_the_keyword_that_asks_for_what_is_not_held(schema: Any, noted: tuple[str, str]) -> None:
    """Where it stands in the schema, and not where it is used."""
    assert noted in meaning_of(schema).noted


def test_a_schema_of_too_many_bounds_is_refused() -> None:
    """Each of them is cheap, and all of them are a mask that nobody can wait for."""
    properties = {f"k{n}": {"type": "string", "minLength": n, "maxLength": 256} for n in range(200)}

    with pytest.raises(SchemaError, match="too large; its bounds and patterns are too many"):
        meaning_of({"type": "object", "properties": properties})


def test_a_schema_of_too_many_patterns_is_refused() -> None:
    """Their states cost more than those of lengths, which the compiler knows, so that fewer are too many."""
    properties = {f"k{n}": {"type": "string", "pattern": f"^[a-z]{{50,80}}{n}$"} for n in range(100)}

    with pytest.raises(SchemaError, match="patterns are too many"):
        meaning_of({"type": "object", "properties": properties})
    meaning_of({"type": "object", "properties": dict(list(properties.items())[:20])})
