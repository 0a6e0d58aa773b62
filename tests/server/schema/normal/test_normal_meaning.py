"""The differential property: what nodes allow is what the validator admits, but for what is noted."""

import json
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.schema.automata.languages import Languages
from server.schema.document import Document, SchemaError
from server.schema.drafts import with_draft
from server.schema.nodes import Node, Reference, Values
from server.schema.normal.normaliser import Normaliser
from server.schema.normal.values import arranged
from server.schema.references import circle

LANGUAGES = Languages()

KEYS = st.sampled_from(["a", "b", "ab"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 0.5, 1.0, 2.5])
SCALARS = st.one_of(NUMBERS, st.sampled_from([None, True, False, "", "a", "b", "ab"]))
VALUES = st.recursive(
    SCALARS,
    lambda values: st.one_of(st.lists(values, max_size=3), st.dictionaries(KEYS, values, max_size=3)),
    max_leaves=5,
)
COUNTS = st.integers(0, 3)
PATTERNS = st.sampled_from(["a", "^a", "b$", "^[ab]$", "^$"])
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
REFERENCES = st.sampled_from(["#", "#/$defs/one", "#/$defs/two", "#two"])
LEAVES = st.one_of(
    st.booleans(), st.builds(lambda name: {"type": name}, TYPES), st.builds(lambda v: {"const": v}, SCALARS)
)


def keywords(child: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    """Every keyword that a mask holds, with values that meet each other often."""
    several = st.lists(child, min_size=1, max_size=3)
    return {
        "type": st.one_of(TYPES, st.lists(TYPES, min_size=2, max_size=3, unique=True)),
        "enum": st.lists(VALUES, min_size=1, max_size=4),
        "const": VALUES,
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), NUMBERS),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minContains"), COUNTS),
        **dict.fromkeys(("maxContains", "minProperties", "maxProperties"), COUNTS),
        "pattern": PATTERNS,
        "uniqueItems": st.booleans(),
        "required": st.lists(KEYS, max_size=2, unique=True),
        "properties": st.dictionaries(KEYS, child, max_size=2),
        "patternProperties": st.dictionaries(PATTERNS, child, max_size=2),
        "dependentRequired": st.dictionaries(KEYS, st.lists(KEYS, max_size=2, unique=True), max_size=2),
        "dependentSchemas": st.dictionaries(KEYS, child, max_size=1),
        **dict.fromkeys(("items", "additionalProperties", "propertyNames", "contains", "not", "if"), child),
        **dict.fromkeys(("then", "else", "unevaluatedItems", "unevaluatedProperties"), child),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
        "$ref": REFERENCES,
    }


TOGETHER = (
    ("if", "then", "else"),
    ("properties", "required", "additionalProperties"),
    ("properties", "allOf", "unevaluatedProperties"),
    ("anyOf", "properties", "unevaluatedProperties"),
    ("prefixItems", "items", "maxItems"),
    ("prefixItems", "contains", "unevaluatedItems"),
    ("items", "contains", "minContains", "maxContains"),
    ("oneOf", "type"),
    ("not", "type"),
    ("patternProperties", "propertyNames", "minProperties"),
    ("enum", "not"),
    ("items", "uniqueItems"),
    ("additionalProperties", "not", "type"),
)
"""Keywords that mean something else beside each other."""


@st.composite
def nodes(draw: st.DrawFn, depth: int = 3) -> Any:
    """Draw a node of a few keywords."""
    if depth == 0:
        return draw(LEAVES)
    offered = keywords(nodes(depth - 1))
    names = [*draw(st.sampled_from(TOGETHER)), *draw(st.lists(st.sampled_from(sorted(offered)), max_size=2))]
    return {name: draw(offered[name]) for name in names}


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    two = {"$anchor": "two", **draw(nodes(1))}
    return {**draw(nodes()), "$defs": {"one": draw(nodes(1)), "two": two}}


class Definitions:
    """Follows the references of finished values."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def seen(self, node: Node) -> Node:
        while isinstance(node, Reference):
            node = self._values.definitions[node.name]
        return node


def disagreement(schema: Any, values: list[Any]) -> str | None:
    """What the nodes of a schema say otherwise than the validator does, of the first such value."""
    try:
        document = Document.load(schema)
        if circle(document) is not None:
            return None  # Such a schema is refused: what it means is anybody's guess.
        validator = jsonschema_rs.validator_for(with_draft(schema, document.draft), validate_formats=True)
        found, unmasked = Normaliser(document, LANGUAGES, closed=False).values()
    except SchemaError as error:
        if "no value satisfies" not in error.message:
            return None
        return next((f"refused, but {json.dumps(v)} fits" for v in values if validator.is_valid(v)), None)
    noted = [entry for entry in unmasked if entry.keyword != "duplicate_key"]
    for value in values:
        is_valid = validator.is_valid(value)
        is_allowed = arranged(found.root, value, Definitions(found)) is not None
        if is_valid and not is_allowed:
            return f"does not allow {json.dumps(value)}"
        if is_allowed and not is_valid and not noted:
            return f"allows {json.dumps(value)}, and notes nothing"
    return None


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(schema=schemas(), values=st.lists(VALUES, min_size=20, max_size=30))
def test_nodes_allow_what_is_valid_and_what_else_they_allow_is_noted(schema: Any, values: list[Any]) -> None:
    """Whatever keywords meet in a node."""
    assert disagreement(schema, values) is None
