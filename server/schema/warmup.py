"""What to compile before the first request: the rules that the masks of most schemas have in common.

XGrammar's compiler remembers rules by their structure. A string of up to 40 characters is the end of the one
of up to 256, and a date is the same in every schema: once compiled, they cost next to nothing.

for schema in warm_up_schemas():
    planner.plan(schema, closed=True)
"""

from collections.abc import Iterator

from server.request import Schema
from server.schema.automata.limits import AutomatonLimits
from server.schema.formats import FORMATS


def warm_up_schemas(limits: AutomatonLimits | None = None) -> Iterator[Schema]:
    """Objects, as the rules of a string within one differ from those of a string by itself."""
    longest = (limits or AutomatonLimits()).length
    yield _holding({"type": "string", "maxLength": longest})
    yield _holding({"type": "string", "minLength": 1, "maxLength": longest})
    for name in FORMATS:
        yield _holding({"type": "string", "format": name})


def _holding(schema: Schema) -> Schema:
    return {"type": "object", "properties": {"": schema}, "required": [""], "additionalProperties": False}
