"""The keywords of a node that fails: which ways there are to fail it.

`{"type": "string", "minLength": 3}` fails where the value is no string, or one of two characters at most.
Where a mask cannot hold such a way, it holds what it can, and the place that asks for the negation is noted.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from server.schema.automata import rules
from server.schema.document import Document, Located
from server.schema.normal.facts import (
    KINDS,
    NUMBERS,
    At,
    Choice,
    Counted,
    Differs,
    Fails,
    Has,
    Holding,
    Holds,
    Kind,
    Kinds,
    Lacks,
    Member,
    Opened,
    Place,
    Ruled,
    Strays,
    Widened,
)
from server.schema.normal.reading import bound_of, contained, kinds_of, values_of
from server.schema.normal.resources import Resources

MAX_PAIRS = 6
"""Branches of a `oneOf` of which it can fail that two hold."""

Way = tuple[Member, ...]
"""A conjunction that makes the node fail."""


@dataclass(frozen=True, slots=True)
class Denial:
    """One node while its ways to fail are looked for."""

    at: Fails
    keywords: Mapping[str, Any]
    resources: Resources

    def holds(self, node: Located) -> Holds:
        return Holds(node, self.resources.enter(node, self.at.scope), blame=self.at.blame)

    def fails(self, node: Located) -> Fails:
        return Fails(node, self.resources.enter(node, self.at.scope), self.at.blame)

    def number(self, limit: rules.Limit) -> Way:
        return (Kinds(NUMBERS), Ruled("number", self._rule(limit)))

    def string(self, limit: rules.Limit) -> Way:
        return (_of("string"), Ruled("string", self._rule(limit)))

    def counted(self, kind: Literal["array", "object"], least: int, most: int | None = None) -> Way:
        return (_of(kind), Counted(kind, least, most, self.at.blame))

    def widened(self, *members: Member) -> Way:
        return (*members, Widened(self.at.blame, "the mask cannot negate all of it"))

    def _rule(self, limit: rules.Limit) -> rules.Rule:
        return rules.Rule(self.at.blame.pointer, self.at.blame.keyword, limit)


def open_negation(at: Fails, document: Document, resources: Resources) -> Opened | None:
    """What the failing node comes to; None if nothing makes it fail."""
    if isinstance(at.node.schema, bool):
        return None if at.node.schema else Opened()
    denial = Denial(at, document.read(at.node), resources)
    ways: list[Way] = []
    for keyword, value in denial.keywords.items():
        if (deny := _DENIALS.get(keyword)) is not None:
            ways += deny(denial, value)
    if not ways:
        return None
    return Opened(choices=(Choice(at.blame, tuple(ways)),))


def _of(kind: Kind) -> Kinds:
    return Kinds(frozenset((kind,)))


def _deny_type(_: Denial, value: Any) -> list[Way]:
    rest = frozenset(KINDS) - kinds_of(value)
    return [(Kinds(rest),)] if rest else []


def _deny_values(keyword: str) -> "_Denier":
    def deny(denial: Denial, value: Any) -> list[Way]:
        source = Place(denial.at.node.pointer, keyword)
        return [(Differs(source, denial.at.blame, values_of(keyword, value)),)]

    return deny


_OPPOSITES = {
    "minimum": "exclusiveMaximum",
    "maximum": "exclusiveMinimum",
    "exclusiveMinimum": "maximum",
    "exclusiveMaximum": "minimum",
}


def _deny_bound(keyword: str) -> "_Denier":
    return lambda denial, value: [denial.number(bound_of(_OPPOSITES[keyword], value))]


def _deny_multiple(denial: Denial, value: Any) -> list[Way]:
    if Decimal(str(value)) == 1:
        return [(_of("fraction"),)]
    return [denial.widened(Kinds(NUMBERS))]


def _deny_least(kind: Literal["string", "array", "object"]) -> "_Denier":
    def deny(denial: Denial, value: Any) -> list[Way]:
        if value < 1:
            return []
        most = int(value) - 1
        if kind == "string":
            return [denial.string(rules.ShorterOrEqual(most))]
        return [denial.counted(kind, 0, most)]

    return deny


def _deny_most(kind: Literal["string", "array", "object"]) -> "_Denier":
    def deny(denial: Denial, value: Any) -> list[Way]:
        least = int(value) + 1
        if kind == "string":
            return [denial.string(rules.LongerOrEqual(least))]
        return [denial.counted(kind, least)]

    return deny


def _deny_unique(denial: Denial, value: Any) -> list[Way]:
    return [denial.widened(*denial.counted("array", 2))] if value else []


def _deny_contains(denial: Denial, value: Any) -> list[Way]:
    least, most = contained(denial.keywords)
    bounds: list[tuple[int, int | None]] = [(0, least - 1)] if least else []
    bounds += [] if most is None else [(most + 1, None)]
    value, opposite = denial.holds(value), denial.fails(value)
    return [(_of("array"), Holding(value, opposite, *bound, (), denial.at.blame)) for bound in bounds]


def _deny_items(denial: Denial, value: Any) -> list[Way]:
    first = len(denial.keywords.get("prefixItems", ()))
    if value.schema is True:
        return []
    if value.schema is False:
        return [denial.counted("array", first + 1)]
    if first:
        return [denial.widened(*denial.counted("array", first + 1))]
    wrong = Holding(denial.fails(value), denial.holds(value), 1, None, (), denial.at.blame)
    return [(_of("array"), wrong)]


def _deny_prefix(denial: Denial, value: Any) -> list[Way]:
    return [(_of("array"), At(index, denial.fails(child))) for index, child in enumerate(value)]


def _deny_properties(denial: Denial, value: Any) -> list[Way]:
    return [(_of("object"), Has(name, denial.fails(child))) for name, child in value.items()]


def _deny_patterns(denial: Denial, value: Any) -> list[Way]:
    if all(child.schema is True for child in value.values()):
        return []
    return [denial.widened(*denial.counted("object", 1))]


def _deny_others(denial: Denial, value: Any) -> list[Way]:
    if value.schema is True:
        return []
    names = frozenset(denial.keywords.get("properties", ()))
    patterns = tuple(denial.keywords.get("patternProperties", ()))
    if value.schema is False and not names and not patterns:
        return [denial.counted("object", 1)]
    wrong = None if value.schema is False else denial.fails(value)
    return [(*denial.counted("object", 1), Strays(names, patterns, wrong, denial.at.blame))]


def _deny_names(denial: Denial, value: Any) -> list[Way]:
    return [] if value.schema is True else [denial.widened(*denial.counted("object", 1))]


def _deny_required(_: Denial, value: Any) -> list[Way]:
    return [(_of("object"), Lacks(name)) for name in value]


def _deny_dependents(denial: Denial, value: Any) -> list[Way]:
    ways: list[Way] = []
    for name, asked in value.items():
        wrong: list[Member] = (
            [Lacks(other) for other in asked] if isinstance(asked, list) else [denial.fails(asked)]
        )
        ways += [(_of("object"), Has(name), member) for member in wrong]
    return ways


def _deny_all(denial: Denial, value: Any) -> list[Way]:
    return [(denial.fails(branch),) for branch in value]


def _deny_any(denial: Denial, value: Any) -> list[Way]:
    return [tuple(denial.fails(branch) for branch in value)]


def _deny_one(denial: Denial, value: Any) -> list[Way]:
    none = tuple(denial.fails(branch) for branch in value)
    if len(value) > MAX_PAIRS:
        return [none, denial.widened()]
    pairs = itertools.combinations([denial.holds(branch) for branch in value], 2)
    return [none, *pairs]


def _deny_not(denial: Denial, value: Any) -> list[Way]:
    return [(denial.holds(value),)]


def _deny_if(denial: Denial, value: Any) -> list[Way]:
    then, otherwise = denial.keywords.get("then"), denial.keywords.get("else")
    ways: list[Way] = [(denial.holds(value), denial.fails(then))] if then else []
    return [*ways, (denial.fails(value), denial.fails(otherwise))] if otherwise else ways


def _deny_reference(denial: Denial, value: Any) -> list[Way]:
    target = denial.resources.target(value, denial.at.node)
    return [denial.widened() if target is None else (denial.fails(target),)]


def _deny_dynamic(denial: Denial, value: Any) -> list[Way]:
    scope = denial.resources.enter(denial.at.node, denial.at.scope)
    target = denial.resources.dynamic_target(value, denial.at.node, scope)
    return [denial.widened() if target is None else (denial.fails(target),)]


_Denier = Callable[[Denial, Any], list[Way]]

_DENIALS: Mapping[str, _Denier] = {
    "type": _deny_type,
    **{keyword: _deny_values(keyword) for keyword in ("enum", "const")},
    **{keyword: _deny_bound(keyword) for keyword in _OPPOSITES},
    "multipleOf": _deny_multiple,
    "minLength": _deny_least("string"),
    "maxLength": _deny_most("string"),
    "pattern": lambda denial, value: [denial.string(rules.MatchesNot(value))],
    "format": lambda denial, _: [denial.widened(_of("string"))],
    "minItems": _deny_least("array"),
    "maxItems": _deny_most("array"),
    "uniqueItems": _deny_unique,
    "contains": _deny_contains,
    "items": _deny_items,
    "prefixItems": _deny_prefix,
    "unevaluatedItems": lambda denial, _: [denial.widened(*denial.counted("array", 1))],
    "minProperties": _deny_least("object"),
    "maxProperties": _deny_most("object"),
    "properties": _deny_properties,
    "patternProperties": _deny_patterns,
    "additionalProperties": _deny_others,
    "unevaluatedProperties": lambda denial, _: [denial.widened(*denial.counted("object", 1))],
    "propertyNames": _deny_names,
    "required": _deny_required,
    **dict.fromkeys(("dependentRequired", "dependentSchemas"), _deny_dependents),
    "allOf": _deny_all,
    "anyOf": _deny_any,
    "oneOf": _deny_one,
    "not": _deny_not,
    "if": _deny_if,
    "$ref": _deny_reference,
    **dict.fromkeys(("$dynamicRef", "$recursiveRef"), _deny_dynamic),
}
