"""The profile of OpenAI's strict mode: its rules, in its words, and nothing beyond them."""

from typing import Any

import pytest

from server.schema.document import SchemaError
from server.schema.profile import SchemaProfile, check_profile


def closed(properties: dict[str, Any], **more: Any) -> Any:
    """An object as strict mode wants it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def deep(levels: int) -> Any:
    schema = closed({})
    for _ in range(levels - 1):
        schema = closed({"a": {"type": "array", "items": schema}})
    return schema


TEXT = {"type": "string"}
PARTED = [f"{number:061}" for number in range(251)]

TAKEN = {
    "no properties": closed({}),
    "nullable": closed({"a": {"type": ["string", "null"]}}),
    "constraints": closed(
        {
            "a": {"type": "string", "pattern": "^a", "format": "date-time"},
            "b": {"type": "number", "multipleOf": 2, "minimum": 0, "exclusiveMaximum": 9},
            "c": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3},
        }
    ),
    "union": closed({"a": {"anyOf": [closed({"b": TEXT}), {"type": "null"}]}}),
    "choices": closed({"a": {"enum": ["b", "c"]}, "d": {"const": "e"}}),
    "annotations": closed({"a": {"type": "string", "title": "A", "description": "An a."}}, title="T"),
    "recursive": closed({"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}),
    "definitions": closed({"a": {"$ref": "#/$defs/b"}}, **{"$defs": {"b": closed({"c": TEXT})}}),
    "ten levels": deep(10),
    "a thousand values": closed({"a": {"enum": list(range(1_000))}}),
    "names of keywords": closed({"not": TEXT, "default": TEXT, "uniqueItems": TEXT}),
}

REFUSED: dict[str, tuple[Any, str, str]] = {
    "array": (
        {"type": "array", "items": TEXT},
        "#",
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'",
    ),
    "boolean": (True, "#", "got 'type: \"None\"'"),
    "union": ({"anyOf": [closed({})]}, "#", "schema must be a JSON Schema of 'type: \"object\"'"),
    "union beside": (closed({}, anyOf=[{}]), "#", "schema must be a JSON Schema of 'type: \"object\"'"),
    "open": ({"type": "object"}, "#", "'additionalProperties' is required to be supplied and to be false"),
    "open below": (
        closed({"a": {**closed({}), "additionalProperties": TEXT}}),
        "#/properties/a",
        "'additionalProperties' is required to be supplied and to be false",
    ),
    "open item": (
        closed({"a": {"type": "array", "items": {"type": ["object", "null"]}}}),
        "#/properties/a/items",
        "'additionalProperties' is required",
    ),
    "optional": (
        closed({"a": TEXT, "b": TEXT}, required=["a"]),
        "#",
        "to be supplied and to be an array including every key in properties. Missing 'b'",
    ),
    "extra": (
        closed({}, required=["a"]),
        "#",
        "'required' has the extra key 'a', which is not in properties",
    ),
    "untyped": (closed({"a": {}}), "#/properties/a", "schema must have a 'type' key"),
    "anything": (closed({"a": True}), "#/properties/a", "schema must have a 'type' key"),
    "no items": (closed({"a": {"type": "array"}}), "#/properties/a", "array schema missing items"),
    "unique": (
        closed({"a": {"type": "array", "items": TEXT, "uniqueItems": True}}),
        "#/properties/a",
        "'uniqueItems' is not supported",
    ),
    "all of": (closed({"a": {"allOf": [TEXT]}}), "#/properties/a", "'allOf' is not supported"),
    "one of": (closed({"a": {"oneOf": [TEXT]}}), "#/properties/a", "'oneOf' is not supported"),
    "not": (
        closed({"a": {"type": "string", "not": {"const": "b"}}}),
        "#/properties/a",
        "'not' is not supported",
    ),
    "pattern": (closed({}, patternProperties={"^a": TEXT}), "#", "'patternProperties' is not supported"),
    "length": (
        closed({"a": {"type": "string", "maxLength": 3}}),
        "#/properties/a",
        "'maxLength' is not supported",
    ),
    "default": (
        closed({"a": {"type": "string", "default": ""}}),
        "#/properties/a",
        "'default' is not permitted",
    ),
    "format": (
        closed({"a": {"type": "string", "format": "uri"}}),
        "#/properties/a",
        "'uri' is not a valid format",
    ),
    "base": (closed({"a": {"type": "string", "$id": "b"}}), "#/properties/a", "'$id' is not supported"),
    "reference": (
        closed({"a": {"$ref": "#/$defs/b", "description": "A b."}}, **{"$defs": {"b": TEXT}}),
        "#/properties/a",
        "$ref cannot have keywords {'description'}",
    ),
    "levels": (deep(11), "#", "11 levels of nesting exceeds limit of 10"),
    "properties": (
        closed({str(number): TEXT for number in range(5_001)}),
        "#",
        "5,001 properties exceeds limit of 5,000",
    ),
    "values": (closed({"a": {"enum": list(range(1_001))}}), "#", "1,001 enum values exceeds limit of 1,000"),
    "names": (
        closed({"a" * 120_001: TEXT}),
        "#",
        "120,001 characters in names and values exceeds limit of 120,000",
    ),
    "one enum": (
        closed({"a": {"enum": PARTED}}),
        "#/properties/a",
        "15,311 characters in one enum of more than 250",
    ),
}


@pytest.mark.parametrize("schema", TAKEN.values(), ids=TAKEN)
def test_what_strict_mode_takes_is_taken(schema: Any) -> None:
    """Up to each limit, and with properties of any name."""
    check_profile(schema, SchemaProfile.OPENAI)


@pytest.mark.parametrize(("schema", "pointer", "words"), REFUSED.values(), ids=REFUSED)
def test_what_strict_mode_refuses_is_refused_in_its_words(schema: Any, pointer: str, words: str) -> None:
    """With the place of the first fault; our own profile takes all of it."""
    check_profile(schema, SchemaProfile.NATIVE)

    with pytest.raises(SchemaError) as caught:
        check_profile(schema, SchemaProfile.OPENAI)

    assert caught.value.pointer == pointer
    assert words in caught.value.message
