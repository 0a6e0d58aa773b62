r"""How values are written, stated as data: what masks know of JSON, and of what some families write instead.

JSON.members     # Members("{", "}", ", ", key=TextForm('"', '"', Escapes.JSON), equals=": ")
JSON.null        # "null"
"""

from dataclasses import dataclass
from enum import Enum


class Escapes(Enum):
    """What stands for a character that cannot stand for itself."""

    NONE = "none"
    """Nothing: all characters are written as they are."""
    JSON = "json"
    """A backslash and what JSON has behind it."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How text is written, between `begin` and `end`."""

    begin: str
    end: str
    escapes: Escapes


@dataclass(frozen=True, slots=True)
class Members:
    """How an object is written: `begin`, then members with `separator` between them, then `end`.

    A member is its key, `equals` and its value.
    """

    begin: str
    end: str
    separator: str
    key: TextForm
    equals: str


@dataclass(frozen=True, slots=True)
class Items:
    """How an array is written: `begin`, then items with `separator` between them, then `end`."""

    begin: str
    end: str
    separator: str


@dataclass(frozen=True, slots=True)
class Spelling:
    """How values of each kind are written. Numbers are written alike everywhere."""

    text: TextForm
    members: Members
    items: Items
    true: str = "true"
    false: str = "false"
    null: str = "null"


JSON_TEXT = TextForm('"', '"', Escapes.JSON)

JSON = Spelling(
    text=JSON_TEXT,
    members=Members("{", "}", ", ", key=JSON_TEXT, equals=": "),
    items=Items("[", "]", ", "),
)
"""JSON with a space behind commas and colons, and no other whitespace."""
