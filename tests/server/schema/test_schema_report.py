"""The rows of a report: every constraint once, with who holds it."""

from typing import Any

import pytest

from server.schema.limits import DEFAULT_LIMITS
from server.schema.plan import SchemaPlanner
from server.schema.report import Handling, Row, report


def rows(schema: Any, *, closed: bool = True) -> tuple[Row, ...]:
    return report(schema, SchemaPlanner().plan(schema, closed=closed))


def test_constraints_are_told_from_descriptions() -> None:
    """A title can make no value wrong."""
    schema = {"title": "T", "type": "object", "properties": {"a": {"type": "null", "description": "A"}}}

    assert rows(schema) == (
        Row("#", "type", Handling.MASK),
        Row("#", "properties", Handling.MASK),
        Row("#/properties/a", "type", Handling.MASK),
    )


def test_what_the_mask_lets_pass_says_why() -> None:
    """Only that is left to the check."""
    items, unique, *_ = rows({"type": "array", "uniqueItems": True})

    assert items == Row("#", "type", Handling.MASK)
    assert (unique.keyword, unique.handling) == ("uniqueItems", Handling.CHECK)
    assert "compare" in unique.why


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "object", "additionalProperties": True}, "duplicate_key"),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "dependencies": {"a": {"not": {"properties": {"a": {"format": "date"}}}}},
            },
            "not",
        ),
    ],
)
def test_nothing_that_is_checked_is_left_out(schema: Any, keyword: str) -> None:
    """What the schema spells otherwise, or not at all, stands at the end."""
    checked = [row for row in rows(schema, closed=False) if row.handling is Handling.CHECK]

    assert keyword in {row.keyword for row in checked}
    assert all(row.why for row in checked)


@pytest.mark.parametrize(
    ("draft", "handling"),
    [
        ("http://json-schema.org/draft-04/schema#", Handling.ANNOTATION),
        ("http://json-schema.org/draft-06/schema#", Handling.CHECK),
        ("http://json-schema.org/draft-07/schema#", Handling.CHECK),
        ("https://json-schema.org/draft/2019-09/schema", Handling.ANNOTATION),
        ("https://json-schema.org/draft/2020-12/schema", Handling.ANNOTATION),
    ],
)
def test_contents_are_told_as_their_draft_has_them(draft: str, handling: Handling) -> None:
    """The validator asserts them in two drafts, in which the plan must not say that the mask holds all."""
    schema = {"$schema": draft, "type": "string", "contentEncoding": "base64"}
    plan = SchemaPlanner().plan(schema, closed=True)
    found = {row.keyword: row.handling for row in report(schema, plan)}

    assert found == {"type": Handling.MASK, "contentEncoding": handling}
    assert plan.exact == (not plan.validator.errors("%%%"))


def test_a_schema_that_was_planned_under_wider_limits_has_a_report() -> None:
    """The server's limits are not those of the report."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(DEFAULT_LIMITS.depth + 1):
        schema = {"type": "array", "items": schema}
    plan = SchemaPlanner(limits=DEFAULT_LIMITS.changed([("depth", 200)])).plan(schema, closed=True)

    assert report(schema, plan)[-1].pointer.endswith("/items/items")
