"""What to compile before the first request: the rules that the masks of most schemas have in common.

XGrammar's compiler remembers rules by their structure. A string of up to 40 characters is the end of the one
of up to 256, and a date is the same in every schema: once compiled, they cost next to nothing.

for schema in warm_up_schemas():
    planner.plan(schema, closed=True)

Where a text must have some characters, its first rules differ with the number of characters that may follow:
they are compiled for the lengths that schemas name most.
"""

from collections.abc import Iterator

from server.request import Schema
from server.schema.automata.limits import AutomatonLimits
from server.schema.formats import FORMATS

_LEAST = (1, 2, 3)
_MOST = (*(10, 12, 16, 20, 24, 30, 32, 36, 40, 48, 50, 60, 63, 64, 72, 80, 90, 100, 120, 127, 128, 140, 150),
         *(160, 180, 200, 220, 240, 250, 254, 255, 256))  # fmt: skip


def warm_up_schemas(limits: AutomatonLimits | None = None) -> Iterator[Schema]:
    """Objects, as the rules of a string within one differ from those of a string by itself."""
    longest = (limits or AutomatonLimits()).length
    yield _holding({"type": "string", "maxLength": longest})
    yield _holding({"type": "string", "minLength": 1})
    for most in _MOST:
        for least in _LEAST if most <= longest else ():
            yield _holding({"type": "string", "minLength": least, "maxLength": most})
    for name in FORMATS:
        yield _holding({"type": "string", "format": name})


def _holding(schema: Schema) -> Schema:
    return {"type": "object", "properties": {"": schema}, "required": [""], "additionalProperties": False}
