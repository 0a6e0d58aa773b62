"""Schemas that are large, or become so: each by its name, made when it is asked for.

dict(heavy_schemas())["enum of 2,000"]["enum"][7]      # "000007hh"
"""

from collections.abc import Iterator, Sequence
from typing import Any

Schema = Any
Named = Iterator[tuple[str, Schema]]

TEXT = {"type": "string", "maxLength": 50}
INTEGER = {"type": "integer"}


def heavy_schemas() -> Named:
    """All of them, in an order that stays the same."""
    for family in (choices, counts, members, patterns, depths, references, unions, combinations):
        yield from family()


def record(**properties: Schema) -> Schema:
    """An object with just these keys."""
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def optional(count: int, schema: Schema) -> Schema:
    return {"type": "object", "properties": {f"key{number}": schema for number in range(count)}}


def array(items: Schema, **more: Schema) -> Schema:
    return {"type": "array", "items": items, **more}


def texts(**rules: Schema) -> Schema:
    return {"type": "string", **rules}


def words(count: int, length: int) -> list[str]:
    return [f"{number:06}".ljust(length, "abcdefghij"[number % 10]) for number in range(count)]


def searched(count: int) -> list[Schema]:
    """Patterns that are looked for anywhere."""
    return [{"pattern": f"{chr(97 + number % 26)}.*{number}"} for number in range(count)]


def choices() -> Named:
    yield "enum of 2,000", {"enum": words(2_000, 8)}
    yield "enum of 5,000, 50 characters each", {"enum": words(5_000, 50)}
    yield "enum of 20,000", {"enum": words(20_000, 8)}
    yield "enum of 5,000 numbers", {"enum": [number * 1.5 for number in range(5_000)]}
    yield "enum of 1,000 objects", {"enum": [{"name": word, "size": 9} for word in words(1_000, 20)]}
    yield "100 enums of 50", optional(100, {"enum": words(50, 20)})
    yield "const of 100 KB", {"const": "x" * 100_000}
    yield "const of 100 KB, nested", {"const": [[{"a": "é\n" * 25_000}]]}
    yield "const array of 10,000", {"const": list(range(10_000))}
    yield "uniqueItems of 200 choices", array({"enum": list(range(200))}, uniqueItems=True)
    yield "uniqueItems of 12, all of them", array({"enum": words(12, 9)}, uniqueItems=True, minItems=12)


def counts() -> Named:
    yield "maxLength 100,000", texts(maxLength=100_000)
    yield "minLength 20,000, maxLength 50,000", texts(minLength=20_000, maxLength=50_000)
    yield "minItems 5,000, integers", array(INTEGER, minItems=5_000)
    yield "minItems 5,000, objects", array(record(a=INTEGER), minItems=5_000)
    yield "maxItems 1,000, bounded strings", array(TEXT, maxItems=1_000)
    yield "minItems 300 of minItems 300", array(array(TEXT, minItems=300), minItems=300)
    kinds = [{"contains": {"const": number}, "maxContains": 9} for number in range(20)]
    yield "contains, 20 kinds of it", array({}, allOf=kinds)


def members() -> Named:
    yield "600 bounded strings", optional(600, TEXT)
    yield "300 optional keys", optional(300, INTEGER)
    yield "5,000 optional keys", optional(5_000, {})
    yield "6,000 keys", optional(6_000, {})
    yield (
        "300 different bounds",
        record(**{f"k{n}": texts(minLength=n % 40, maxLength=256 - n % 150) for n in range(300)}),
    )
    yield (
        "100 different patterns",
        record(**{f"k{n}": texts(pattern=rf"^[\w.-]{{{n % 9},{n + 10}}}@x{n}$") for n in range(100)}),
    )
    yield (
        "100 formats and negations",
        record(**{f"k{n}": texts(format="email", **{"not": {"const": f"a{n}@x.org"}}) for n in range(100)}),
    )
    yield "a key of 100 KB", record(**{"k" * 100_000: True})
    yield "required without properties", {"type": "object", "required": words(3_000, 8)}
    yield "a description of 1 MB", texts(description="x" * 1_000_000)


def patterns() -> Named:
    yield "a pattern of 100 KB", texts(pattern="a" * 100_000)
    yield "a pattern of 900 alternatives", texts(pattern="a" + "|c" * 900)
    yield "oneOf of 60 patterns", {"oneOf": [texts(**each) for each in searched(60)]}
    yield "allOf of 40 patterns", texts(allOf=searched(40))
    yield (
        "50 patternProperties",
        {
            "type": "object",
            "patternProperties": {f"^.*{chr(97 + n % 26)}.*{n}$": {"minLength": n} for n in range(50)},
            "additionalProperties": False,
        },
    )


def depths() -> Named:
    schema: Schema = TEXT
    for _ in range(60):
        schema = record(a=schema)
    yield "60 nested objects", schema
    for levels in (50, 120, 150, 400):
        yield f"items {levels} deep", nested(levels, "items")
    for keyword in ("not", "if", "additionalProperties", "propertyNames", "contains"):
        yield f"{keyword} 100 deep", nested(100, keyword)
    yield "allOf 60 deep", nested(60, "allOf")


def nested(levels: int, keyword: str) -> Schema:
    """A schema in a schema, so many times."""
    schema: Schema = {"type": "null"}
    for _ in range(levels):
        schema = {keyword: [schema] if keyword == "allOf" else schema}
    return schema


def references() -> Named:
    def chained(count: int, step: Any, last: Schema) -> Schema:
        """A chain of definitions, of which each is made of a reference to the next."""
        definitions = {f"d{n}": step({"$ref": f"#/$defs/d{n + 1}"}) for n in range(count)}
        return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{count}": last}}

    yield "a chain of 1,000 references", chained(1_000, lambda following: following, TEXT)
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield f"2^20 references by {keyword}", chained(20, lambda ref, k=keyword: {k: [ref, ref]}, TEXT)
    for levels in (20, 120):
        yield f"widening {levels} times", chained(levels, lambda ref: record(a=ref, b=ref), TEXT)
    ring = chained(500, lambda ref: {"type": "object", "properties": {"next": ref, "k": TEXT}}, TEXT)
    ring["$defs"]["d500"] = {"properties": {"next": {"$ref": "#/$defs/d0"}}}
    yield "a ring of 500 definitions", ring


def unions() -> Named:
    yield "anyOf of 200 objects", {"anyOf": [record(kind={"const": n}, n=INTEGER) for n in range(200)]}
    yield "anyOf of 500 objects", {"anyOf": [record(**{f"k{n}": TEXT}) for n in range(500)]}
    yield "anyOf of 600 constants", {"anyOf": [{"const": n} for n in range(600)]}
    yield "oneOf of 100 overlapping", {"oneOf": [{"properties": {f"k{n}": INTEGER}} for n in range(100)]}
    yield "allOf of 200 anyOf", {"allOf": [{"anyOf": [{"minLength": n}, {"maximum": n}]} for n in range(200)]}
    yield "allOf of 100 negations", {"allOf": [{"not": {"required": [f"a{n}", "b"]}} for n in range(100)]}


def combinations() -> Named:
    for keyword in ("anyOf", "oneOf"):
        for factors in (6, 20):
            yield f"2^{factors} by {keyword}", {"allOf": [{keyword: pair(n)} for n in range(factors)]}
    yield "if 30 times", {"type": "object", "allOf": [decision(number) for number in range(30)]}
    either = [{"anyOf": [{"properties": {key + str(n): True}} for key in "ab"]} for n in range(12)]
    yield "unevaluatedProperties beside 12 anyOf", {"allOf": either, "unevaluatedProperties": False}


def pair(number: int) -> Sequence[Schema]:
    key = f"k{number}"
    return [{"type": "object", "properties": {key: {"const": one}}, "required": [key]} for one in (0, 1)]


def decision(number: int) -> Schema:
    return {
        "if": {"properties": {f"k{number}": {"const": number}}},
        "then": {"required": [f"k{number + 1}"]},
        "else": {"required": [f"k{number + 2}"]},
    }
