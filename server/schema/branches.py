"""Which branch of a union a value was meant for, when it fits none.

anyOf of `{"kind": const "a", …}` and `{"kind": const "b", "n": integer}`, value `{"kind": "b", "n": "x"}`:

    Closest(errors=[<"n" is no integer>], note="2")

A value that no branch is of the right kind for is told all kinds: `Closest(kinds=("integer", "null"))`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jsonschema_rs import ValidationError, ValidationErrorKind

from server.schema.shown import literal

Kind = ValidationErrorKind
Branch = Sequence[ValidationError]

_OF_THE_KIND = (Kind.Type, Kind.Constant, Kind.Enum, Kind.FalseSchema)
"""Errors that say a value is something else altogether."""
_OF_A_CHOICE = (Kind.Constant, Kind.Enum)


@dataclass(frozen=True, slots=True)
class Union:
    """The errors of each branch. Their paths begin at the union's own value, or `depth` levels above it."""

    branches: Sequence[Branch]
    depth: int


Opened = Callable[[ValidationError], Union | None]
"""Opens an error that stands for a union, and gives None for any other."""


@dataclass(frozen=True, slots=True)
class Closest:
    """The errors of the closest branch; without any, the `kinds` of value that the branches are for.

    `note` is the branch's number, from 1, where several could have been meant.
    """

    errors: Branch = ()
    kinds: tuple[str, ...] = ()
    note: str = ""


def closest(union: Union, opened: Opened) -> Closest:
    """Choose among the branches of a union that a value does not fit."""
    branches, depth = union.branches, union.depth
    possible = [number for number, branch in enumerate(branches) if not _kinds(branch, depth, opened)]
    if not possible:
        kinds = [kind for branch in branches for kind in _kinds(branch, depth, opened)]
        return Closest(kinds=tuple(dict.fromkeys(kinds)) or ("no value at all",))
    best = min(possible, key=lambda number: _distance(branches[number], depth))
    note = str(best + 1) if len(possible) > 1 else ""
    return Closest(errors=branches[best], note=note)


def _kinds(branch: Branch, depth: int, opened: Opened) -> list[str]:
    """What a branch is for, if the value itself is something else: `["integer"]`."""
    for error in branch:
        if len(error.instance_path) > depth:
            continue
        if isinstance(error.kind, _OF_THE_KIND):
            return _kinds_of(error)
        if (union := opened(error)) is not None:
            return list(closest(union, opened).kinds)
    return []


def _kinds_of(error: ValidationError) -> list[str]:
    match error.kind:
        case Kind.Type(types):
            return list(types)
        case Kind.Enum(options):
            return [literal(option) for option in options]
        case Kind.Constant(wanted):
            return [literal(wanted)]
    return ["nothing"]


def _distance(branch: Branch, depth: int) -> tuple[int, int, int]:
    """Wrong choices among the value's own keys weigh most: such keys say which branch was meant."""
    choices = sum(
        len(error.instance_path) == depth + 1 and isinstance(error.kind, _OF_A_CHOICE) for error in branch
    )
    strange = sum(
        len(error.instance_path) == depth
        and isinstance(error.kind, Kind.Required | Kind.AdditionalProperties)
        for error in branch
    )
    return choices, strange, len(branch)
