"""The keywords of a node that holds, as facts, members and choices: one step towards nodes.

opening.holds(Holds(Located("#", {"type": "string", "anyOf": [A, B]})))
# Opened((Kinds({"string"}),), (Choice(Place("#", "anyOf"), ((Holds(A),), (Holds(B),))),))
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from server.schema.automata import rules
from server.schema.document import Document, Located
from server.schema.normal.facts import (
    KINDS,
    NUMBERS,
    Among,
    Blind,
    Choice,
    Counted,
    Fails,
    Has,
    Holding,
    Holds,
    Kind,
    Kinds,
    Lacks,
    Member,
    Names,
    Opened,
    Place,
    Row,
    Ruled,
    Shape,
    Unevaluated,
    Unique,
    Widened,
)
from server.schema.normal.resources import Resources

MAX_SUBSETS = 5
"""Branches of an `anyOf` whose combinations are told apart for `unevaluated…`."""

_UNEVALUATED: tuple[Literal["unevaluatedProperties", "unevaluatedItems"], ...] = (
    "unevaluatedProperties",
    "unevaluatedItems",
)
_UNEVALUATED_NAMES = frozenset(_UNEVALUATED)
_ELSEWHERE = "the reference leads outside the schema"


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


def open_node(at: Holds, document: Document, resources: Resources) -> Opened | None:
    """What the node comes to; None if nothing fits it."""
    if isinstance(at.node.schema, bool):
        return Opened() if at.node.schema else None
    keywords = document.read(at.node)
    if at.node not in at.owners and not _UNEVALUATED_NAMES.isdisjoint(keywords):
        inside = replace(at, owners=(*at.owners, at.node))
    else:
        inside = at
    reading = Reading(inside, keywords, resources)
    for keyword, value in keywords.items():
        if (read := _READERS.get(keyword)) is not None:
            read(reading, value)
    for keyword in _UNEVALUATED:
        if keyword in keywords:
            _read_unevaluated(reading, at, keyword)
    return Opened(tuple(reading.members), tuple(reading.choices))


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


def _read_bound(keyword: str) -> "_Reader":
    return lambda reading, value: reading.rule("number", keyword, bound_of(keyword, value))


def _read_count(kind: Literal["object", "array"], keyword: str) -> "_Reader":
    def read(reading: Reading, value: Any) -> None:
        least, most = (int(value), None) if keyword.startswith("min") else (0, int(value))
        reading.members.append(Counted(kind, least, most, reading.place(keyword)))

    return read


def _read_values(keyword: str) -> "_Reader":
    def read(reading: Reading, value: Any) -> None:
        source = Place(reading.at.node.pointer, keyword)
        reading.members.append(Among(source, values_of(keyword, value)))

    return read


def _read_shape(reading: Reading, _: Any) -> None:
    keywords, at = reading.keywords, reading.at
    first = next(k for k in ("properties", "patternProperties", "additionalProperties") if k in keywords)
    shape = Shape(
        at.node,
        at.scope,
        at.owners,
        reading.place(first),
        {name: reading.below(child) for name, child in keywords.get("properties", {}).items()},
        {name: reading.below(child) for name, child in keywords.get("patternProperties", {}).items()},
        reading.below(keywords["additionalProperties"]) if "additionalProperties" in keywords else None,
    )
    if shape not in reading.members:
        reading.members.append(shape)


def _read_row(reading: Reading, _: Any) -> None:
    keywords, at = reading.keywords, reading.at
    row = Row(
        at.node,
        at.scope,
        at.owners,
        reading.place("prefixItems" if "prefixItems" in keywords else "items"),
        tuple(reading.below(child) for child in keywords.get("prefixItems", ())),
        reading.below(keywords["items"]) if "items" in keywords else None,
    )
    if row not in reading.members:
        reading.members.append(row)


def _read_contains(reading: Reading, value: Any) -> None:
    least, most = contained(reading.keywords)
    opposite = reading.failing(value, "contains")
    owners = reading.at.owners if reading.resources.counts_contained else ()
    found = Holding(reading.below(value), opposite, least, most, owners, reading.place("contains"))
    reading.members.append(found)


def _read_unique(reading: Reading, value: Any) -> None:
    if value:
        reading.members.append(Unique(reading.place("uniqueItems")))


def _read_names(reading: Reading, value: Any) -> None:
    reading.members.append(Names(reading.below(value), reading.place("propertyNames")))


def _read_required(reading: Reading, value: Any) -> None:
    reading.members += [Has(name) for name in value]


def _read_dependents(keyword: str) -> "_Reader":
    def read(reading: Reading, value: Any) -> None:
        for name, asked in value.items():
            then: list[Member] = [Kinds(frozenset(("object",))), Has(name)]
            then += [Has(other) for other in asked] if isinstance(asked, list) else [reading.here(asked)]
            branches = ((Lacks(name),), tuple(then))
            reading.choices.append(Choice(reading.place(keyword), branches))

    return read


def _read_all(reading: Reading, value: Any) -> None:
    reading.members += [reading.here(branch) for branch in value]


def _read_any(reading: Reading, value: Any) -> None:
    branches = [(reading.here(branch),) for branch in value]
    if reading.at.owners and len(branches) <= MAX_SUBSETS:
        sizes = range(1, len(branches) + 1)
        chosen = (set_ for size in sizes for set_ in itertools.combinations(branches, size))
        spread: list[tuple[Member, ...]] = [tuple(itertools.chain.from_iterable(s)) for s in chosen]
        reading.choices.append(Choice(reading.place("anyOf"), tuple(spread)))
        return
    if reading.at.owners:
        reading.members.append(Blind(reading.at.owners))
    reading.choices.append(Choice(reading.place("anyOf"), tuple(branches)))


def _read_one(reading: Reading, value: Any) -> None:
    branches = tuple((reading.here(branch),) for branch in value)
    reading.choices.append(Choice(reading.place("oneOf"), branches, exclusive=True))


def _read_not(reading: Reading, value: Any) -> None:
    reading.members.append(reading.failing(value, "not"))


def _read_if(reading: Reading, value: Any) -> None:
    then, otherwise = reading.keywords.get("then"), reading.keywords.get("else")
    if then is None and otherwise is None and not reading.at.owners:
        return
    place = reading.place("if")
    yes = (replace(reading.here(value), blame=place), *([reading.here(then)] if then else ()))
    no = (reading.failing(value, "if"), *([reading.here(otherwise)] if otherwise else ()))
    reading.choices.append(Choice(place, (yes, no)))


def _read_reference(reading: Reading, value: Any) -> None:
    _follow(reading, "$ref", reading.resources.target(value, reading.at.node))


def _read_dynamic(keyword: str) -> "_Reader":
    def read(reading: Reading, value: Any) -> None:
        scope = reading.resources.enter(reading.at.node, reading.at.scope)
        _follow(reading, keyword, reading.resources.dynamic_target(value, reading.at.node, scope))

    return read


def _follow(reading: Reading, keyword: str, target: Located | None) -> None:
    if target is not None:
        reading.members.append(reading.here(target))
        return
    reading.members.append(Widened(reading.place(keyword), _ELSEWHERE))
    if reading.at.owners:
        reading.members.append(Blind(reading.at.owners))


def _read_unevaluated(
    reading: Reading, at: Holds, keyword: Literal["unevaluatedProperties", "unevaluatedItems"]
) -> None:
    value = reading.below(reading.keywords[keyword])
    reading.members.append(Unevaluated(keyword, at.node, at.scope, at.owners, reading.place(keyword), value))


_Reader = Callable[[Reading, Any], None]

_READERS: Mapping[str, _Reader] = {
    "type": lambda reading, value: reading.members.append(Kinds(kinds_of(value))),
    **{keyword: _read_values(keyword) for keyword in ("enum", "const")},
    **{
        keyword: _read_bound(keyword)
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    },
    "multipleOf": lambda reading, value: reading.rule(
        "number", "multipleOf", rules.MultipleOf(Decimal(str(value)))
    ),
    "minLength": lambda reading, value: reading.rule("string", "minLength", rules.LongerOrEqual(int(value))),
    "maxLength": lambda reading, value: reading.rule("string", "maxLength", rules.ShorterOrEqual(int(value))),
    "pattern": lambda reading, value: reading.rule("string", "pattern", rules.Matches(value)),
    "format": lambda reading, value: reading.rule("string", "format", rules.HasFormat(value)),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties"), _read_shape),
    **dict.fromkeys(("prefixItems", "items"), _read_row),
    **{keyword: _read_count("array", keyword) for keyword in ("minItems", "maxItems")},
    **{keyword: _read_count("object", keyword) for keyword in ("minProperties", "maxProperties")},
    "contains": _read_contains,
    "uniqueItems": _read_unique,
    "propertyNames": _read_names,
    "required": _read_required,
    **{keyword: _read_dependents(keyword) for keyword in ("dependentRequired", "dependentSchemas")},
    "allOf": _read_all,
    "anyOf": _read_any,
    "oneOf": _read_one,
    "not": _read_not,
    "if": _read_if,
    "$ref": _read_reference,
    **{keyword: _read_dynamic(keyword) for keyword in ("$dynamicRef", "$recursiveRef")},
}
