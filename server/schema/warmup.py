"""What to compile before the first request: the rules that the masks of most schemas have in common.

XGrammar's compiler remembers rules by their structure. A string of up to 40 characters is the end of the one
of up to 256, and a date is the same in every schema: once compiled, they cost next to nothing.

planner.plan(warm_up_schema(), closed=True)

It is one object, as the compiler also remembers the grammar as a whole, and its rules each once in it. Where
a text must have some characters, its first rules differ with the number of those that may follow: they are
compiled for the lengths that schemas name most.
"""

from server.request import Schema
from server.schema.automata.limits import AutomatonLimits
from server.schema.formats import FORMATS

_LEAST = (0, 1, 2, 3)
_MOST = (
    *(10, 12, 16, 20, 24, 30, 32, 36, 40, 48, 50, 60, 63, 64, 72, 80, 90, 100, 120, 127, 128, 140, 150, 160),
    *(180, 200, 220, 240, 250, 254, 255, 256),
)


def warm_up_schema(limits: AutomatonLimits | None = None) -> Schema:
    """An object, as the rules of a string within one differ from those of a string by itself."""
    longest = (limits or AutomatonLimits()).length
    strings: list[dict[str, object]] = [{"minLength": least} for least in _LEAST]
    strings += [
        {"minLength": least, "maxLength": most} for most in _MOST for least in _LEAST if most <= longest
    ]
    strings += [{"format": name} for name in FORMATS]
    members = {str(place): {"type": "string", **string} for place, string in enumerate(strings)}
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def free_text_schemas() -> tuple[Schema, ...]:
    """Arguments of any kind, and text by itself and beside others, of which only the schema can tell it."""
    kinds = ["string", ["string", "null"], ["string", "integer"], ["string", "number"], ["string", "boolean"]]
    members = {str(place): {"type": kind} for place, kind in enumerate(kinds)}
    return {"type": "object"}, {"type": "object", "properties": members}
