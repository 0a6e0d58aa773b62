"""Which draft of JSON Schema a schema is written in, and how each draft's spellings read in 2020-12.

`{"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": true}` is
`Draft.D4`, and its node reads `{"exclusiveMinimum": 3}`.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import jsonschema_rs


class Draft(Enum):
    """The drafts that the validator knows; the value is the schema's `$schema`, without scheme and `#`."""

    D4 = "json-schema.org/draft-04/schema"
    D6 = "json-schema.org/draft-06/schema"
    D7 = "json-schema.org/draft-07/schema"
    D2019 = "json-schema.org/draft/2019-09/schema"
    D2020 = "json-schema.org/draft/2020-12/schema"

    @property
    def uri(self) -> str:
        scheme, end = ("https", "") if self in (Draft.D2019, Draft.D2020) else ("http", "#")
        return f"{scheme}://{self.value}{end}"

    @property
    def ref_replaces_siblings(self) -> bool:
        """Up to draft 7, a node with `$ref` is that reference and nothing else."""
        return self in (Draft.D4, Draft.D6, Draft.D7)

    @property
    def id_keyword(self) -> str:
        return "id" if self is Draft.D4 else "$id"


class UnknownDraftError(ValueError):
    """`$schema` names a dialect that is not one of `Draft`."""


def detect_draft(schema: Any) -> Draft:
    """Tell the draft from `$schema`; without one it is 2020-12, or the newest whose metaschema accepts it.

    Generators often leave `$schema` out, so that `exclusiveMinimum: true` or a list as `items` is all that
    tells draft 4 or 7. Raises `UnknownDraftError`.
    """
    if not isinstance(schema, dict) or "$schema" not in schema:
        return _guess(schema)
    name = str(schema["$schema"]).removesuffix("#").partition("://")[2]
    try:
        return Draft(name)
    except ValueError:
        raise UnknownDraftError(str(schema["$schema"])) from None


def _guess(schema: Any) -> Draft:
    for draft in (Draft.D2020, Draft.D7, Draft.D4):
        if jsonschema_rs.meta.is_valid(with_draft(schema, draft)):
            return draft
    return Draft.D2020


def with_draft(schema: Any, draft: Draft) -> Any:
    """Return the schema with its draft stated, so that nothing downstream has to detect it again."""
    return {**schema, "$schema": draft.uri} if isinstance(schema, dict) else schema


def modernise(keywords: Mapping[str, Any], draft: Draft) -> dict[str, Any]:
    """Spell one node's own bounds as 2020-12 does; keywords that hold subschemas are left as they are."""
    if draft.ref_replaces_siblings and "$ref" in keywords:
        return {"$ref": keywords["$ref"]}
    node = dict(keywords)
    if draft is Draft.D4:
        for bound in ("minimum", "maximum"):
            exclusive = "exclusive" + bound.capitalize()
            if node.pop(exclusive, False) is True and bound in node:
                node[exclusive] = node.pop(bound)
    return node
