"""The warm-up: what it compiles serves the masks that come after it."""

import pytest

from parsers.spelling import JSON
from server.schema.automata.languages import Languages
from server.schema.automata.rules import HasFormat, LongerOrEqual, Rule, ShorterOrEqual, TextLimit
from server.schema.emit.emit import emit
from server.schema.nodes import Object, Property, Text, Values
from server.schema.plan import SchemaPlanner
from server.schema.unmasked import Ledger
from server.schema.warmup import warm_up_schema

LANGUAGES = Languages()


def grammar(*limits: TextLimit) -> str:
    """An object with one property of these limits."""
    language = LANGUAGES.text([Rule("#", "limit", limit) for limit in limits], Ledger())
    return emit(Values(Object((Property("name", Text(language), required=True),), ()), {}), JSON)


@pytest.mark.parametrize(
    ("limits", "warm"),
    [
        ((ShorterOrEqual(40),), (ShorterOrEqual(256),)),
        ((LongerOrEqual(1), ShorterOrEqual(40)), (LongerOrEqual(1), ShorterOrEqual(256))),
        ((LongerOrEqual(3), ShorterOrEqual(40)), (ShorterOrEqual(256),)),
        ((HasFormat("date-time"),), (HasFormat("date-time"),)),
    ],
    ids=str,
)
def test_rules_of_strings_are_among_those_of_the_warm_up(
    limits: tuple[TextLimit, ...], warm: tuple[TextLimit, ...]
) -> None:
    """XGrammar knows a rule again by its structure, in whatever grammar it stands, and down to its end."""
    least = max([0, *(limit.length for limit in limits if isinstance(limit, LongerOrEqual))])

    new = set(grammar(*limits).splitlines()) - set(grammar(*warm).splitlines())

    # The start of the grammar, what must be written first, and the step from that to what may follow.
    assert len(new) <= 2 + 2 * least
    assert len(grammar(*limits).splitlines()) > 20


def test_the_warm_up_can_be_planned_and_is_exact_but_for_outlines() -> None:
    """Strings of every length that a mask counts, and every format."""
    plan = SchemaPlanner().plan(warm_up_schema(), closed=True)

    assert {entry.keyword for entry in plan.unmasked} == {"format"}
