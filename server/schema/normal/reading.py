"""A node while its keywords are read, and the words that its readers share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from server.schema.automata import rules
from server.schema.document import Located
from server.schema.normal.facts import KINDS, NUMBERS, Choice, Fails, Holds, Kind, Member, Place, Ruled
from server.schema.normal.resources import Resources


@dataclass(slots=True)
class Reading:
    """One node while it is read."""

    at: Holds
    keywords: Mapping[str, Any]
    resources: Resources
    members: list[Member] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    def place(self, keyword: str) -> Place:
        return self.at.blame or place_of(self.at.node, keyword)

    def here(self, node: Located) -> Holds:
        """The node holds for the same value."""
        return replace(self.at, node=node, scope=self.resources.enter(node, self.at.scope))

    def below(self, node: Located) -> Holds:
        """The node holds for a key or an item of the value."""
        return replace(self.here(node), owners=())

    def failing(self, node: Located, keyword: str) -> Fails:
        return Fails(node, self.resources.enter(node, self.at.scope), self.place(keyword))

    def rule(self, kind: Literal["string", "number"], keyword: str, limit: rules.Limit) -> None:
        place = self.place(keyword)
        self.members.append(Ruled(kind, rules.Rule(place.pointer, place.keyword, limit)))


def place_of(node: Located, keyword: str) -> Place:
    """The keyword as the schema spells it, which may be older than 2020-12."""
    older = {
        "prefixItems": "items",
        "dependentRequired": "dependencies",
        "dependentSchemas": "dependencies",
    }
    said = keyword if keyword in node.schema else older.get(keyword, keyword)
    return Place(node.pointer, said)


Reader = Callable[[Reading, Any], None]
"""Takes in what one keyword says."""


def kinds_of(types: str | Sequence[str]) -> frozenset[Kind]:
    """The kinds of a `type` keyword."""
    names = [types] if isinstance(types, str) else types
    kinds: set[Kind] = set()
    for name in names:
        kinds |= NUMBERS if name == "number" else {kind for kind in KINDS if kind == name != "fraction"}
    return frozenset(kinds)


def values_of(keyword: str, value: Any) -> tuple[Any, ...]:
    """The values of `enum` or `const`."""
    return (value,) if keyword == "const" else tuple(value)


def bound_of(keyword: str, value: Any) -> rules.Limit:
    """The limit of numbers that a bound states."""
    bound = Decimal(str(value))
    limit = rules.AtLeast if keyword.lower().endswith("minimum") else rules.AtMost
    return limit(bound, exclusive=keyword.startswith("exclusive"))


def contained(keywords: Mapping[str, Any]) -> tuple[int, int | None]:
    """How many items `contains` wants."""
    most = keywords.get("maxContains")
    return int(keywords.get("minContains", 1)), None if most is None else int(most)
