"""Checking finished values: strict JSON, and the whole schema."""

from decimal import Decimal
from typing import Any

import pytest

from server.schema.document import SchemaError
from server.schema.instance import MAX_ERRORS, InstanceError, InstanceValidator, NotJsonError, parse_json

ORDER = {
    "type": "object",
    "properties": {"items": {"items": {"properties": {"qty": {"minimum": 1}}, "required": ["id"]}}},
}


def test_error_names_place_keyword_and_fault() -> None:
    """An error can be sent back to a model as it is: where, which rule, what was found."""
    errors = InstanceValidator(ORDER).errors({"items": [{"id": 1}, {"id": 2, "qty": 0}, {}]})

    assert list(errors) == [
        InstanceError("$.items[1].qty", "minimum", "expected at least 1, got 0"),
        InstanceError("$.items[2]", "required", 'expected the key "id", got an empty object'),
    ]


def test_path_quotes_keys_that_are_no_names() -> None:
    """A key with a space or a quote stands in brackets."""
    errors = InstanceValidator({"additionalProperties": {"type": "null"}}).errors({'a "b"': 1})

    assert [error.path for error in errors] == ['$["a \\"b\\""]']


def test_errors_are_bounded() -> None:
    """A value with thousands of faults does not make thousands of lines; the last says how many there are."""
    errors = InstanceValidator({"items": {"type": "null"}}).errors([1] * 100)

    assert (len(errors), errors.more) == (MAX_ERRORS, 80)
    assert errors.lines()[0] == "$[0]: expected null, got integer 1"
    assert errors.lines()[MAX_ERRORS:] == ["… and 80 more errors"]


def test_one_fault_is_told_once() -> None:
    """Two branches of `allOf` that ask for the same are one rule to whoever reads of it."""
    errors = InstanceValidator({"allOf": [{"type": "null"}, {"type": "null"}]}).errors(1)

    assert errors.lines() == ["$: expected null, got integer 1"]


@pytest.mark.parametrize(
    ("schema", "value", "keyword"),
    [
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "dependentRequired"),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, "dependencies"),
        ({"contains": {"type": "null"}, "minContains": 2}, [None], "minContains"),
        ({"properties": {"a": False}}, {"a": 1}, "properties"),
        ({"items": False}, [1], "items"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "propertyNames"),
        ({"oneOf": [True, True]}, 1, "oneOf"),
        ({"not": {}}, 1, "not"),
        ({"unevaluatedProperties": False}, {"a": 1}, "unevaluatedProperties"),
        (False, 1, "not"),
    ],
    ids=str,
)
def test_keyword_is_spelled_as_in_the_schema(schema: Any, value: Any, keyword: str) -> None:
    """The keyword of an error is one that the author of the schema wrote."""
    assert [error.keyword for error in InstanceValidator(schema).errors(value)] == [keyword]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, 3.0, 3.5),
        ({"type": "integer"}, 10**400, "1"),
        ({"type": "integer"}, Decimal("1e2"), 10.5),
        ({"minimum": 10**399}, 10**400, 10**398),
        ({"minimum": 0}, Decimal("9" * 5000), Decimal("-" + "9" * 5000)),
        ({"multipleOf": 9}, Decimal("9" * 5000), Decimal("-" + "9" * 4999 + "8")),
        ({"maximum": 5}, Decimal("-1e999"), Decimal("1e999")),
        ({"type": "number"}, 1, True),
        ({"enum": [1]}, 1.0, True),
        ({"multipleOf": 0.01}, 19.99, 19.999),
        ({"format": "date"}, "2024-02-29", "2023-02-29"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "format": "uuid"},
            "0" * 8 + "-0000" * 4 + "0" * 8,
            "0",
        ),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "format": "duration"}, "P1D", "a day"),
        ({"pattern": "^(?=.*\\d)a"}, "a1", "a"),
        ({"pattern": "^a+b*a+$"}, "aa", "a"),
        ({"pattern": ".+a*.+."}, "000", "00"),
        ({"pattern": r"^\p{L}$"}, "é", "1"),
        ({"pattern": "^a$"}, "a", "a\n"),
        ({"pattern": "^\\d$"}, "3", "٣"),
        ({"maxLength": 1}, "😀", "ab"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"type": "string"}, {"type": "strin"}),
    ],
    ids=lambda value: repr(value)[:30] if not isinstance(value, int) or value < 10**9 else "huge",
)
def test_values_are_judged_as_json_schema_says(schema: Any, good: Any, bad: Any) -> None:
    """Where Python and JSON differ, JSON Schema decides; formats are asserted; patterns are ECMA-262."""
    validator = InstanceValidator(schema)

    assert not validator.errors(good)
    assert validator.errors(bad)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"$ref": "#/$defs/a"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "file:///etc/hosts"},
    ],
    ids=str,
)
def test_schema_that_cannot_be_compiled_is_refused(schema: Any) -> None:
    """Neither a bad schema nor a remote reference gets as far as a value, and nothing is fetched."""
    with pytest.raises(SchemaError):
        InstanceValidator(schema)


def test_catastrophic_pattern_is_an_error_and_not_a_stall() -> None:
    """Backtracking is bounded: a pattern that would run for ever fails the value instead."""
    errors = InstanceValidator({"pattern": r"^(a+)+(?!a)\1$"}).errors("a" * 40 + "b")

    assert [error.keyword for error in errors] == ["pattern"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, true, null]}', {"a": [1, 2.5, True, None]}),
        ('"\\ud83d\\ude00"', "😀"),
        ("1e999", Decimal("1e999")),
        ("9007199254740993.0", 9007199254740993),
        ("-1e23", -(10**23)),
        ("9" * 5000, Decimal("9" * 5000)),
    ],
    ids=lambda value: str(value)[:20],
)
def test_json_is_read(text: str, value: Any) -> None:
    """Every JSON text has a value, numbers of any size included."""
    assert parse_json(text) == value


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("{'a': 1}", "json"),
        ('{"a": 1} x', "json"),
        ("", "json"),
        ("[NaN]", "json"),
        ("-Infinity", "json"),
        ('"\\ud800"', "json"),
        ('{"\\udc00": 1}', "json"),
        ('["\ud800"]', "json"),
        ("[" * 100_000, "json"),
        ("1e9999999999999999999999", "json"),
        ('{"a": {"b": 1, "b": 1}}', "duplicate_key"),
        ('{"a": 1, "\\u0061": 1}', "duplicate_key"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_what_is_not_json_is_refused(text: str, keyword: str) -> None:
    """What other readers would refuse, or read each in their own way, is not passed on."""
    with pytest.raises(NotJsonError) as caught:
        parse_json(text)

    assert caught.value.error.keyword == keyword
