"""Keywords of strict schemas that the mask does not hold: the request is refused, or the model is told.

refuse_unmasked(constraint)
# ApiError: Invalid schema for function 'tag': the mask cannot hold 'uniqueItems' at '#/properties/tags' (…).
described(request, planner, style).tools[0].parameters["properties"]["tags"]
# {"type": "array", "uniqueItems": True, "description": "The items all differ."}
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from parsers.arguments.style import ArgumentStyle
from server.errors import ApiError, Code
from server.mask.constrain import Constraint, unmasked_of
from server.request import Json, Request, ToolDefinition
from server.schema.document import Document
from server.schema.drafts import detect_draft
from server.schema.plan import SchemaPlanner
from server.schema.report import ASSERTIONS
from server.schema.unmasked import Unmasked

MAX_VALUE = 300
"""Characters of a keyword's value that a description repeats."""

WORDS: Mapping[str, str] = {
    "additionalProperties": "Any other key's value fits {value}.",
    "allOf": "It fits all of {value}.",
    "anyOf": "It fits at least one of {value}.",
    "const": "It is {value}.",
    "contains": "At least one item fits {value}.",
    "contentEncoding": "The text is encoded in {value}.",
    "contentMediaType": "The text holds {value}.",
    "dependencies": "Where one of these keys is given, what is behind it must be so: {value}.",
    "dependentRequired": "Where one of these keys is given, so are the keys behind it: {value}.",
    "dependentSchemas": "Where one of these keys is given, the object fits what is behind it: {value}.",
    "else": "Where it does not fit the `if`, it fits {value}.",
    "enum": "It is one of {value}.",
    "exclusiveMaximum": "It is less than {value}.",
    "exclusiveMinimum": "It is more than {value}.",
    "format": "It has the format {value}.",
    "if": "If it fits {value}, it fits the `then`; else the `else`.",
    "items": "Each item fits {value}.",
    "maxContains": "At most {value} items fit the `contains`.",
    "maxItems": "There are at most {value} items.",
    "maxLength": "It has at most {value} characters.",
    "maxProperties": "There are at most {value} keys.",
    "maximum": "It is at most {value}.",
    "minContains": "At least {value} items fit the `contains`.",
    "minItems": "There are at least {value} items.",
    "minLength": "It has at least {value} characters.",
    "minProperties": "There are at least {value} keys.",
    "minimum": "It is at least {value}.",
    "multipleOf": "It is a multiple of {value}.",
    "not": "It does not fit {value}.",
    "oneOf": "It fits exactly one of {value}.",
    "pattern": "It matches the regular expression {value}.",
    "patternProperties": "The value of a key that matches one of these patterns fits its schema: {value}.",
    "prefixItems": "The first items fit these, in order: {value}.",
    "propertyNames": "Each key fits {value}.",
    "required": "These keys are given: {value}.",
    "then": "Where it fits the `if`, it fits {value}.",
    "type": "It is of type {value}.",
    "unevaluatedItems": "Any other item fits {value}.",
    "unevaluatedProperties": "Any other key's value fits {value}.",
    "uniqueItems": "The items all differ.",
}
"""What a keyword asks for, in words."""

OTHERWISE = "It satisfies `{keyword}`: {value}."


def refuse_unmasked(constraint: Constraint) -> None:
    """Raise `ApiError` (400) that names every keyword of strict schemas that the mask does not hold.

    A key that is written twice is no keyword of the client's: it is checked, under this policy too.
    """
    refused = [
        (Code.INVALID_TOOLS, f"function '{name}'", rule.tool.schema_param, entries)
        for name, rule in constraint.calls.items()
        if rule.tool.strict and (entries := unmasked_keywords(rule.unmasked))
    ]
    answer = constraint.answer
    if answer is not None and answer.strict and (entries := unmasked_keywords(answer.unmasked)):
        refused.append((Code.INVALID_SCHEMA, f"response_format '{answer.name}'", answer.param, entries))
    if not refused:
        return
    kind, _, param, _ = refused[0]
    said = "; ".join(f"for {subject}: the mask cannot hold {entries}" for _, subject, _, entries in refused)
    way_out = "Leave them out, or have them checked with 'strictcall': {'unsupported_keywords': 'validate'}."
    raise ApiError(kind, f"Invalid schema {said}. {way_out}", param)


def unmasked_keywords(unmasked: Iterable[Unmasked]) -> str:
    """The keywords that the mask does not hold, each with its place and why; "" if there are none."""
    entries = (entry for entry in unmasked if entry.keyword in ASSERTIONS)
    return ", ".join(f"'{entry.keyword}' at '{entry.pointer}' ({entry.why})" for entry in entries)


def described(request: Request, planner: SchemaPlanner, style: ArgumentStyle) -> Request:
    """Return the request as the model is to read it: with the unmasked rules of strict tools in words."""
    tools = tuple(_described(tool, planner, style) for tool in request.tools)
    return replace(request, tools=tools)


def _described(tool: ToolDefinition, planner: SchemaPlanner, style: ArgumentStyle) -> ToolDefinition:
    if not tool.strict:
        return tool
    try:
        return with_rules(tool, unmasked_of(tool, planner, style))
    except ApiError:
        return tool  # refused if it can be called; else it is only shown


def with_rules(tool: ToolDefinition, unmasked: Iterable[Unmasked]) -> ToolDefinition:
    """Return a tool with these of its rules in words, each in the description of its field."""
    if not isinstance(tool.parameters, Mapping):
        return tool
    schema: Json = tool.parameters
    document = Document(schema, detect_draft(schema))
    about_tool: list[str] = []
    for entry in unmasked:
        if entry.keyword not in ASSERTIONS:
            continue
        located = document.resolve(entry.pointer)
        node = None if located is None else located.schema
        words = in_words(entry.keyword, node)
        if entry.pointer == "#":
            # Templates show what a tool is for, but seldom what its arguments are as a whole.
            about_tool.append(words)
        elif isinstance(node, Mapping):
            schema = _noted(schema, list(_tokens(entry.pointer)), words)
        else:
            about_tool.append(f"At {entry.pointer}: {words}")
    description = " ".join(filter(None, (tool.description, *about_tool)))
    return replace(tool, description=description, parameters=schema)


def in_words(keyword: str, schema: Json) -> str:
    """Return what a keyword of a schema asks for.

    in_words("minItems", {"minItems": 2})   # "There are at least 2 items."
    """
    value = _value(keyword, schema)
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_VALUE:
        text = text[: MAX_VALUE - 1] + "…"
    return WORDS.get(keyword, OTHERWISE).format(keyword=keyword, value=text)


_OLDER = {
    "dependentRequired": "dependencies",
    "dependentSchemas": "dependencies",
    "prefixItems": "items",
    "items": "additionalItems",
}
"""How drafts before 2019-09 and 2020-12 spell what a plan names by its new name."""


def _value(keyword: str, schema: Json) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    return schema.get(keyword, schema.get(_OLDER.get(keyword, keyword)))


def _tokens(pointer: str) -> Iterator[str]:
    for part in pointer.split("/")[1:]:
        yield unquote(part).replace("~1", "/").replace("~0", "~")


def _noted(schema: Json, tokens: list[str], words: str) -> Json:
    """Return a copy of a schema in which the node at the end of the path says it in its description."""
    if not tokens:
        return {**schema, "description": " ".join(filter(None, (_text(schema), words)))}
    token, *rest = tokens
    if isinstance(schema, list):
        at = int(token)
        return [*schema[:at], _noted(schema[at], rest, words), *schema[at + 1 :]]
    return {**schema, token: _noted(schema[token], rest, words)}


def _text(schema: Mapping[str, Any]) -> str:
    description = schema.get("description", "")
    return description if isinstance(description, str) else ""
