"""Arrays: items by place, what they must contain, and that none repeats."""

from typing import Any

import pytest

from server.schema.nodes import Array, Literals
from tests.server.schema.normal.meaning import meaning_of, wrong_of

EXACT: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "rows of several members": (
        {"prefixItems": [{"minimum": 1}], "allOf": [{"items": {"type": "integer"}}], "type": "array"},
        [[1, 0], []],
        [[0], [1, "a"]],
    ),
    "a place that nothing fits ends the array": (
        {"prefixItems": [{}, False], "type": "array"},
        [[1], []],
        [[1, 2]],
    ),
    "contains": (
        {"type": "array", "contains": {"const": 1}, "minContains": 2, "maxContains": 3},
        [[1, 1], [2, 1, 2, 1, 1]],
        [[1], [1, 1, 1, 1], []],
    ),
    "contains none": ({"type": "array", "contains": {"const": 1}, "minContains": 0}, [[], [2]], [1]),
    "contains at most none": (
        {"type": "array", "contains": {"const": 1}, "minContains": 0, "maxContains": 0},
        [[], [2]],
        [[1], [2, 1]],
    ),
    "contains more than it may": (
        {"anyOf": [{"contains": True, "minContains": 2, "maxContains": 1}, {"const": 0}]},
        [0, "a"],
        [[], [1], [1, 1]],
    ),
    "contains in a tuple": (
        {"prefixItems": [{}, {"type": "integer"}], "items": False, "contains": {"const": 1}},
        [[1], [0, 1], [1, 1]],
        [[], [0], [0, 0]],
    ),
    "contains two things in a short array": (
        {
            "type": "array",
            "maxItems": 2,
            "allOf": [{"contains": {"const": 1}}, {"contains": {"minimum": 1}, "maxContains": 1}],
        },
        [[1], [1, 0], [0, 1]],
        [[], [1, 2], [2, 1], [0]],
    ),
    "all items must match": (
        {"type": "array", "items": {"const": 1}, "contains": {"const": 1}, "minContains": 2},
        [[1, 1]],
        [[1], [2, 1, 1]],
    ),
    "unique choices": (
        {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 1},
        [["c", "a"], ["a", "b", "c"]],
        [[], ["a", "a"], ["a", "b", "c", "a"]],
    ),
    "unique flags in a tuple": (
        {"prefixItems": [{"type": "boolean"}, {"type": "boolean"}], "items": False, "uniqueItems": True}
        | {"type": "array"},
        [[True, False], [True]],
        [[True, True]],
    ),
    "unique by kind": (
        {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "uniqueItems": True}
        | {"type": "array"},
        [["a", 1]],
        [[1, 1]],
    ),
    "unique, and contains": (
        {
            "type": "array",
            "items": {"type": ["boolean", "null"]},
            "uniqueItems": True,
            "contains": {"const": None},
        },
        [[None], [True, None]],
        [[True], [None, None]],
    ),
    "not unique after all": ({"type": "array", "uniqueItems": False, "items": {"const": 1}}, [[1, 1]], [[2]]),
}


@pytest.mark.parametrize(("schema", "good", "bad"), EXACT.values(), ids=EXACT)
def test_items_hold_what_all_members_ask(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """And nothing is noted."""
    assert wrong_of(schema, good, bad) == []


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"type": "array", "items": {"enum": list(range(9))}, "uniqueItems": True}, "uniqueItems"),
        ({"type": "array", "prefixItems": [{}], "contains": {"const": 1}}, "contains"),
        ({"type": "array", "contains": {"const": 1}, "minContains": 40}, "contains"),
        ({"type": "array", "minItems": 10**18}, "minItems"),
        ({"type": "array", "maxItems": 10**18}, "maxItems"),
    ],
)
def test_what_is_not_held_is_noted(schema: Any, keyword: str) -> None:
    """And the mask allows all arrays of such items."""
    meaning = meaning_of(schema)

    assert meaning.noted == [("#", keyword)]
    assert isinstance(meaning.root, Array)


def test_few_choices_are_written_out() -> None:
    """Each array that has none twice."""
    meaning = meaning_of({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True})

    assert meaning.root == Literals(([], [True], [False], [True, False], [False, True]))
