"""How large a schema may be, so that none can hold up the server.

SchemaLimits(enum_values=10).enum_values     # 10
SchemaLimits().changed([("depth", 64)])      # the defaults, but for one
read_limit("depth=64")                       # ("depth", 64)
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

SETTING = "--schema-limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLimits:
    """The limits by the names that `--schema-limit` takes."""

    characters: int = 1_000_000
    """Of the schema as compact JSON."""
    depth: int = 128
    """Levels of nested values below the schema itself."""
    values: int = 50_000
    """Values in the schema's own JSON, keys not counted."""
    properties: int = 5_000
    """Declared properties, in all objects together."""
    enum_values: int = 5_000
    """Values of all `enum`s together."""
    branches: int = 500
    """Of one `anyOf`, `oneOf` or `allOf`."""
    subschemas: int = 2_000
    """That hold of one and the same value, references followed: each is tried on it."""
    pattern_length: int = 2_000
    """Characters of one regular expression."""
    pattern_repeats: int = 10_000
    """Times that a part of a regular expression is repeated: `(a{9}){9}` is 81."""

    def changed(self, changes: Iterable[tuple[str, int]]) -> "SchemaLimits":
        """The limits with some of them changed; of two changes of one limit the last counts."""
        return replace(self, **dict(changes))

    def over(self, name: str, what: str) -> str:
        """The message for a schema that is over a limit: which, and what changes it."""
        return f"the schema has more than {getattr(self, name):,} {what}; {SETTING} {name}=… sets the limit"


DEFAULT_LIMITS = SchemaLimits()
NAMES = tuple(each.name for each in fields(SchemaLimits))


def read_limit(text: str) -> tuple[str, int]:
    """Read one `NAME=VALUE`. Raises `ValueError` that says what is wrong with it."""
    name, _, value = text.partition("=")
    if name not in NAMES:
        raise ValueError(f"'{name}' is none of the limits {', '.join(NAMES)}")
    if not value.isascii() or not value.isdecimal() or not 1 <= int(value) <= 10**9:
        raise ValueError(f"'{text}' is not NAME=VALUE with a whole number from 1 to 1,000,000,000")
    return name, int(value)
