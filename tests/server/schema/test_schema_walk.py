"""The differential property: whatever a mask allows is JSON, and fits the schema but for what is noted."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from server.schema.document import SchemaError
from server.schema.drafts import detect_draft, with_draft
from server.schema.instance import NotJsonError, parse_json
from server.schema.plan import SchemaPlan, plan_schema

Walks = Callable[[SchemaPlan, int, int], list[str]]

SAMPLE = Path(os.environ.get("STRICTCALL_SCHEMA_SAMPLE", "tests/data/schemas/sample.jsonl.gz"))
"""JSON lines with a `schema` each, such as a sample of JSONSchemaBench."""
EVERY = 12
"""One in so many schemas of the sample is walked."""
OPAQUE = ("anyOf", "oneOf", "contains", "unevaluatedItems", "unevaluatedProperties")
"""Keywords whose errors do not tell which constraint inside was broken."""


def unexplained(plan: SchemaPlan, schema: Any, text: str) -> str | None:
    """Tell what is wrong with a text that the mask allowed, unless the plan notes it."""
    noted = {entry.keyword for entry in plan.unmasked}
    try:
        value = parse_json(text)
    except NotJsonError as refusal:
        return None if refusal.error.keyword in noted - {"json"} else f"{text}: {refusal}"
    validator = jsonschema_rs.validator_for(
        with_draft(schema, detect_draft(schema)), validate_formats=True, offline=True
    )
    for error in validator.iter_errors(value):
        opaque = error.kind.name in OPAQUE and noted - {"duplicate_key"}
        if not opaque and noted.isdisjoint([error.kind.name, *map(str, error.schema_path)]):
            return f"{text}: {error.message} at {error.schema_path}, noted {sorted(noted)}"
    return None


def check_walks(schema: Any, walks: Walks, *, count: int, seed: int) -> None:
    for closed in (True, False):
        try:
            plan = plan_schema(schema, closed=closed)
        except SchemaError:
            continue
        faults = [unexplained(plan, schema, text) for text in walks(plan, count, seed)]

        assert [fault for fault in faults if fault is not None] == []


KEYS = st.sampled_from(["a", "b", "ab", "kind", "é", 'q"', "x-y"])
PATTERNS = [
    "^a",
    "b$",
    "^[a-z]{2,4}$",
    '"',
    r"\\",
    r"^\d+(\.\d+)?$",
    r"\s",
    "^(ab|c)*$",
    "^(?=a)",
    "^.{0,40}$",
]
FORMATS = [
    "date",
    "time",
    "date-time",
    "duration",
    "uuid",
    "ipv4",
    "ipv6",
    "email",
    "hostname",
    "uri",
    "regex",
]
SMALL = st.integers(0, 4)
NUMBERS = st.one_of(st.integers(-20, 20), st.sampled_from([0.5, -1.25, 2.75, 1e300, 2**70, 0.001, 1e-9]))
SCALARS = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.sampled_from(["", "a", "bb", 'q"\\\n', "é😀", "2024-01-01"])
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(KEYS, SCALARS, max_size=2))
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def keywords(child: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    """Every keyword, with values that often matter beside each other."""
    several = st.lists(child, min_size=1, max_size=3)
    return {
        "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(VALUES, min_size=1, max_size=4),
        "const": VALUES,
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), NUMBERS),
        "multipleOf": st.sampled_from([1, 2, 3, 0.5, 0.01, 7, 2000]),
        **dict.fromkeys(("minLength", "maxLength"), st.one_of(SMALL, st.just(300))),
        "pattern": st.sampled_from(PATTERNS),
        "format": st.sampled_from(FORMATS),
        **dict.fromkeys(("minItems", "maxItems", "minContains", "maxContains"), SMALL),
        **dict.fromkeys(("minProperties", "maxProperties"), SMALL),
        "uniqueItems": st.booleans(),
        "required": st.lists(KEYS, max_size=3, unique=True),
        "properties": st.dictionaries(KEYS, child, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), child, max_size=2),
        "dependentRequired": st.dictionaries(KEYS, st.lists(KEYS, max_size=2, unique=True), max_size=2),
        "dependentSchemas": st.dictionaries(KEYS, child, max_size=1),
        **dict.fromkeys(("items", "additionalProperties", "propertyNames", "contains"), child),
        **dict.fromkeys(("not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"), child),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
        "$ref": st.sampled_from(["#", "#/$defs/one", "#/$defs/two"]),
    }


@st.composite
def nodes(draw: st.DrawFn, depth: int = 3) -> Any:
    """Draw a node of a few keywords; deeper ones are mostly plain."""
    if depth == 0 or draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([True, False, {"type": "integer"}, {"type": "string"}, {"type": "null"}]))
    offered = keywords(nodes(depth - 1))
    names = draw(st.lists(st.sampled_from(sorted(offered)), min_size=1, max_size=4, unique=True))
    return {name: draw(offered[name]) for name in names}


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """Draw a schema; one with references negates nothing, since `not: {$ref: "#"}` is a paradox."""
    root = draw(nodes())
    if not isinstance(root, dict):
        return root
    schema = {**root, "$defs": {"one": draw(nodes(1)), "two": draw(nodes(2))}}
    text = json.dumps(schema)
    assume('"$ref"' not in text or not any(f'"{word}"' in text for word in ("not", "if", "oneOf")))
    return schema


@settings(
    max_examples=500,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(schema=schemas())
def test_what_a_mask_allows_is_json_and_valid_or_noted(schema: Any, walks: Walks) -> None:
    """Whatever keywords meet in a node: the mask's texts are JSON, and only noted constraints are broken."""
    check_walks(schema, walks, count=6, seed=0)


def sample() -> list[Any]:
    if not SAMPLE.exists():
        return []
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["schema"] for line in lines][::EVERY]


@pytest.mark.skipif(
    not SAMPLE.exists(), reason="no sample of real schemas: name one in STRICTCALL_SCHEMA_SAMPLE"
)
def test_masks_of_real_schemas_allow_what_is_valid_or_noted(walks: Walks) -> None:
    """The same property for schemas that people wrote."""
    for number, schema in enumerate(sample()):
        if len(json.dumps(schema)) < 10_000:
            check_walks(schema, walks, count=2, seed=number)
