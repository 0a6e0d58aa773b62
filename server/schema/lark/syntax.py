"""What a Lark grammar is written of.

start: "a" [B]
{"start": Expansion((Literal(…), Repeated(Name("B"), 0, 1)))}, under the names that Lark has for them
"""

from collections.abc import Mapping
from dataclasses import dataclass

from server.schema.automata.pattern import Part

START = "start"
"""The rule of the whole text."""
MAX_LENGTH = 32_768
"""Characters of a grammar, as of the other grammars that clients may write."""
MAX_COUNT = 1_000
"""How often something may be repeated by `~`."""


class UnsupportedGrammar(ValueError):  # noqa: N818 - an outcome that its callers plan for
    """The grammar is none, or cannot be held exactly; the message says what stands in the way."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, a regular expression or a range of characters."""

    part: Part


@dataclass(frozen=True, slots=True)
class Name:
    """What a rule (lower case) or a terminal (upper case) stands for."""

    name: str

    @property
    def is_terminal(self) -> bool:
        return is_terminal(self.name)


@dataclass(frozen=True, slots=True)
class Expansion:
    """One thing after the other."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Expansions:
    """Any one of these."""

    ways: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    part: "Expression"
    least: int
    most: int | None


Expression = Literal | Name | Expansion | Expansions | Repeated


Symbol = Part | str
"""What is left of expressions in the end: what is regular, or the name of a rule."""
Way = tuple[Symbol, ...]
"""One thing after the other."""
Ways = tuple[Way, ...]
"""Any one of these."""


@dataclass(frozen=True, slots=True)
class LarkGrammar:
    """Rules and terminals by name, and what may stand before, between and behind terminals."""

    definitions: Mapping[str, Expression]
    ignored: tuple[Expression, ...]


def is_terminal(name: str) -> bool:
    return name.lstrip("_")[:1].isupper()


def quoted(text: str) -> str:
    """Text of a client for a message about it."""
    return f"'{text}'" if len(text) <= 40 else f"'{text[:40]}…'"
