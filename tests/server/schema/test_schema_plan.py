"""A plan's mask: what it accepts and rejects, keyword by keyword, and what it says it does not hold."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from server.schema.document import SchemaError
from server.schema.plan import Root, SchemaPlan, SchemaPlanner, plan_schema

Accepts = Callable[[SchemaPlan, str], bool]


def closed_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}
KINDS = [
    {
        "type": "object",
        "properties": {"kind": {"const": kind}, kind: {"type": "integer"}},
        "required": ["kind", kind],
    }
    for kind in ("a", "b")
]

# Schemas that the mask holds exactly, closed: id, schema, texts accepted, texts rejected.
HELD: list[tuple[str, Any, list[str], list[str]]] = [
    ("type", {"type": "integer"}, ["0", "-7"], ["1.5", '"1"', "true", "null", "1e3"]),
    ("type-list", {"type": ["null", "boolean"]}, ["null", "true"], ["0", '"true"']),
    ("type-integer-in-number", {"type": ["integer", "number"]}, ["1", "1.5", "1e5"], ["01", "+1", ".5", "NaN"]),
    ("enum", {"enum": ["a", 1.5, None, [1, {"k": "é"}]]}, ['"a"', "1.5", "null", '[1, {"k": "é"}]'], ['"b"']),
    ("enum-with-type", {"type": "string", "enum": ["a", 1]}, ['"a"'], ["1"]),
    ("enum-with-length", {"enum": ["aaaa", "b"], "minLength": 3}, ['"aaaa"'], ['"b"']),
    ("enum-big-integer", {"enum": [2**70]}, [str(2**70)], ["1"]),
    ("const", {"const": 'say "hi"\n'}, ['"say \\"hi\\"\\n"'], ['"say"']),
    ("const-false-is-not-zero", {"enum": [False]}, ["false"], ["0"]),
    ("const-with-anyOf", {"enum": [1, 5], "anyOf": [{"minimum": 3}, {"maximum": 0}]}, ["5"], ["1"]),
    ("minimum", {"type": "integer", "minimum": -3}, ["-3", "100"], ["-4"]),
    ("minimum-fraction", {"type": "integer", "minimum": 1.5}, ["2"], ["1"]),
    ("exclusiveMaximum", {"type": "integer", "exclusiveMaximum": 5}, ["4"], ["5"]),
    ("bounds-without-type", {"minimum": 3, "maximum": 4}, ["3", "3.5"], ["2", "4.1", '"x"']),
    ("number-bounds", {"type": "number", "minimum": 0.5, "exclusiveMaximum": 2}, ["0.5", "1.75"], ["0.4", "2", "2.0"]),
    ("number-one-point", {"type": "number", "minimum": 2.5, "maximum": 2.5}, ["2.5"], ["2", "3"]),
    ("multipleOf", {"type": "integer", "multipleOf": 3}, ["-3", "9"], ["4"]),
    ("multipleOf-bounded", {"type": "integer", "multipleOf": 5, "minimum": 1, "maximum": 11}, ["5", "10"], ["0", "3"]),
    ("multipleOf-number", {"type": "number", "multipleOf": 2}, ["4"], ["3", "2.5"]),
    ("minLength", {"type": "string", "minLength": 2}, ['"ab"', '"\\n\\""', '"é😀"'], ['"a"', '"\\n"', '"😀"']),
    ("maxLength", {"type": "string", "maxLength": 2}, ['""', '"a\\\\"', '"\\u00e9b"'], ['"abc"', '"a\tb"']),
    ("lengths", {"type": "string", "minLength": 1, "maxLength": 2}, ['"a"'], ['""', '"abc"']),
    ("pattern-is-searched", {"pattern": "b"}, ['"b"', '"abc"'], ['"ac"', "1"]),
    ("pattern-anchored", {"type": "string", "pattern": "^a+$"}, ['"aa"'], ['"ab"', '""']),
    ("pattern-quote", {"type": "string", "pattern": '^"$'}, ['"\\""'], ['"""']),
    ("pattern-backslash", {"type": "string", "pattern": r"^a\\b$"}, ['"a\\\\b"'], ['"a\\b"']),
    ("pattern-optional-group", {"pattern": "^a(b[0-9]+)?c$"}, ['"ac"', '"ab1c"'], ['"a1c"']),
    ("pattern-with-length-it-keeps", {"pattern": "^[a-z]{2,3}$", "maxLength": 3}, ['"ab"'], ['"a"', '"abcd"']),
    ("format-date", {"type": "string", "format": "date"}, ['"2024-02-29"'], ['"2023-02-29"', '"2024-1-01"']),
    ("format-uuid", {"format": "uuid"}, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123e4567"']),
    ("items", {"type": "array", "items": {"type": "null"}}, ["[]", "[null, null]"], ["[1]"]),
    ("items-false", {"type": "array", "items": False}, ["[]"], ["[1]"]),
    ("prefixItems", {"prefixItems": [{"type": "null"}], "items": {"type": "integer"}}, ["[null, 1]"], ["[1]"]),
    ("minItems", {"type": "array", "items": {"type": "null"}, "minItems": 1}, ["[null]"], ["[]"]),
    ("maxItems", {"type": "array", "items": {"type": "null"}, "maxItems": 1}, ["[]"], ["[null, null]"]),
    ("uniqueItems-of-one", {"items": {"type": "null"}, "maxItems": 1, "uniqueItems": True}, ["[null]"], ["[1]"]),
    ("unevaluatedItems-flat", {"type": "array", "unevaluatedItems": {"type": "null"}}, ["[null]"], ["[1]"]),
    ("properties", closed_object(a={"type": "null"}), ["{}", '{"a": null}'], ['{"a": 1}', '{"b": 1}']),
    ("closed", {"type": "object", "properties": {"a": {"type": "null"}}}, ['{"a": null}'], ['{"b": 1}']),
    ("properties-false", closed_object(a=False, b={"type": "null"}), ['{"b": null}'], ['{"a": 1}']),
    ("required", {**closed_object(a={"type": "null"}), "required": ["a"]}, ['{"a": null}'], ["{}"]),
    ("unevaluatedProperties-flat", {"properties": {"a": {"type": "null"}}, "unevaluatedProperties": False},
     ["{}"], ['{"b": 1}']),
    ("propertyNames-enum", {"propertyNames": {"enum": ["a"]}, "additionalProperties": {"type": "null"}},
     ["{}", '{"a": null}'], ['{"b": null}']),
    ("minProperties", {**closed_object(a={"type": "null"}, b={"type": "null"}), "minProperties": 1},
     ['{"b": null}'], ["{}"]),
    ("maxProperties", {**closed_object(a={"type": "null"}, b={"type": "null"}), "maxProperties": 1},
     ["{}", '{"b": null}'], ['{"a": null, "b": null}']),
    ("allOf-merged", {"allOf": [{"type": "string", "minLength": 1}, {"maxLength": 2}]}, ['"a"'], ['""', '"abc"']),
    ("allOf-objects", {"allOf": [{"properties": {"a": {"minimum": 1}}, "required": ["a"]},
                                 {"properties": {"a": {"type": "integer"}, "b": {"type": "null"}}}]},
     ['{"a": 1}', '{"a": 2, "b": null}'], ['{"a": 0}', '{"b": null}']),
    ("anyOf", {"anyOf": [{"type": "null"}, {"type": "integer"}]}, ["null", "1"], ['"a"']),
    ("anyOf-with-siblings", {**closed_object(a={"type": "null"}, b={"type": "null"}),
                             "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, ['{"b": null}'], ["{}", "1"]),
    ("oneOf-by-type", {"oneOf": [{"type": "null"}, {"type": "integer"}]}, ["null"], ["true"]),
    ("oneOf-by-key", {"oneOf": KINDS}, ['{"kind": "a", "a": 1}'], ['{"kind": "a", "b": 1}']),
    ("not-nothing", {"anyOf": [{"not": {}}, {"type": "null"}]}, ["null"], ["1"]),
    ("ref", {"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, ["null"], ["1"]),
    ("ref-with-siblings", {"$ref": "#/$defs/a", "maxLength": 1, "$defs": {"a": {"type": "string"}}}, ['"a"'], ['"ab"']),
    ("ref-escaped", {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "null"}}}, ["null"], ["1"]),
    ("ref-anchor", {"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "null"}}}, ["null"], ["1"]),
    ("ref-by-own-id", {"$id": "http://x/y", "$ref": "http://x/y#/$defs/a", "$defs": {"a": {"type": "null"}}},
     ["null"], ["1"]),
    ("ref-recursive", {"$ref": "#/$defs/node", "$defs": {"node": NODE}}, ['{"next": {"next": {}}}'], ['{"next": 1}']),
    ("ref-endless-branch", {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}],
                            "$defs": {"a": {**closed_object(a={"$ref": "#/$defs/a"}), "required": ["a"]}}},
     ["null"], ['{"a": null}']),
    ("draft4-exclusive", {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer",
                          "minimum": 3, "exclusiveMinimum": True}, ["4"], ["3"]),
    ("draft4-exclusive-unstated", {"type": "integer", "minimum": 3, "exclusiveMinimum": True}, ["4"], ["3"]),
    ("draft7-tuple", {"items": [{"type": "null"}], "additionalItems": False}, ["[]", "[null]"], ["[1]", "[null, 1]"]),
    ("draft7-ref-alone", {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "null"}},
                          "properties": {"a": {"$ref": "#/definitions/a", "type": "string"}}}, ['{"a": null}'], ["1"]),
    ("nullable-is-no-keyword", {"type": "string", "nullable": True}, ['"a"'], ["null"]),
    ("surrogates-in-pairs", {"type": "string"}, ['"\\ud83d\\ude00"', '"\\u00e9"'], ['"\\ud83d"', '"\\ude00\\ud83d"']),
]  # fmt: skip

# Constraints that the mask does not hold: id, schema, what is noted, a text that the mask allows in spite.
NOTED: list[tuple[str, Any, list[tuple[str, str]], str]] = [
    ("uniqueItems", {"items": {"type": "null"}, "uniqueItems": True}, [("#", "uniqueItems")], "[null, null]"),
    ("contains", {"items": {"type": "integer"}, "contains": {"minimum": 5}}, [("#", "contains")], "[1]"),
    ("maxContains", {"items": {"type": "null"}, "contains": {}, "minContains": 0, "maxContains": 1},
     [("#", "maxContains")], "[null, null]"),
    ("not", {"type": "integer", "not": {"const": 1}}, [("#", "not")], "1"),
    ("if", {"type": "integer", "if": {"minimum": 1}, "then": {"minimum": 5}}, [("#", "if")], "1"),
    ("dependentRequired", {**closed_object(a={"type": "null"}, b={"type": "null"}), "dependentRequired": {"a": ["b"]}},
     [("#", "dependentRequired")], '{"a": null}'),
    ("dependencies", {**closed_object(a={"type": "null"}, b={"type": "null"}), "dependencies": {"a": ["b"]}},
     [("#", "dependencies")], '{"a": null}'),
    ("dependentSchemas", {**closed_object(a={"type": "null"}), "dependentSchemas": {"a": False}},
     [("#", "dependentSchemas")], '{"a": null}'),
    ("oneOf-overlap", {"oneOf": [{"type": "integer"}, {"minimum": 3, "type": "number"}]}, [("#", "oneOf")], "4"),
    ("oneOf-open-objects", {"oneOf": [closed_object(a={"type": "null"}), closed_object(b={"type": "null"})]},
     [("#", "oneOf")], "{}"),
    ("pattern-lookahead", {"type": "string", "pattern": "^(?=a)"}, [("#", "pattern")], '"b"'),
    ("pattern-unicode", {"type": "string", "pattern": r"^\p{L}$"}, [("#", "pattern")], '"1"'),
    ("pattern-long-repeat", {"type": "string", "pattern": "^.{1,500}$"}, [("#", "pattern")], '"' + "a" * 501 + '"'),
    ("pattern-second", {"allOf": [{"type": "string", "pattern": "a"}, {"pattern": "b"}]},
     [("#/allOf/1", "pattern")], '"a"'),
    ("pattern-and-length", {"pattern": "^a*$", "type": "string", "maxLength": 2}, [("#", "maxLength")], '"aaa"'),
    ("maxLength-large", {"type": "string", "maxLength": 300}, [("#", "maxLength")], '"' + "a" * 301 + '"'),
    ("format-unknown", {"type": "string", "format": "regex"}, [("#", "format")], '"("'),
    ("format-outline", {"type": "string", "format": "email"}, [("#", "format")], '"' + "a" * 70 + '@b"'),
    ("multipleOf-fraction", {"type": "number", "multipleOf": 0.01}, [("#", "multipleOf")], "0.001"),
    ("multipleOf-unbounded", {"type": "integer", "multipleOf": 3, "minimum": 1}, [("#", "multipleOf")], "4"),
    ("minimum-64-bits", {"type": "integer", "minimum": 2**64}, [("#", "minimum")], "1"),
    ("unevaluatedItems", {"allOf": [{"prefixItems": [{"type": "null"}]}], "items": {"type": "null"},
                          "unevaluatedItems": False}, [("#", "unevaluatedItems")], "[null, null]"),
    ("dynamicRef", {"type": "array", "items": {"type": "null"}, "$dynamicRef": "#/$defs/a", "$defs": {"a": False}},
     [("#", "$dynamicRef")], "[]"),
    ("free-keys", {"type": "object"}, [("#", "duplicate_key")], '{"a": 1, "a": 2}'),
    ("nested", closed_object(a={"type": "array", "items": {"type": "array", "items": {"type": "null"},
                                                           "uniqueItems": True}}),
     [("#/properties/a/items", "uniqueItems")], '{"a": [[null, null]]}'),
    ("beside-ref", {"$ref": "#/$defs/a", "not": {"const": 1}, "$defs": {"a": {"type": "integer"}}},
     [("#", "not")], "1"),
    ("beside-anyOf", {"anyOf": [{"type": "integer"}, {"type": "null"}], "not": {"const": 1}}, [("#", "not")], "1"),
    ("in-anyOf", {"anyOf": [{"type": "integer", "not": {"const": 1}}, {"type": "null"}]},
     [("#/anyOf/0", "not")], "1"),
    ("in-definitions", {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer", "not": {"const": 1}}}},
     [("#/$defs/a", "not")], "1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "good", "bad"), [case[1:] for case in HELD], ids=[case[0] for case in HELD]
)
def test_mask_holds_keyword_exactly(accepts: Accepts, schema: Any, good: list[str], bad: list[str]) -> None:
    """A keyword that is not noted as unmasked is held: good values pass, bad ones cannot be written."""
    plan = plan_schema(schema, closed=True)

    assert plan.unmasked == ()
    assert [text for text in good if not accepts(plan, text)] == []
    assert [text for text in bad if accepts(plan, text)] == []


@pytest.mark.parametrize(
    ("schema", "noted", "text"), [case[1:] for case in NOTED], ids=[case[0] for case in NOTED]
)
def test_what_the_mask_does_not_hold_is_noted(
    accepts: Accepts, schema: Any, noted: list[tuple[str, str]], text: str
) -> None:
    """A constraint that the mask lets through is in the plan, with its place."""
    plan = plan_schema(schema, closed=True)

    assert [(entry.pointer, entry.keyword) for entry in plan.unmasked] == noted
    assert accepts(plan, text)
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
                assert plan.validator.errors((value + number) % 5) == []
        except BaseException as error:  # noqa: BLE001 - whatever a thread meets must fail the test.
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
