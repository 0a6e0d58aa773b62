"""What a model is told of its faults: a rule for each keyword, and the branch that it meant of a union."""

from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.schema.instance import InstanceValidator

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
NULLS = {"type": "null"}

WORDS: list[tuple[Any, Any, str, str]] = [
    ({"type": "integer"}, "3", "type", '$: expected integer, got string "3"'),
    ({"type": ["integer", "null"]}, True, "type", "$: expected integer or null, got boolean true"),
    ({"type": "integer"}, 3.5, "type", "$: expected integer, got number 3.5"),
    ({"type": "object"}, [1], "type", "$: expected object, got array [1]"),
    ({"enum": ["a", 2, None]}, "b", "enum", '$: expected "a", 2 or null, got string "b"'),
    ({"const": {"a": 1}}, {}, "const", '$: expected {"a": 1}, got object {}'),
    ({"minimum": 3}, 1, "minimum", "$: expected at least 3, got 1"),
    ({"maximum": 3}, 4, "maximum", "$: expected at most 3, got 4"),
    ({"exclusiveMinimum": 3}, 3, "exclusiveMinimum", "$: expected more than 3, got 3"),
    ({"exclusiveMaximum": 3}, 3.0, "exclusiveMaximum", "$: expected less than 3, got 3.0"),
    ({**DRAFT_4, "maximum": 3, "exclusiveMaximum": True}, 3, "exclusiveMaximum", "expected less than 3"),
    ({"multipleOf": 0.5}, 0.7, "multipleOf", "$: expected a multiple of 0.5, got number 0.7"),
    ({"minLength": 2}, "é", "minLength", '$: expected at least 2 characters, got 1: "é"'),
    ({"maxLength": 1}, "ab", "maxLength", '$: expected at most 1 character, got 2: "ab"'),
    ({"pattern": "^a$"}, "b", "pattern", '$: expected a string that matches the pattern ^a$, got string "b"'),
    ({"format": "date"}, "1 May", "format", 'the format date such as "2024-05-17", got string "1 May"'),
    ({**DRAFT_7, "contentEncoding": "base64"}, "%", "contentEncoding", 'that holds base64, got string "%"'),
    ({**DRAFT_7, "contentMediaType": "application/json"}, "{", "contentMediaType", "holds application/json"),
    ({"required": ["a"]}, {"b": 1}, "required", '$: expected the key "a", got only the key "b"'),
    ({"required": ["a"]}, {"b": 1, "c": 2}, "required", 'got only the keys "b" and "c"'),
    ({"required": ["a"]}, {}, "required", '$: expected the key "a", got an empty object'),
    (
        {"properties": {"a": False}},
        {"a": 1},
        "properties",
        "$.a: expected this key to be absent, got integer 1",
    ),
    ({"patternProperties": {"^a": False}}, {"ab": 1}, "patternProperties", "$.ab: expected this key to be"),
    (
        {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
        {"c": 1, "d": 2},
        "additionalProperties",
        '$: expected no keys but "a" and "b", got "c" and "d"',
    ),
    ({"additionalProperties": False}, {"c": 1}, "additionalProperties", '$: expected no keys, got "c"'),
    (
        {"patternProperties": {"^x": {}}, "additionalProperties": False},
        {"c": 1},
        "additionalProperties",
        '$: expected no further keys, got "c"',
    ),
    (
        {"unevaluatedProperties": False},
        {"a": 1},
        "unevaluatedProperties",
        '$: expected no further keys, got "a"',
    ),
    (
        {"unevaluatedProperties": NULLS},
        {"a": 1},
        "unevaluatedProperties",
        'further keys to fit {"type": "null"}',
    ),
    ({"minProperties": 2}, {}, "minProperties", "$: expected at least 2 keys, got 0"),
    ({"maxProperties": 1}, {"a": 1, "b": 2}, "maxProperties", "$: expected at most 1 key, got 2"),
    (
        {"propertyNames": {"maxLength": 1}},
        {"ab": 1},
        "propertyNames",
        '$: the key "ab" is wrong: expected at most 1 character, got 2: "ab"',
    ),
    ({"propertyNames": False}, {"ab": 1}, "propertyNames", "$: expected an object without keys, got object"),
    (
        {"dependentRequired": {"a": ["b"]}},
        {"a": 1},
        "dependentRequired",
        '$: expected the key "b" beside "a", got',
    ),
    ({"dependencies": {"a": ["b"]}}, {"a": 1}, "dependencies", '$: expected the key "b" beside "a", got'),
    (
        {"dependentSchemas": {"a": False}},
        {"a": 1},
        "dependentSchemas",
        "$: expected no value here, got object",
    ),
    ({"items": NULLS}, [None, 1], "type", "$[1]: expected null, got integer 1"),
    ({"items": False}, [1], "items", "$[0]: expected this item to be absent, got integer 1"),
    ({"prefixItems": [NULLS]}, [1], "type", "$[0]: expected null, got integer 1"),
    (
        {**DRAFT_7, "items": [{}], "additionalItems": False},
        [1, 2],
        "additionalItems",
        "at most 1 item, got 2",
    ),
    (
        {"prefixItems": [{}], "unevaluatedItems": False},
        [1, 2],
        "unevaluatedItems",
        "$: expected no further items",
    ),
    ({"minItems": 2}, [1], "minItems", "$: expected at least 2 items, got 1"),
    ({"maxItems": 1}, [1, 2], "maxItems", "$: expected at most 1 item, got 2"),
    (
        {"uniqueItems": True},
        [1, 2, 1.0],
        "uniqueItems",
        "$: expected items that all differ, got 1.0 at [0] and [2]",
    ),
    (
        {"uniqueItems": True},
        [True, 1, [1], {"a": 1, "b": []}, {"b": [], "a": 1}],
        "uniqueItems",
        "at [3] and [4]",
    ),
    (
        {"contains": NULLS},
        [1],
        "contains",
        '$: expected at least 1 items that fit {"type": "null"}, got array [1]',
    ),
    ({"contains": NULLS, "minContains": 2}, [None], "minContains", "$: expected at least 2 items that fit"),
    (
        {"contains": NULLS, "maxContains": 1},
        [None, None],
        "maxContains",
        "$: expected from 1 to 1 items that fit",
    ),
    ({"not": NULLS}, None, "not", '$: expected a value that does not fit {"type": "null"}, got null'),
    (False, 1, "not", "$: expected no value here, got integer 1"),
    ({"if": NULLS, "else": {"minimum": 5}}, 1, "minimum", "$: expected at least 5, got 1"),
    (
        {"oneOf": [NULLS, True, {}]},
        1,
        "oneOf",
        "expected to fit one branch of oneOf, got integer 1, which fits 2 and 3",
    ),
    (
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": ["string", "null"]}}},
        1,
        "type",
        "expected string or null",
    ),
]


@pytest.mark.parametrize(
    ("schema", "value", "keyword", "words"), WORDS, ids=[f"{case[2]}: {case[3]}" for case in WORDS]
)
def test_a_fault_is_told_by_its_place_what_was_expected_and_what_came(
    schema: Any, value: Any, keyword: str, words: str
) -> None:
    """One line, whichever keyword is broken, under the name that the schema gives it."""
    [error] = InstanceValidator(schema).errors(value)

    assert error.keyword == keyword
    assert words in str(error)


def point(kind: str, **properties: Any) -> Any:
    """A branch that is told from others by its `kind`."""
    keys = {"kind": {"const": kind}, **properties}
    return {"type": "object", "properties": keys, "required": list(keys)}


UNIONS: list[tuple[Any, Any, list[str]]] = [
    ([NULLS, {"type": "string"}], 1, ["$: expected null or string, got integer 1"]),
    (
        [NULLS, {"anyOf": [{"const": 5}, {"enum": ["a", "b"]}]}],
        1,
        ['expected null, 5, "a" or "b", got integer 1'],
    ),
    ([False, False], 1, ["expected nothing, got integer 1"]),
    ([NULLS, {"minimum": 5}], 1, ["$: expected at least 5, got 1"]),
    (
        [point("a", n=NULLS), point("b", n={"type": "string"}, m={"maximum": 1})],
        {"kind": "b", "n": 1, "m": 2},
        [
            "$.m: expected at most 1, got 2 (closest to branch 2 of anyOf)",
            "$.n: expected string, got integer 1 (closest to branch 2 of anyOf)",
        ],
    ),
    (
        [{"required": ["a"]}, {"required": ["a", "b"], "additionalProperties": NULLS}],
        {"c": None},
        ['$: expected the key "a", got only the key "c" (closest to branch 1 of anyOf)'],
    ),
]


@pytest.mark.parametrize(("branches", "value", "words"), UNIONS, ids=[case[2][0] for case in UNIONS])
def test_of_a_union_the_faults_of_the_branch_that_was_meant_are_told(
    branches: list[Any], value: Any, words: list[str]
) -> None:
    """A value of no branch's kind is told all kinds; else constants among its keys say which was meant."""
    errors = InstanceValidator({"anyOf": branches}).errors(value)

    assert {error.keyword for error in errors} == {"anyOf"}
    assert [part in str(error) for part, error in zip(words, errors, strict=True)] == [True] * len(words)


@pytest.mark.parametrize("more", [{}, {"$defs": {"a": {"unevaluatedItems": True}}}], ids=["alone", "whole"])
def test_a_fault_below_unions_is_told_by_its_whole_path(more: Any) -> None:
    """Whether the validator can be asked for one branch at a time or not."""
    below = {"anyOf": [{"type": "null"}, {"properties": {"c": {"minimum": 5}}}]}
    schema = {"items": {"oneOf": [{"type": "null"}, {"properties": {"b": below}}]}}

    errors = InstanceValidator({**schema, **more}).errors([{"b": {"c": 1}}])

    assert [(error.keyword, str(error)) for error in errors] == [
        ("oneOf", "$[0].b.c: expected at least 5, got 1")
    ]


def test_a_tree_of_unions_is_not_tried_in_every_way() -> None:
    """A wrong leaf of a deep expression is found by the branch of each level, of thousands of millions."""
    branches = [point(name, left={"$ref": "#/$defs/tree"}) for name in "abcdefgh"]
    schema = {"$ref": "#/$defs/tree", "$defs": {"tree": {"anyOf": [{"type": "integer"}, *branches]}}}
    value: Any = "x"
    for _ in range(30):
        value = {"kind": "c", "left": value}

    [error] = InstanceValidator(schema).errors(value)

    assert error.path == "$" + ".left" * 30
    assert error.message == 'expected integer or object, got string "x" (closest to branch 4 of anyOf)'


@pytest.mark.parametrize("more", [{"unevaluatedProperties": False}, {"$defs": {"a": {"$dynamicRef": "#"}}}])
def test_where_branches_cannot_be_looked_at_one_by_one_a_tree_is_only_refused(more: Any) -> None:
    """To say where it is wrong, the validator would try every branch of every level."""
    branches = [point(name, left={"$ref": "#"}) for name in "abcdefgh"]
    value: Any = "x"
    for _ in range(30):
        value = {"kind": "c", "left": value}

    [error] = InstanceValidator({"anyOf": [{"type": "integer"}, *branches], **more}).errors(value)

    assert str(error).startswith("$: expected a value that fits the schema")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("y" * 3_000, '"' + "y" * 60 + '"… of 3,000 characters'),
        (list(range(1_000)), "array of 1,000 items"),
        ({str(key): key for key in range(12)}, '"7", … (12 in all)'),
        ({"a": "y" * 70}, 'object with the keys "a"'),
        (10**5_000, "9… of 4,000 characters"),
        (Decimal("-" + "9" * 5_000), "9… of 4,001 characters"),
        (Decimal("1e999"), "number 1e999"),
    ],
    ids=["string", "array", "object of many keys", "object", "integer", "decimal", "exponent"],
)
def test_a_long_value_is_told_by_its_beginning_and_its_size(value: Any, words: str) -> None:
    """However long it is, the line can be read, and written."""
    [error] = InstanceValidator({"type": "null"}).errors(value)

    assert words in error.message
    assert len(error.message) < 300


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


COUNTS = [f"{end}{noun}" for end in ("min", "max") for noun in ("Length", "Items", "Contains", "Properties")]
BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
APPLICATORS = [
    *("not", "if", "then", "else", "items", "contains", "propertyNames", "additionalProperties"),
    *("unevaluatedProperties", "unevaluatedItems"),
]


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of every keyword, with `inner` ones inside."""
    count = st.integers(0, 3)
    some = st.lists(inner, min_size=1, max_size=3)
    keys = st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    values: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"]),
        "enum": st.lists(JSON, max_size=3),
        "const": JSON,
        "pattern": st.sampled_from(["^a", "b$", "^(a+)+$"]),
        "format": st.sampled_from(["date", "email", "uuid", "unknown"]),
        "multipleOf": st.sampled_from([1, 0.5, 3]),
        "required": st.lists(st.sampled_from("ab"), unique=True),
        "dependentRequired": st.dictionaries(st.sampled_from("ab"), st.just(["b"]), max_size=2),
        "uniqueItems": st.booleans(),
    }
    values |= dict.fromkeys((*COUNTS, *BOUNDS), count)
    values |= dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], some)
    values |= dict.fromkeys(["properties", "patternProperties", "dependentSchemas"], keys)
    values |= dict.fromkeys(APPLICATORS, inner)
    return st.lists(st.sampled_from(sorted(values)), max_size=4, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: values[name] for name in names})
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(st.booleans() | st.just({}), keywords, max_leaves=12)


@given(schema=SCHEMAS, value=JSON)
def test_every_wrong_value_has_words_and_no_right_one(schema: Any, value: Any) -> None:
    """Whatever is broken, and however deep: the words never fail, and never change the verdict."""
    errors = InstanceValidator(schema).errors(value)

    assert bool(errors) is not jsonschema_rs.is_valid(schema, value, validate_formats=True)
    assert all(error.path.startswith("$") and error.keyword and error.message for error in errors)
