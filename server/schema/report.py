"""What becomes of each constraint of a schema, as rows for people.

report({"type": "array", "uniqueItems": True}, plan)
# (Row("#", "type", Handling.MASK, ""), Row("#", "uniqueItems", Handling.CHECK, "items are not compared"))
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from server.schema.contents import CONTENT
from server.schema.document import Document, Located
from server.schema.drafts import detect_draft
from server.schema.plan import SchemaPlan
from server.schema.unmasked import Unmasked

ASSERTIONS = frozenset(
    {
        *("type", "enum", "const", "$ref", "$dynamicRef", "$recursiveRef"),
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format"),
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems"),
        *("uniqueItems", "contains", "minContains", "maxContains"),
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("propertyNames", "required", "minProperties", "maxProperties"),
        *("dependencies", "dependentRequired", "dependentSchemas"),
        *("contentEncoding", "contentMediaType"),
    }
)
"""The keywords that can make a value wrong, those of contents in some drafts only. All others describe."""


class Handling(Enum):
    """Who holds a constraint."""

    MASK = "mask"
    """Nothing else can be written."""
    CHECK = "check"
    """The mask lets pass what breaks it; the finished value is checked."""
    ANNOTATION = "annotation"
    """It describes, as the schema's draft says, and nothing breaks it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One constraint: where it stands (`#/properties/a`), its keyword, who holds it, and why not the mask."""

    pointer: str
    keyword: str
    handling: Handling
    why: str = ""


def report(schema: Any, plan: SchemaPlan) -> tuple[Row, ...]:
    """Return a row for each constraint, in the schema's order, and for what else the mask lets pass."""
    return constraints(schema, plan.unmasked)


def constraints(schema: Any, entries: Iterable[Unmasked]) -> tuple[Row, ...]:
    """As `report`, of a mask that does not hold the `entries`."""
    unmasked = {(entry.pointer, entry.keyword): entry.why for entry in entries}
    rows = []
    # The schema was held to its limits before there was a plan of it.
    document = Document(schema, detect_draft(schema))
    for node in sorted(document.walk(), key=lambda node: node.pointer):
        for keyword in _assertions(node):
            why = unmasked.pop((node.pointer, keyword), None)
            kept = Handling.ANNOTATION if keyword in CONTENT else Handling.MASK
            handling = kept if why is None else Handling.CHECK
            rows.append(Row(node.pointer, keyword, handling, why or ""))
    # What the plan names otherwise than the schema does: an older spelling, or a key that is written twice.
    rest = (Row(pointer, keyword, Handling.CHECK, why) for (pointer, keyword), why in unmasked.items())
    return (*rows, *rest)


def _assertions(node: Located) -> list[str]:
    if not isinstance(node.schema, dict):
        return []
    return [keyword for keyword in node.schema if keyword in ASSERTIONS or keyword in CONTENT]
