"""Schemas that are refused before any model time is spent, and what the client is told."""

from typing import Any

import pytest

from server.errors import ApiError, Code
from server.schema.check import check_schema
from server.schema.limits import DEFAULT_LIMITS

TOOL = "tools[0].function.parameters"
ANSWER = "response_format.json_schema.schema"


def nested(levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$id": "urn:example:a", "type": "object", "properties": {"a": {"$ref": "urn:example:a#/$defs/b"}}}
        | {"$defs": {"b": {"type": "null"}}},
        {"$id": "http://x.y/a.json", "properties": {"a": {"$ref": "a.json#b"}}}
        | {"$defs": {"b": {"$anchor": "b", "type": "null"}}},
        {"type": "object", "properties": {"$ref": {"type": "string"}, "enum": {"type": "null"}}},
        {"type": ["object", "null"]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
        {"items": [{"type": "null"}]},
        {"properties": {"a": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
        {"default": {"$ref": "nowhere"}, "examples": [{"$ref": "http://x/y"}]},
    ],
    ids=str,
)
def test_usable_schema_passes(schema: Any) -> None:
    """Whatever can be planned is let through, in each draft."""
    check_schema(schema, param=TOOL, name="f")


DRAFT_4 = "http://json-schema.org/draft-04/schema#"
CIRCLE = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}


@pytest.mark.parametrize(
    ("schema", "context", "fault"),
    [
        (3, "()", "not a number"),
        (None, "()", "not null"),
        (
            {"type": "array"},
            "()",
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'",
        ),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, "()", "got 'type: \"string\"'"),
        (False, "()", "got 'false'"),
        ({"properties": {"x": {"type": "strin"}}}, "('properties', 'x', 'type')", '"strin" is not valid'),
        ({"properties": {"a/b": {"minLength": -1}}}, "('properties', 'a/b', 'minLength')", "-1"),
        ({"properties": {"p": {"pattern": "("}}}, "('properties', 'p', 'pattern')", '"("'),
        ({"items": {"$ref": "#/$defs/q"}}, "('items',)", "leads nowhere"),
        ({"$ref": "#"}, "()", "leads back to itself"),
        (
            {"items": {"$ref": "#/$defs/a"}, "$defs": CIRCLE},
            "('$defs', 'a')",
            "leads back to itself",
        ),
        ({"items": {"$ref": "http://x.y/z"}}, "('items',)", "copy it into $defs"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "('items',)", "leads outside the schema"),
        ({"$schema": "http://x.y/z"}, "()", "use draft 4, 6, 7, 2019-09 or 2020-12"),
        ({"const": "\ud800"}, "()", "surrogate"),
        # No metaschema of a draft that takes these schemas knows the keyword.
        ({"contains": []}, "('contains',)", '[] is not of types "boolean", "object"'),
        ({"properties": {"a": {"propertyNames": 5}}}, "('properties', 'a', 'propertyNames')", "5 is not of"),
        ({"items": [{}], "dependentRequired": {"a": "b"}}, "('dependentRequired', 'a')", '"b" is not of'),
        ({"$schema": DRAFT_4, "prefixItems": [5]}, "('prefixItems', '0')", "5 is not of types"),
        (nested(DEFAULT_LIMITS.depth + 1), "()", "levels of nested values"),
        ({"enum": list(range(DEFAULT_LIMITS.values))}, "()", "values"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_unusable_schema_is_refused_with_its_place(schema: Any, context: str, fault: str) -> None:
    """The message has OpenAI's form, names the place inside the schema, and says what is wrong."""
    with pytest.raises(ApiError) as caught:
        check_schema(schema, param=TOOL, name="f")

    assert caught.value.kind is Code.INVALID_TOOLS
    assert caught.value.param == TOOL
    assert caught.value.message.startswith(f"Invalid schema for function 'f': In context={context}, ")
    assert fault in caught.value.message


def test_schema_far_too_deep_is_refused_like_any_other() -> None:
    """No depth of a schema overruns the stack."""
    with pytest.raises(ApiError, match="levels of nested values"):
        check_schema(nested(100_000), param=TOOL, name="f")


def test_answer_schema_need_not_be_an_object() -> None:
    """`response_format` may ask for any JSON, and its errors carry their own code."""
    check_schema({"type": "array"}, param=ANSWER, name="list")

    with pytest.raises(ApiError, match="Invalid schema for response_format 'list'") as caught:
        check_schema({"type": "strin"}, param=ANSWER, name="list")

    assert caught.value.kind is Code.INVALID_SCHEMA
