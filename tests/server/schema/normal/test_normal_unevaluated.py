"""`unevaluatedProperties` and `unevaluatedItems`, which see what other nodes have spoken of."""

from typing import Any

import pytest

from tests.server.schema.normal.meaning import meaning_of, wrong_of

EXACT: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "through allOf": (
        {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False, "type": "object"},
        [{"a": 1}, {}],
        [{"b": 1}],
    ),
    "through a branch that holds": (
        {
            "type": "object",
            "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 1}}}],
            "unevaluatedProperties": False,
        },
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}],
        [{"a": 2}, {"a": 1, "c": 1}],
    ),
    "through if": (
        {
            "type": "object",
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"properties": {"b": {}}},
            "unevaluatedProperties": False,
        },
        [{"a": 1, "b": 1}, {}],
        [{"b": 1}, {"a": 2}],
    ),
    "not through not": (
        {"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": False, "type": "object"},
        [{}],
        [{"a": 1}],
    ),
    "not into cousins": (
        {"type": "object", "allOf": [{"properties": {"a": {}}}, {"unevaluatedProperties": False}]},
        [{}],
        [{"a": 1}],
    ),
    "an inner one has seen all": (
        {
            "type": "object",
            "allOf": [{"unevaluatedProperties": {"type": "integer"}}],
            "unevaluatedProperties": False,
        },
        [{"a": 1}],
        [{"a": "x"}],
    ),
    "through $ref": (
        {
            "$ref": "#/$defs/a",
            "unevaluatedItems": False,
            "$defs": {"a": {"prefixItems": [{"type": "null"}], "type": "array"}},
        },
        [[None], []],
        [[None, 1]],
    ),
    "items that contains has found": (
        {"type": "array", "contains": {"const": 1}, "unevaluatedItems": {"const": 2}},
        [[1], [2, 1]],
        [[2], [1, 3]],
    ),
}


@pytest.mark.parametrize(("schema", "good", "bad"), EXACT.values(), ids=EXACT)
def test_what_nobody_has_spoken_of_is_held(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """And nothing is noted."""
    assert wrong_of(schema, good, bad) == []


def test_more_branches_than_can_be_combined_are_noted() -> None:
    """Whichever of them hold, the mask lets their keys pass."""
    branches = [{"properties": {f"k{number}": {"const": 1}}} for number in range(9)]
    meaning = meaning_of({"type": "object", "anyOf": branches, "unevaluatedProperties": False})

    assert meaning.noted == [("#", "unevaluatedProperties")]
    assert meaning.allows({"k1": 1, "k7": 1})
