"""How large a schema may be, so that none can hold up the server.

SchemaLimits(enum_values=10).enum_values     # 10
SchemaLimits().changed([("depth", 64)])      # the defaults, but for one
read_limit("depth=64")                       # ("depth", 64)
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace

SETTING = "--schema-limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLimits:
    """The limits by the names that `--schema-limit` takes, each with what it counts."""

    characters: int = field(default=1_000_000, metadata={"of": "characters as compact JSON"})
    depth: int = field(default=128, metadata={"of": "levels of nested values below itself"})
    values: int = field(default=50_000, metadata={"of": "values in its own JSON"})
    properties: int = field(default=5_000, metadata={"of": "properties, in all objects together"})
    enum_values: int = field(default=5_000, metadata={"of": "enum values, in all enums together"})
    branches: int = field(default=500, metadata={"of": "branches in one anyOf, oneOf or allOf"})
    subschemas: int = field(
        default=2_000, metadata={"of": "subschemas for one and the same value, references followed"}
    )
    pattern_length: int = field(default=2_000, metadata={"of": "characters in one pattern"})
    pattern_repeats: int = field(
        default=10_000, metadata={"of": "repeats of one part of a pattern, as `(a{9}){9}` has 81"}
    )

    def changed(self, changes: Iterable[tuple[str, int]]) -> "SchemaLimits":
        """The limits with some of them changed; of two changes of one limit the last counts."""
        return replace(self, **dict(changes))

    def over(self, name: str, subject: str = "the schema") -> str:
        """The message for a schema that is over a limit: which, and what changes it."""
        what = self.__dataclass_fields__[name].metadata["of"]
        return f"{subject} has more than {getattr(self, name):,} {what}; {SETTING} {name}=… sets the limit"


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
