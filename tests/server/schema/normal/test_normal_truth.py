"""Whether members hold for values that are known."""

from decimal import Decimal
from typing import Any

import pytest

from server.schema.automata import rules
from server.schema.automata.rules import Rule
from server.schema.document import Document
from server.schema.normal.facts import (
    Among,
    At,
    Counted,
    Differs,
    Either,
    Fails,
    Has,
    Holding,
    Holds,
    Kinds,
    Lacks,
    Member,
    Place,
    Ruled,
)
from server.schema.normal.truth import Truth, canonical, kind_of

PLACE = Place("#", "not")
DOCUMENT = Document.load(
    {
        "$id": "http://x.y/z",
        "type": ["integer", "string"],
        "$defs": {"own": {"$ref": "#/$defs/long"}, "long": {"minLength": 3}, "all": True},
    }
)
NODES = {node.pointer: node for node in DOCUMENT.walk()}
ONE = Kinds(frozenset(("integer",)))
TEXT = Kinds(frozenset(("string",)))


def number(limit: rules.Limit) -> Member:
    return Ruled("number", Rule("#", "minimum", limit))


def string(limit: rules.Limit) -> Member:
    return Ruled("string", Rule("#", "pattern", limit))


MEMBERS: list[tuple[Member, list[Any], list[Any]]] = [
    (Holds(NODES["#"]), [1, 1.0, "a"], [None, True, 1.5]),
    (Holds(NODES["#/$defs/own"]), ["abc", 1], ["ab"]),
    (Fails(NODES["#/$defs/long"], (), PLACE), ["ab"], ["abc", 1]),
    (Fails(NODES["#/$defs/all"], (), PLACE), [], [1]),
    (ONE, [1, 1.0], [True, 1.5, "1"]),
    (Among(PLACE, (1, "a")), [1, 1.0, "a"], [True, "b"]),
    (Differs(PLACE, PLACE, (0, [1])), [False, [1.5]], [0, 0.0, [1.0]]),
    (Either((ONE, TEXT), PLACE), [1, "a"], [None]),
    (number(rules.AtLeast(Decimal(2), exclusive=True)), [3, "a"], [2]),
    (number(rules.AtMost(Decimal("1.5"))), [1.5], [2]),
    (number(rules.MultipleOf(Decimal("0.5"))), [1.5, 2], [1.2]),
    (string(rules.ShorterOrEqual(1)), ["a", 10], ["ab"]),
    (string(rules.LongerOrEqual(1)), ["a"], [""]),
    (string(rules.MatchesNot("^a")), ["b", 1], ["ab"]),
    (string(rules.HasFormat("date")), ["2024-02-29"], ["2023-02-29"]),
    (Has("a", ONE), [{"a": 1}, "a"], [{}, {"a": "x"}]),
    (Lacks("a"), [{}, [1]], [{"a": 1}]),
    (At(1, ONE), [[None, 1], "a"], [[1], [1, None]]),
    (Counted("object", 1, 1, PLACE), [{"a": 1}, []], [{}, {"a": 1, "b": 1}]),
    (Counted("array", 1, None, PLACE), [[1], {}], [[]]),
    (Holding(ONE, TEXT, 1, 1, (), PLACE), [[1, "a"], {}], [[], [1, 1]]),
]


@pytest.mark.parametrize(("member", "good", "bad"), MEMBERS)
def test_members_hold_for_what_they_say(member: Member, good: list[Any], bad: list[Any]) -> None:
    """And for values that they do not speak of."""
    truth = Truth(DOCUMENT)

    assert [value for value in good if not truth.holds(member, value)] == []
    assert [value for value in bad if truth.holds(member, value)] == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((None, "null"), (True, "boolean"), (1, "integer"), (1.0, "integer"), (1.5, "fraction")),
        *((Decimal("1e400"), "integer"), (Decimal("0.5"), "fraction"), ("", "string"), ([], "array")),
        ({}, "object"),
    ],
)
def test_every_value_is_of_one_kind(value: Any, kind: str) -> None:
    """Numbers of two."""
    assert kind_of(value) == kind


def test_equal_values_have_one_canonical_form() -> None:
    """As JSON counts them, and not Python."""
    assert canonical([1, {"a": 1.0, "b": None}]) == canonical([1.0, {"b": None, "a": 1}])
    assert canonical(1) != canonical(True)
    assert canonical([0]) != canonical([False])
    assert canonical("1") != canonical(1)
