"""Schemas within a format are held by our plans, those of a client's own form as the client asked."""

import pytest

from server.schema.document import SchemaError
from server.schema.inner import planned
from server.schema.plan import SchemaPlanner

NUMBER = {"type": "json_schema", "json_schema": {"type": "number"}}
WITHIN = {
    "type": "sequence",
    "elements": [{"type": "const_string", "value": "n="}, NUMBER, {"type": "optional", "content": NUMBER}],
}


def test_every_schema_within_is_planned() -> None:
    """However deep it stands, and whatever else stands beside it."""
    planner = SchemaPlanner()
    plan = planner.plan({"type": "number"}, closed=True).format

    assert planned(WITHIN, planner) == {
        "type": "sequence",
        "elements": [{"type": "const_string", "value": "n="}, plan, {"type": "optional", "content": plan}],
    }


def test_what_is_kept_is_left_as_it_is() -> None:
    """A client that sends a form of its own means XGrammar's."""
    either = {"type": "or", "elements": [WITHIN, NUMBER]}

    assert planned(either, SchemaPlanner(), kept=WITHIN)["elements"][0] is WITHIN


def test_a_schema_in_another_spelling_is_left_as_it_is() -> None:
    """Only JSON is planned."""
    spelled = {"type": "json_schema", "json_schema": {"type": "object"}, "style": "qwen_xml"}

    assert planned(spelled, SchemaPlanner()) == spelled


def test_a_schema_that_no_value_fits_is_an_error() -> None:
    """There is no mask of it."""
    with pytest.raises(SchemaError, match="no value satisfies"):
        planned({"type": "json_schema", "json_schema": False}, SchemaPlanner())
