"""A plan's mask: what it accepts and rejects, keyword by keyword, and what it says it does not hold."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.schema.document import SchemaError
from server.schema.plan import Root, SchemaPlan, SchemaPlanner, plan_schema

Accepts = Callable[[SchemaPlan, str], bool]


CASES = Path(__file__).parents[2] / "data" / "schemas"


def cases(name: str) -> list[Any]:
    """Read a table of cases, a JSON object a line."""
    lines = (CASES / name).read_text(encoding="utf-8").splitlines()
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


def closed_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize("case", cases("held.jsonl"))
def test_mask_holds_keyword_exactly(accepts: Accepts, case: dict[str, Any]) -> None:
    """A keyword that is not noted as unmasked is held: good values pass, bad ones cannot be written."""
    plan = plan_schema(case["schema"], closed=True)

    assert plan.unmasked == ()
    assert [text for text in case["good"] if not accepts(plan, text)] == []
    assert [text for text in case["bad"] if accepts(plan, text)] == []


@pytest.mark.parametrize("case", cases("noted.jsonl"))
def test_what_the_mask_does_not_hold_is_noted(accepts: Accepts, case: dict[str, Any]) -> None:
    """A constraint that the mask lets through is in the plan, with its place."""
    plan = plan_schema(case["schema"], closed=True)

    assert [[entry.pointer, entry.keyword] for entry in plan.unmasked] == case["noted"]
    assert accepts(plan, case["text"])
    assert not plan.exact


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"enum": []},
        {"type": "string", "minLength": 2, "maxLength": 1},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "number", "exclusiveMinimum": 1, "maximum": 1},
        {"type": "array", "items": False, "minItems": 1},
        {"allOf": [{"type": "string"}, {"type": "null"}]},
        {"anyOf": [False, {"not": {}}]},
        {"type": "string", "enum": [1]},
        {**closed_object(a=False), "required": ["a"]},
        {**closed_object(a=True), "minProperties": 2},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    ],
    ids=str,
)
def test_schema_without_a_value_is_refused(schema: Any) -> None:
    """A schema that no value satisfies is refused before the model would be sent into a dead end."""
    with pytest.raises(SchemaError, match="no value satisfies the schema"):
        plan_schema(schema, closed=True)


def test_open_object_takes_further_keys_after_its_own(accepts: Accepts) -> None:
    """Not closed, an object is open as JSON Schema says; its declared keys cannot be respelled to slip by."""
    plan = plan_schema({"type": "object", "properties": {"a": {"type": "null"}}}, closed=False)

    assert accepts(plan, '{"a": null, "b": [1]}')
    assert not accepts(plan, '{"a": 1}')
    assert not accepts(plan, '{"\\u0061": 1}')
    assert not accepts(plan, '{"a": null, "a": null}')


def test_required_key_that_is_not_declared_must_be_written(accepts: Accepts) -> None:
    """`required` holds for a key that only `additionalProperties` describes."""
    plan = plan_schema({"required": ["a"], "additionalProperties": {"type": "null"}}, closed=True)

    assert accepts(plan, '{"a": null, "b": null}')
    assert not accepts(plan, '{"a": 1}')
    assert not accepts(plan, '{"b": null}')


def test_object_root_admits_objects_only(accepts: Accepts) -> None:
    """The arguments of a call are an object, also where the schema says nothing of types."""
    plan = plan_schema({}, closed=False, root=Root.OBJECT)

    assert accepts(plan, '{"a": 1}')
    assert not accepts(plan, "1")


def test_spelling_is_fixed(accepts: Accepts) -> None:
    """Values are spelled with `", "` and `": "`, and nothing else between tokens."""
    plan = plan_schema({"type": "object", "properties": {"a": {"items": {"type": "null"}}}}, closed=True)

    assert accepts(plan, '{"a": [null, null]}')
    assert not accepts(plan, '{"a":[null,null]}')
    assert not accepts(plan, '{ "a": [null, null]}')


def test_planner_returns_the_plan_it_made() -> None:
    """The same schema is planned once; how it is closed, and its key order, are part of what it is."""
    planner = SchemaPlanner(size=8)
    schema = {"type": "object", "properties": {"a": {}, "b": {}}}

    plan = planner.plan(schema, closed=True)

    assert planner.plan(dict(schema), closed=True) is plan
    assert planner.plan(schema, closed=False) is not plan
    assert planner.plan({"properties": {"a": {}, "b": {}}, "type": "object"}, closed=True) is not plan


def test_planner_forgets_the_plan_longest_unused() -> None:
    """The cache is bounded, and keeps what is in use."""
    planner = SchemaPlanner(size=2)
    first = planner.plan({"const": 1}, closed=True)
    second = planner.plan({"const": 2}, closed=True)
    planner.plan({"const": 1}, closed=True)
    planner.plan({"const": 3}, closed=True)

    assert planner.plan({"const": 1}, closed=True) is first
    assert planner.plan({"const": 2}, closed=True) is not second


def test_planner_serves_threads() -> None:
    """Threads may share a planner, more of them than it remembers plans."""
    planner = SchemaPlanner(size=2)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for value in range(20):
                plan = planner.plan({"const": (value + number) % 5}, closed=True)
                assert not plan.validator.errors((value + number) % 5)
        except BaseException as error:  # noqa: BLE001 - whatever a thread meets must fail the test.
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
