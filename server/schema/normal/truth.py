"""Whether a member holds for a value that is known: for the values of `enum`, and for the names of keys.

truth.holds(Holds(document.root), 3)    # asks the same validator that checks finished values
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any

import jsonschema_rs

from server.schema.automata import rules
from server.schema.document import Document, Located
from server.schema.drafts import with_draft
from server.schema.instance import OPTIONS
from server.schema.normal.facts import (
    Among,
    At,
    Counted,
    Differs,
    Either,
    Fails,
    Has,
    Holding,
    Holds,
    Kind,
    Kinds,
    Lacks,
    Member,
    Ruled,
)
from server.schema.normal.reading import kinds_of, values_of

_SAYS_NOTHING = frozenset(
    ("title", "description", "default", "examples", "deprecated", "$comment", "readOnly", "writeOnly")
)
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_SIMPLE = _SAYS_NOTHING | {"type", "enum", "const"}


def kind_of(value: Any) -> Kind:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "fraction"
        case Decimal():
            return "integer" if value == value.to_integral_value() else "fraction"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def canonical(value: Any) -> Any:
    """Equal for values that are equal as JSON: 1 and 1.0 are, 1 and true are not."""
    match value:
        case list():
            return "array", tuple(canonical(item) for item in value)
        case Mapping():
            return "object", frozenset((name, canonical(child)) for name, child in value.items())
        case bool() | str() | None:
            return kind_of(value), value
        case _:
            return "number", Decimal(str(value)) if isinstance(value, float) else Decimal(value)


class Truth:
    """Judges values by the nodes of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._validators: dict[Located, jsonschema_rs.Validator | None] = {}
        self._patterns: dict[str, jsonschema_rs.Validator] = {}
        self._listed: dict[Located, list[frozenset[Any]]] = {}
        root = document.root.schema
        identifier = root.get(document.draft.id_keyword) if isinstance(root, dict) else None
        has_address = isinstance(identifier, str) and "://" in identifier
        self._base = str(identifier).partition("#")[0] if has_address else "urn:strictcall:schema"

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        root = with_draft(self._document.root.schema, self._document.draft)
        return jsonschema_rs.Registry([(self._base, root)], retriever=_fetch_nothing)

    def holds(self, member: Member, value: Any) -> bool:
        """Whether the member holds; True where that cannot be told."""
        match member:
            case Holds():
                return self._fits(member, value) is not False
            case Fails():
                return self._fits(member, value) is not True
            case Kinds():
                return kind_of(value) in member.kinds
            case Among():
                return canonical(value) in {canonical(other) for other in member.values}
            case Differs():
                return canonical(value) not in {canonical(other) for other in member.values}
            case Either():
                return any(self.holds(branch, value) for branch in member.members)
            case Ruled():
                return keeps_to(member.rule.limit, value)
            case _:
                return self._holds_within(member, value)

    def matches(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text."""
        if pattern not in self._patterns:
            self._patterns[pattern] = jsonschema_rs.validator_for({"pattern": pattern}, **OPTIONS)
        return bool(self._patterns[pattern].is_valid(text))

    def _holds_within(self, member: Member, value: Any) -> bool:
        """Facts about objects and arrays."""
        match member, value:
            case Has(), Mapping():
                has = member.name in value
                return has and (member.value is None or self.holds(member.value, value[member.name]))
            case Lacks(), Mapping():
                return member.name not in value
            case At(), list():
                return member.index < len(value) and self.holds(member.value, value[member.index])
            case Counted(kind="object"), Mapping():
                return is_between(len(value), member.least, member.most)
            case Counted(kind="array"), list():
                return is_between(len(value), member.least, member.most)
            case Holding(), list():
                matching = sum(self.holds(member.value, item) for item in value)
                return is_between(matching, member.least, member.most)
            case _:
                return True

    def _fits(self, member: Holds | Fails, value: Any) -> bool | None:
        schema = member.node.schema
        if isinstance(schema, bool):
            return schema
        if schema.keys() <= _SIMPLE:
            return self._fits_simply(member.node, value)
        if member.node not in self._validators:
            self._validators[member.node] = self._validator(member.node)
        validator = self._validators[member.node]
        try:
            return None if validator is None else bool(validator.is_valid(value))
        except (jsonschema_rs.ValidationError, ValueError):
            return None

    def _fits_simply(self, node: Located, value: Any) -> bool:
        if "type" in node.schema and kind_of(value) not in kinds_of(node.schema["type"]):
            return False
        if node not in self._listed:
            # Thousands of choices are compared with each other.
            listed = [values_of(name, node.schema[name]) for name in ("enum", "const") if name in node.schema]
            self._listed[node] = [frozenset(map(canonical, values)) for values in listed]
        return all(canonical(value) in values for values in self._listed[node])

    def _validator(self, node: Located) -> jsonschema_rs.Validator | None:
        """The node's own validator; None if it cannot be told what the node means by itself."""
        draft = self._document.draft
        if not _refers(node.schema):
            schema = with_draft(node.schema, draft)
        else:
            schema = {"$schema": draft.uri, "$ref": self._base + node.pointer}
        try:
            return jsonschema_rs.validator_for(schema, registry=self._registry, **OPTIONS)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
            return None


def _refers(value: Any) -> bool:
    """Whether a reference stands anywhere in a schema."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if not _REFERENCES.isdisjoint(part):
                return True
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False


def _fetch_nothing(uri: str) -> Any:
    raise ValueError(f"{uri} is not part of the schema, and nothing is fetched")


def keeps_to(limit: rules.Limit, value: Any) -> bool:
    """Whether a string, or a number, keeps to the limit; other values always do."""
    asked = _schema_of(limit)
    return asked is None or bool(jsonschema_rs.is_valid(asked, value, **OPTIONS))


def _schema_of(limit: rules.Limit) -> Any:
    """The limit as a schema; None if no schema says it."""
    match limit:
        case rules.LongerOrEqual():
            return {"minLength": limit.length}
        case rules.ShorterOrEqual():
            return {"maxLength": limit.length}
        case rules.Matches():
            return {"pattern": limit.pattern}
        case rules.MatchesNot():
            return {"if": {"type": "string"}, "then": {"not": {"pattern": limit.pattern}}}
        case rules.HasFormat():
            return {"format": limit.name}
        case rules.AtLeast():
            return {"exclusiveMinimum" if limit.exclusive else "minimum": _number(limit.bound)}
        case rules.AtMost():
            return {"exclusiveMaximum" if limit.exclusive else "maximum": _number(limit.bound)}
        case rules.MultipleOf():
            return {"multipleOf": _number(limit.divisor)}
        case _:
            return None


def _number(value: Decimal) -> int | float:
    return int(value) if value == int(value) else float(value)


def is_between(count: int, least: int, most: int | None) -> bool:
    return least <= count and (most is None or count <= most)
