"""Choices of one node, spelled out together."""

from typing import Any

import pytest

from tests.server.schema.normal.meaning import meaning_of, wrong_of

KINDS = [f"kind{number}" for number in range(30)]
TAGGED = {
    "type": "object",
    "properties": {"kind": {"enum": KINDS}, "n": {"type": "integer"}},
    "required": ["kind", "n"],
    "allOf": [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": {"n": {"const": number}}}}
        for number, kind in enumerate(KINDS)
    ],
}

EXACT: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "anyOf beside other keywords": (
        {"type": "integer", "minimum": 2, "anyOf": [{"maximum": 3}, {"const": 9}]},
        [2, 3, 9],
        [1, 4],
    ),
    "two unions": (
        {
            "anyOf": [{"minimum": 2}, {"type": "null"}],
            "oneOf": [{"type": ["null", "integer"]}, {"const": 2.5}],
        },
        [2, None, 2.5],
        [1, 3.5],
    ),
    "oneOf that overlaps": (
        {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]},
        [1, 2.5],
        [2, 1.5],
    ),
    "oneOf of everything": ({"oneOf": [True, {"type": "null"}]}, [1], [None]),
    "oneOf of open objects": (
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        [{"a": 1}, {"b": 1, "c": 1}],
        [{}, {"a": 1, "b": 1}],
    ),
    "oneOf told apart by what stands beside it": (
        {"type": "string", "oneOf": [{"minLength": 2}, {"type": ["integer", "array"]}]},
        ["ab"],
        ["a", 1],
    ),
    "if": ({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"const": 1}}, ["a", 1], ["", 2]),
    "as many ifs as there are kinds": (
        TAGGED,
        [{"kind": "kind0", "n": 0}, {"kind": "kind29", "n": 29}],
        [{"kind": "kind0", "n": 1}, {"kind": "kind29", "n": 0}],
    ),
    "dependentRequired": (
        {"dependentRequired": {"a": ["b"], "b": ["a"]}, "type": "object"},
        [{}, {"a": 1, "b": 1}, {"c": 1}],
        [{"a": 1}, {"b": 1}],
    ),
    "draft 7's dependencies": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "dependencies": {"a": ["b"], "c": {"maxProperties": 1}},
        },
        [{"a": 1, "b": 1}, {"c": 1}, 1],
        [{"a": 1}, {"c": 1, "d": 1}],
    ),
}


@pytest.mark.parametrize(("schema", "good", "bad"), EXACT.values(), ids=EXACT)
def test_choices_are_made_together(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """With all that stands beside them, and nothing is noted."""
    assert wrong_of(schema, good, bad) == []


def test_too_many_combinations_are_noted() -> None:
    """What is not spelled out allows more, and the keyword that asks for it is named."""
    unions = [{"anyOf": [{"multipleOf": n + 2}, {"minimum": n}, {"pattern": f"{n}"}]} for n in range(9)]
    meaning = meaning_of({"allOf": unions})

    assert meaning.noted
    assert {keyword for _, keyword in meaning.noted} == {"anyOf"}
    assert {pointer for pointer, _ in meaning.noted} < {f"#/allOf/{number}" for number in range(9)}
    assert meaning.allows(1_000_000)


def test_a_long_union_is_spelled_out() -> None:
    """However many branches it has, as long as it stands alone."""
    meaning = meaning_of(
        {
            "oneOf": [
                {"type": "object", "required": [f"k{n}"], "properties": {"t": {"const": n}}}
                | {"additionalProperties": False, "properties": {"t": {"const": n}, f"k{n}": {}}}
                for n in range(120)
            ]
        }
    )

    assert meaning.noted == []
    assert meaning.allows({"k7": 1, "t": 7})
    assert not meaning.allows({"k7": 1, "t": 8})


def test_what_comes_to_nothing_leaves_no_note() -> None:
    """A branch that contradicts what stands beside it may hold what no mask can."""
    meaning = meaning_of(
        {"type": "null", "anyOf": [{"type": "null"}, {"type": "array", "uniqueItems": True}]}
    )

    assert meaning.noted == []


def test_branches_of_which_too_many_overlap_are_noted() -> None:
    """Keeping each of them apart from all others would be too much."""
    branches = [{"type": "object", "required": [f"k{number}"]} for number in range(40)]
    meaning = meaning_of({"oneOf": branches})

    assert meaning.noted == [("#", "oneOf")]
    assert meaning.allows({"k1": 1, "k2": 1})
    assert not meaning.allows({"k": 1})


def test_choices_within_branches_are_left_undecided_where_they_are_too_many() -> None:
    """Of the branches themselves none is lost."""
    inner = [
        {"anyOf": [{"multipleOf": p}, {"multipleOf": q}]} for p, q in ((2, 3), (5, 7), (11, 13), (17, 19))
    ]
    branches = [
        {"minimum": n, "maximum": n + 9, "allOf": inner, "type": "integer"} for n in range(0, 200, 10)
    ]
    meaning = meaning_of({"anyOf": branches})

    assert meaning.noted
    assert {keyword for _, keyword in meaning.noted} == {"anyOf"}
    assert meaning.allows(0)
    assert not meaning.allows(200)
    assert not meaning.allows(2.5)
