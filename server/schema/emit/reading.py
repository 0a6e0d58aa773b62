"""What a reader makes of a value, where it goes by the schema and not by how the value is written.

A place of text or null, in the tags of Qwen3-Coder: text must not look like null there, or it would be read
as that. A place of anything is read as text there, so no other value can be written.
"""

from parsers.arguments.json_text import write_json
from parsers.arguments.kinds import ALL, CONTAINERS, STRING, read_value
from parsers.spelling import KindsBy, Spelling
from server.schema.emit.places import Place


def is_read(kind: str, place: Place, spelling: Spelling) -> bool:
    """Whether what is written as a value of the kind is read as one."""
    if spelling.kinds is not KindsBy.SCHEMA_OR_TEXT or place.kinds != ALL:
        return True
    return kind == "string" or (spelling.members.is_tags and kind in CONTAINERS)


def lookalikes(place: Place, spelling: Spelling) -> frozenset[str]:
    """The kinds of value that a text must not look like."""
    is_text = spelling.kinds is KindsBy.SCHEMA_OR_TEXT and place.kinds == ALL
    if spelling.kinds is KindsBy.SPELLING or is_text or place.kinds == STRING:
        return frozenset()
    # What begins as an object or an array is read as JSON until it ends.
    either = frozenset() if place.kinds.isdisjoint(CONTAINERS) else CONTAINERS
    return (place.kinds | either) - STRING


def looks_like(value: object, kinds: frozenset[str]) -> bool:
    """Whether the value is text that looks like a value of one of the kinds."""
    if not isinstance(value, str) or not kinds:
        return False
    begins = kinds >= CONTAINERS and value.strip().startswith(("{", "["))
    return begins or read_value(value, kinds | STRING) != write_json(value)
