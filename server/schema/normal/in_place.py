"""Keywords that ask other nodes of the same value: references, `allOf`, `anyOf`, `if` and the like."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from server.schema.document import Located
from server.schema.normal.facts import Blind, Choice, Has, Kinds, Lacks, Member, Widened
from server.schema.normal.reading import Reader, Reading

MAX_SUBSETS = 5
"""Branches of an `anyOf` whose combinations are told apart for `unevaluated…`."""

_ELSEWHERE = "the reference leads outside the schema"


def _read_dependents(keyword: str) -> Reader:
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


def _read_dynamic(keyword: str) -> Reader:
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


IN_PLACE: Mapping[str, Reader] = {
    **{keyword: _read_dependents(keyword) for keyword in ("dependentRequired", "dependentSchemas")},
    "allOf": _read_all,
    "anyOf": _read_any,
    "oneOf": _read_one,
    "not": _read_not,
    "if": _read_if,
    "$ref": _read_reference,
    **{keyword: _read_dynamic(keyword) for keyword in ("$dynamicRef", "$recursiveRef")},
}
