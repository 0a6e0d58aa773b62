"""Known faults of other servers with schemas, by their number in our collection of faults.

`HELD`: a schema, values that fit it, and values that do not. `REFUSED`: a schema, its place at fault, and
words for it. `HEAVY`: what took other servers seconds or their life; None if it is served, else words of the
refusal.
"""

from typing import Any

TAG_RING = {
    "$defs": {
        "Ring": {
            "type": "object",
            "required": ["tag"],
            "additionalProperties": False,
            "properties": {
                "tag": {"type": "string", "pattern": r"^(\{[\w-]+\})|([\w-]+)$"},
                "next": {"$ref": "#/$defs/Rings"},
            },
        },
        "Rings": {"type": "array", "items": {"$ref": "#/$defs/Ring"}},
    },
    "$ref": "#/$defs/Rings",
}
TRIP = {
    "type": "object",
    "properties": {"kind": {"const": "trip"}},
    "required": ["kind"],
    "oneOf": [
        {"properties": {"km": {"type": "number"}}, "required": ["km"]},
        {"properties": {"h": {"type": "number"}}, "required": ["h"]},
    ],
}


def object_of(required: str = "", **properties: Any) -> Any:
    return {"type": "object", "properties": properties, "required": required.split()}


HELD: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "B060": ({"type": "object"}, [{}, {"a": [1, {"b": None}]}], [1, []]),
    "B064": (
        {
            **object_of("a", a={"type": "string"}),
            "additionalProperties": False,
            "anyOf": [{"required": ["a"]}],
        },
        [{"a": "x"}],
        [17, {"zzz": 1}],
    ),
    "B065": (
        {
            "allOf": [
                object_of("w", w={"type": "integer", "minimum": 10}),
                object_of("h", h={"type": "integer"}),
            ]
        },
        [{"w": 10, "h": 1}],
        [{"w": 1}, {"w": 10}, "free text"],
    ),
    "B067": (
        object_of("body", body={"type": "string", "maxLength": 100_000}),
        [{"body": "a" * 3_000}],
        [{"body": 1}],
    ),
    "B070": ({"type": "string", "pattern": "^[à-ÿ]+$"}, ["é"], ["z"]),
    "B073": ({"type": "array", "items": {"type": "string"}, "maxItems": 30_000}, [["a"]], [[1]]),
    "B074 multipleOf": ({"type": "integer", "multipleOf": 5}, [5, 0, -10], [7]),
    "B074 uniqueItems": (
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        [[1, 2]],
        [[1, 1]],
    ),
    "B074 dependentRequired": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
        [{}, {"b": 1}, {"a": 1, "b": 1}],
        [{"a": 1}],
    ),
    "B076": (object_of("bag", bag={"type": "object"}), [{"bag": {"a": 1}}], [{"bag": 1}, {}]),
    "B077": ({"type": "string", "pattern": "^ready\\!$"}, ["ready!"], ["ready"]),
    "B078": (object_of("id", id={"type": "string", "pattern": "^\\d+$"}), [{"id": "12"}], [{"id": "x"}]),
    "B080 below": ({"type": "string", "maxLength": 1_999}, ["a" * 1_999], ["a" * 2_000]),
    "B080 above": ({"type": "string", "maxLength": 2_000}, ["a" * 2_000], ["a" * 2_001]),
    "B080 items": ({"type": "array", "items": {"type": "number"}, "maxItems": 1_998}, [[1]], [[1] * 1_999]),
    "B081": (TRIP, [{"kind": "trip", "km": 1}], [{"km": 1}, {"kind": "trip"}, {"kind": "car", "km": 1}]),
    "B082": (
        object_of(
            unit={"anyOf": [{"type": "string", "enum": ["kg", "lb"]}, {"type": "null"}], "default": None}
        ),
        [{"unit": "kg"}, {"unit": None}, {}],
        [{"unit": "g"}],
    ),
    "B084": (
        object_of(start={"type": "string", "format": "date-time"}, end={"$ref": "#/properties/start"}),
        [{"start": "2024-05-17T09:30:00Z", "end": "2024-05-17T09:30:00Z"}],
        [{"end": "later"}],
    ),
    "B093": (
        {**object_of("n", n={"type": "string"}), "additionalProperties": False},
        [{"n": "a"}],
        [{"n": "a", "age": 1}],
    ),
    "B105": (
        object_of("a b", b={"type": "integer"}, a={"type": "integer"}),
        [{"b": 1, "a": 2}, {"a": 2, "b": 1}],
        [{"a": 1}],
    ),
    "B236": ({"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}, [[1, "a"], []], [["a"]]),
    "B242": (
        {"type": "object", "properties": {"a": True, "b": False, "c": {}}},
        [{"a": 1, "c": 2}],
        [{"b": 1}],
    ),
    "B245": (TAG_RING, [[], [{"tag": "a-b", "next": [{"tag": "{c}"}]}]], [[{}], [{"tag": "a", "more": 1}]]),
    "B269": (
        object_of(
            cap={
                "anyOf": [{"type": "integer", "exclusiveMinimum": 0, "maximum": 2**53 - 1}, {"type": "null"}]
            }
        ),
        [{"cap": None}, {"cap": 1}, {"cap": 2**53 - 1}, {}],
        [{"cap": 0}, {"cap": 2**53}],
    ),
}

REFUSED: dict[str, tuple[Any, str, str]] = {
    "B062": (object_of("x", x={"enum": []}), "#/properties/x", "no value satisfies the schema"),
    "B098 anyOf": (object_of("x", x={"anyOf": []}), "#/properties/x/anyOf", "[]"),
    "B098 oneOf": (object_of("x", x={"oneOf": []}), "#/properties/x/oneOf", "[]"),
    "B099 remote": ({"$ref": "https://schemas.example.test/a.json"}, "#", "leads outside the schema"),
    "B099 empty": ({"$ref": ""}, "#", "leads"),
    "B099 malformed": (
        {"properties": {"x": {"$ref": "#$defs/a"}}, "$defs": {"a": {"type": "string"}}},
        "#/properties/x",
        "leads nowhere",
    ),
    "B229": ({"type": "strnig"}, "#/type", "strnig"),
}


def nested(levels: int) -> Any:
    """`levels` schemas, one in the other."""
    schema: Any = {"type": "null"}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def optional(count: int, schema: Any) -> Any:
    return object_of(**{f"key{number}": schema for number in range(count)})


OVER = "--schema-limit"

HEAVY: dict[str, tuple[Any, str | None]] = {
    "long string": ({"type": "string", "maxLength": 100_000}, None),
    "string of a long range": ({"type": "string", "minLength": 20_000, "maxLength": 50_000}, None),
    "many integers": ({"type": "array", "items": {"type": "integer"}, "minItems": 5_000}, None),
    "many objects": (
        {"type": "array", "items": object_of("a", a={"type": "integer"}), "minItems": 5_000},
        None,
    ),
    "2,000 choices": ({"enum": [f"value {number}" for number in range(2_000)]}, None),
    "20,000 choices": ({"enum": [f"value {number}" for number in range(20_000)]}, OVER),
    "50 levels": (nested(50), None),
    "120 levels": (nested(120), None),
    "150 levels": (nested(150), OVER),
    "400 levels": (nested(400), "nested deeper than 200 levels"),
    "600 bounded strings": (optional(600, {"type": "string", "maxLength": 50}), None),
    "300 optional keys": (optional(300, {"type": "integer"}), None),
    "6,000 keys": (optional(6_000, {"type": "integer"}), OVER),
    "counts within counts": ({"type": "string", "pattern": "^([a-z]{1,200}-){1,200}[0-9]{1,500}$"}, OVER),
    "200 objects to choose from": (
        {
            "anyOf": [
                object_of("kind", kind={"const": number}, n={"type": "integer"}) for number in range(200)
            ]
        },
        None,
    ),
    "600 objects to choose from": ({"anyOf": [{"const": number} for number in range(600)]}, OVER),
    "a circle": ({"allOf": [{"$ref": "#"}]}, "leads back to itself"),
}
