"""Keywords that are younger than a schema's own draft: read all the same, so they must be right as well.

check_later(Document.load({"exclusiveMinimum": True, "minimum": 1, "contains": 5}))
# SchemaError("#/contains", '5 is not of types "boolean", "object"')

The metaschema of draft 4, the only one with such an `exclusiveMinimum`, has never heard of `contains`.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from server.schema.document import Document, Located, SchemaError
from server.schema.drafts import Draft

_SINCE: Mapping[Draft, frozenset[str]] = {
    Draft.D6: frozenset({"const", "contains", "propertyNames"}),
    Draft.D7: frozenset({"if", "then", "else"}),
    Draft.D2019: frozenset(
        {
            *("$anchor", "dependentRequired", "dependentSchemas", "minContains", "maxContains"),
            *("unevaluatedItems", "unevaluatedProperties"),
        }
    ),
    Draft.D2020: frozenset({"prefixItems", "$dynamicRef", "$dynamicAnchor"}),
}
"""The keywords that each draft was the first to have, as far as they are read."""

_SUBSCHEMA = frozenset(
    ("contains", "propertyNames", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties")
)


def check_later(document: Document) -> None:
    """Raise `SchemaError` for a keyword that the newest draft would not take."""
    drafts = list(Draft)
    younger = drafts[drafts.index(document.draft) + 1 :]
    later = frozenset().union(*(_SINCE.get(draft, frozenset()) for draft in younger))
    for node in document.walk() if later else ():
        if isinstance(node.schema, dict) and not later.isdisjoint(node.schema):
            _check(node, later)


def _check(node: Located, later: frozenset[str]) -> None:
    alone = {keyword: _emptied(keyword, node.schema[keyword]) for keyword in node.schema if keyword in later}
    try:
        jsonschema_rs.meta.validate({"$schema": Draft.D2020.uri, **alone})
    except jsonschema_rs.ValidationError as error:
        raise SchemaError(node.child(*error.instance_path).pointer, error.message) from error


def _emptied(keyword: str, value: Any) -> Any:
    """The keyword's value without what its subschemas say, which are nodes of their own."""
    match value:
        case dict() if keyword == "dependentSchemas":
            return {key: _hollow(inner) for key, inner in value.items()}
        case list() if keyword == "prefixItems":
            return list(map(_hollow, value))
        case _:
            return _hollow(value) if keyword in _SUBSCHEMA else value


def _hollow(schema: Any) -> Any:
    return True if isinstance(schema, dict) else schema
