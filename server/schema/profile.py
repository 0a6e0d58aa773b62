"""What OpenAI's strict mode refuses of a schema, in its words, for those who must stay portable to it.

check_profile({"type": "object", "properties": {"a": {"type": "string"}}}, SchemaProfile.OPENAI)
# SchemaError("#", "'additionalProperties' is required to be supplied and to be false")

The rules are those that OpenAI documents and that its service was seen to answer with.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from server.schema.document import Document, Located, SchemaError
from server.schema.drafts import detect_draft


class SchemaProfile(StrEnum):
    """Which strict schemas are taken."""

    NATIVE = "native"
    """All that a mask, or the check after it, can hold."""
    OPENAI = "openai"
    """Those that OpenAI's own strict mode takes."""


UNSUPPORTED = frozenset(
    {
        *("allOf", "oneOf", "not", "if", "then", "else"),
        *("dependencies", "dependentRequired", "dependentSchemas"),
        *("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"),
        *("prefixItems", "additionalItems", "unevaluatedItems", "uniqueItems"),
        *("contains", "minContains", "maxContains", "minLength", "maxLength"),
        *("contentEncoding", "contentMediaType", "contentSchema"),
        *("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"),
    }
)
FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))

MAX_PROPERTIES = 5_000
MAX_LEVELS = 10
MAX_ENUM_VALUES = 1_000
MAX_TEXT = 120_000
"""Characters of all names of properties and definitions, and of all strings in `enum` and `const`."""
MANY_VALUES = 250
MAX_ENUM_TEXT = 15_000
"""Characters of the strings in one `enum` of more than `MANY_VALUES`."""

_CLOSING = "additionalProperties"
_Rule = Callable[[Located, dict[str, Any]], str | None]


def check_profile(schema: Any, profile: SchemaProfile) -> None:
    """Raise `SchemaError` for the first thing in a strict schema that the profile refuses.

    The schema is one, and within the limits.
    """
    if profile is SchemaProfile.OPENAI:
        _check_openai(Document(schema, detect_draft(schema)))


def _check_openai(document: Document) -> None:
    schema = document.root.schema
    root = schema.get("type") if isinstance(schema, dict) else None
    if root != "object" or "anyOf" in schema:
        raise SchemaError("#", f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{root}\"'")
    # An object that is open has been refused before what stands there is asked for.
    closing = {
        child for node in document.walk() for name, child in document.children(node) if name == _CLOSING
    }
    for node in document.walk():
        if node in closing:
            continue
        for rule in _RULES:
            # A boolean is a schema without a single keyword to hold a value to.
            if message := rule(node, node.schema if isinstance(node.schema, dict) else {}):
                raise SchemaError(node.pointer, message)
    _check_totals(document)


def _keywords(node: Located, schema: dict[str, Any]) -> str | None:
    for keyword in schema:
        if keyword in UNSUPPORTED or (keyword == "$id" and node.pointer != "#"):
            return f"'{keyword}' is not supported"
        if keyword == "default":
            return "'default' is not permitted"
    if isinstance(schema.get("items"), list):
        return "'items' is required to be a schema, and not a list of them"
    if "format" in schema and schema["format"] not in FORMATS:
        return (
            f"'{schema['format']}' is not a valid format; the supported ones are {', '.join(sorted(FORMATS))}"
        )
    return None


def _reference(_node: Located, schema: dict[str, Any]) -> str | None:
    others = sorted(schema.keys() - {"$ref", "$defs", "definitions", "$schema", "$id"})
    return f"$ref cannot have keywords {set(others)}" if "$ref" in schema and others else None


def _type(_node: Located, schema: dict[str, Any]) -> str | None:
    if schema.keys().isdisjoint(("type", "$ref", "anyOf", "enum", "const")):
        return "schema must have a 'type' key"
    if "array" in _types(schema) and "items" not in schema:
        return "array schema missing items"
    return None


def _object(_node: Located, schema: dict[str, Any]) -> str | None:
    if "object" not in _types(schema) and "properties" not in schema:
        return None
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false"
    required = schema.get("required")
    missing = [key for key in schema.get("properties", {}) if key not in (required or ())]
    if missing or not isinstance(required, list):
        rule = "'required' is required to be supplied and to be an array including every key in properties"
        return f"{rule}. Missing '{missing[0]}'" if missing else None
    extra = [key for key in required if key not in schema.get("properties", {})]
    return f"'required' has the extra key '{extra[0]}', which is not in properties" if extra else None


def _choices(_node: Located, schema: dict[str, Any]) -> str | None:
    values = schema.get("enum", ())
    text = sum(len(value) for value in values if isinstance(value, str))
    if len(values) > MANY_VALUES and text > MAX_ENUM_TEXT:
        what = f"characters in one enum of more than {MANY_VALUES} values"
        return f"{text:,} {what} exceeds limit of {MAX_ENUM_TEXT:,}"
    return None


_RULES: tuple[_Rule, ...] = (_keywords, _reference, _type, _object, _choices)


def _types(schema: dict[str, Any]) -> list[str]:
    types = schema.get("type", [])
    return types if isinstance(types, list) else [types]


def _check_totals(document: Document) -> None:
    schemas = [node.schema for node in document.walk() if isinstance(node.schema, dict)]
    properties = sum(len(schema.get("properties", ())) for schema in schemas)
    values = sum(len(schema.get("enum", ())) for schema in schemas)
    text = sum(len(word) for schema in schemas for word in _words(schema))
    for count, what, most in (
        (_levels(document), "levels of nesting", MAX_LEVELS),
        (properties, "properties", MAX_PROPERTIES),
        (values, "enum values", MAX_ENUM_VALUES),
        (text, "characters in names and values", MAX_TEXT),
    ):
        if count > most:
            raise SchemaError("#", f"{count:,} {what} exceeds limit of {most:,}")


def _words(schema: dict[str, Any]) -> Iterator[str]:
    for names in ("properties", "$defs", "definitions"):
        yield from schema.get(names, ())
    values = [*schema.get("enum", ()), schema.get("const")]
    yield from (value for value in values if isinstance(value, str))


def _levels(document: Document) -> int:
    """How deep objects stand in each other; definitions begin anew."""
    levels: dict[Located, int] = {document.root: 1}
    for node in document.walk():
        for keyword, child in document.children(node):
            begins = 0 if keyword in ("$defs", "definitions") else levels[node]
            levels[child] = begins + (keyword in ("properties", "$defs", "definitions"))
    # A property that is no object is no level.
    objects = [level for node, level in levels.items() if _is_object(node.schema)]
    return max(objects, default=0)


def _is_object(schema: Any) -> bool:
    return isinstance(schema, dict) and "object" in _types(schema)
