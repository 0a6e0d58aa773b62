"""Values on a mask: the mask chooses how they are spelled, and in which order their keys come."""

from dataclasses import replace
from typing import Any

import pytest

from server.mask.trial import MaskTrial, byte_tokens
from server.schema.document import SchemaError
from server.schema.plan import SchemaPlanner

PAIR = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"enum": ["x", "y"]}}},
    "required": ["a"],
}


def trial(schema: Any, *, closed: bool = True) -> MaskTrial:
    return MaskTrial(SchemaPlanner().plan(schema, closed=closed), byte_tokens())


@pytest.mark.parametrize(
    "value", [{"a": 1}, {"a": -7, "b": []}, {"b": ["x", "y", "x"], "a": 1}], ids=["one", "two", "other order"]
)
def test_right_values_are_written_whatever_their_order(value: Any) -> None:
    """The order of keys is the mask's, and means nothing in JSON."""
    assert trial(PAIR).accepts(value)


@pytest.mark.parametrize(
    "value", [{}, {"a": "1"}, {"a": 1, "b": ["z"]}, {"a": 1, "c": 1}, {"b": ["x"]}, [], 1, None]
)
def test_wrong_values_are_not_written(value: Any) -> None:
    """Neither as a whole nor with a part left out."""
    assert not trial(PAIR).accepts(value)


def test_a_value_is_tried_once_more_after_another() -> None:
    """A trial leaves nothing behind."""
    mask = trial(PAIR)

    assert [mask.accepts(value) for value in ({"a": 1}, {"a": None}, {"a": 1})] == [True, False, True]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 2.0),
        ({"type": "number"}, 2.5),
        ({"type": "number", "minimum": 0, "maximum": 1}, 1e-05),
        ({"type": "string"}, 'a "quote" and a \\ é\n'),
        ({"type": ["boolean", "null"]}, None),
    ],
)
def test_scalars_are_spelled_as_the_mask_has_them(schema: Any, value: Any) -> None:
    """A whole float is an integer, and small numbers need no exponent."""
    assert trial(schema).accepts(value)


def test_a_wrong_value_with_many_free_keys_is_given_up() -> None:
    """Its orders are more than can be tried."""
    free = {"type": "object", "additionalProperties": {"type": "integer"}}

    assert not trial(free, closed=False).accepts({**{f"k{i}": i for i in range(12)}, "last": "wrong"})


def test_a_mask_that_cannot_be_compiled_is_a_schema_error() -> None:
    """The caller reads one kind of error, whatever is the matter."""
    plan = SchemaPlanner().plan(True, closed=False)

    with pytest.raises(SchemaError, match="cannot be compiled"):
        MaskTrial(replace(plan, format={"type": "grammar", "grammar": "root ::= missing"}), byte_tokens())


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": {"type": "integer"}}, list(range(3_000))),
        (
            {"type": "object", "additionalProperties": {"type": "null"}},
            {f"k{key}": None for key in range(1_000)},
        ),
    ],
    ids=["array", "object"],
)
def test_a_long_value_is_written_without_the_stack(schema: Any, value: Any) -> None:
    """Only what is nested goes deeper."""
    assert trial(schema, closed=False).accepts(value)
