r"""How values are written, stated as data: what masks know of JSON, and of what some families write instead.

JSON.members     # Members("{", "}", ", ", key=TextForm('"', '"', Escapes.JSON), equals=": ")
JSON.null        # "null"
"""

from dataclasses import dataclass, field
from enum import Enum


class Escapes(Enum):
    """What stands for a character that cannot stand for itself."""

    NONE = "none"
    """Nothing: all characters are written as they are."""
    JSON = "json"
    """A backslash and what JSON has behind it."""
    LITERAL = "literal"
    """A backslash and the quote, another backslash, or the letter of a line break or a tab."""
    ENTITY = "entity"
    """`&amp;` and `&quot;`, for these two characters only."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How text is written, between `begin` and `end`. `never`: what no text can hold, since it ends there."""

    begin: str
    end: str
    escapes: Escapes = Escapes.NONE
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signs:
    """What is written beside a value to say of what kind it is."""

    string: str = ""
    number: str = ""
    boolean: str = ""
    null: str = ""
    array: str = ""
    object: str = ""

    def of(self, kind: str) -> str:
        """The sign of values of a kind, by its name in JSON Schema."""
        return {
            "string": self.string,
            "number": self.number,
            "integer": self.number,
            "boolean": self.boolean,
            "null": self.null,
            "array": self.array,
            "object": self.object,
        }[kind]


NO_SIGNS = Signs()


@dataclass(frozen=True, slots=True)
class Members:
    """How an object is written: `begin`, then members with `separator` between them, then `end`.

    A member is its key, the sign of its value, `equals`, the value and `after`. With `closing`, that and the
    key with its end are written once more behind the value. Keys match `names`, and those that a schema does
    not name match `free`: patterns as in schemas, of which an empty one says nothing.
    """

    begin: str
    end: str
    separator: str
    key: TextForm
    equals: str
    signs: Signs = NO_SIGNS
    after: str = ""
    closing: str = ""
    names: str = ""
    free: str = ""
    is_sorted: bool = False

    @property
    def is_tags(self) -> bool:
        """Whether a member is an element. Then objects and arrays are told by the tags in them."""
        return bool(self.closing)


@dataclass(frozen=True, slots=True)
class Items:
    """How an array is written: `begin`, then items with `separator` between them, then `end`.

    An item is `before`, its value and `after`. These are the tags of `key` where members are elements.
    """

    begin: str
    end: str
    separator: str
    before: str = ""
    after: str = ""
    key: str = ""


class KindsBy(Enum):
    """What tells a reader of what kind a value is."""

    SPELLING = "spelling"
    """How it is written, or what is written beside it."""
    SCHEMA = "schema"
    """The schema: where that allows text beside other kinds, text that looks like one of them is none. The
    rule is that of `kinds.read_value`."""
    SCHEMA_OR_TEXT = "schema_or_text"
    """The schema likewise, but where that allows any kind, the value is text."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How values of each kind are written. Numbers are written alike everywhere.

    `within` is how the values in objects and arrays are written; None: in the same way. `kinds`: what tells
    of what kind a value is.
    """

    text: TextForm
    members: Members
    items: Items
    true: str = "true"
    false: str = "false"
    null: str = "null"
    within: "Spelling | None" = field(default=None)
    kinds: KindsBy = KindsBy.SPELLING

    @property
    def is_plain(self) -> bool:
        """Whether a value in an object or an array is written alike wherever that stands."""
        within = self.within or self
        return within.kinds is KindsBy.SPELLING and self.members.signs == NO_SIGNS and bool(within.text.end)


JSON_TEXT = TextForm('"', '"', Escapes.JSON)

JSON = Spelling(
    text=JSON_TEXT,
    members=Members("{", "}", ", ", key=JSON_TEXT, equals=": "),
    items=Items("[", "]", ", "),
)
"""JSON with a space behind commas and colons, and no other whitespace."""

_SPACE = r"[\u0009-\u000d\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
"""What `str.strip` takes off."""
_WHOLE = "-?(0|[1-9][0-9]*)"
_POWER = "[eE][+-]?[0-9]+"

LOOKALIKES = {
    "null": f"^{_SPACE}([nN][uU][lL][lL]|[nN][oO][nN][eE]){_SPACE}$",
    "boolean": f"^{_SPACE}([tT][rR][uU][eE]|[fF][aA][lL][sS][eE]){_SPACE}$",
    "number": rf"^{_SPACE}{_WHOLE}(\.[0-9]+)?({_POWER})?{_SPACE}$",
    # Also what is no whole number until it is rounded to a double.
    "integer": rf"^{_SPACE}({_WHOLE}(\.0+)?|{_WHOLE}(\.[0-9]+)?{_POWER}|{_WHOLE}\.[0-9]{{8,}}"
    rf"|-?[1-9][0-9]{{7,}}\.[0-9]+){_SPACE}$",
    "object": rf"^{_SPACE}\{{",
    "array": rf"^{_SPACE}\[",
}
"""For each kind but text, a pattern of all text that `kinds.read_value` could take for a value of it."""
