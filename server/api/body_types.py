"""What every request body is made of: strict JSON types, and unions that name the member at fault.

Pydantic reports each member of a plain union; a user who forgot a name should read about the name alone.
So unions here look first and choose one member, and what is wrong with `{"role": "user", "content": 5}` is

    ("messages", 0, "|user", "content"): expected a string or an array of objects

where `|user` is the tag of the chosen member, which `body_errors` leaves out of the client's path.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    Tag,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_before_validator_function

from server.request import Json

TAG = "|"
"""Begins the tag of a union member, so that it cannot be taken for a field."""

MAX_DEPTH = 200
"""Levels of arrays and objects in a body: far above any use, and below what recursive code can follow."""

SHOWN_DEPTH = 4
"""Steps of the path to what is nested too deeply: `tools[0].function.parameters`."""

KINDS = {str: TAG + "string", list: TAG + "array", dict: TAG + "object", bool: TAG + "boolean"}


class Body(BaseModel):
    """An object of a request. What is unknown is kept aside and ignored; null is the same as absent."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    @property
    def unknown(self) -> list[str]:
        """The names of the members that nobody reads, without those that are null."""
        return [name for name, value in (self.model_extra or {}).items() if value is not None]


class RequestBody(Body):
    """A whole request: also refuses what later steps could neither follow, encode nor send on as JSON."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unsound(cls, value: Json) -> Json:
        if unsound := next(_unsound(value), None):
            path, reason = unsound
            raise PydanticCustomError("unsound", "{reason}", {"reason": reason, "path": path})
        return value


class _Choice(Discriminator):
    # A context makes a discriminator unhashable, and `X | None` needs a hash.
    __hash__ = object.__hash__


def by_member(key: str, *values: str, refused: Sequence[str] = ()) -> Discriminator:
    """Choose among objects by the value of `key`: the tags are `|` + one of `values`.

    The first member gets what is `refused`: its `key` has `unsupported_values` that tell a way out.
    """
    members = {**dict.fromkeys(refused, values[0]), **{value: value for value in values}}

    def tag(value: Json) -> str | None:
        chosen = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
        return TAG + members[chosen] if isinstance(chosen, str) and chosen in members else None

    return by_choice(tag, key, *values)


def by_choice(tag: Callable[[Json], str | None], key: str, *values: str) -> Discriminator:
    """Choose among objects by a rule; where it gives None, `key` is said to be none of the `values`."""
    return _Choice(tag, "not_a_member", "Unknown member", {"key": key, "values": values})  # type: ignore[dict-item]  # a context takes any value


def by_kind(expected: str) -> Discriminator:
    """Choose by JSON type: the tags are those of `KINDS`; `expected` names them in messages."""

    def tag(value: Json) -> str | None:
        return KINDS[dict] if isinstance(value, Body) else KINDS.get(type(value))

    return _Choice(tag, "not_a_kind", "Unknown kind", {"expected": expected})


def has(value: Json, key: str) -> bool:
    """Whether an object, checked or not yet, has a member."""
    return key in value if isinstance(value, dict) else hasattr(value, key)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Marks what an API knows and this server does not: some `values` of a field, or all `but` these."""

    code: str
    way_out: str
    values: tuple[Json, ...] = ()
    but: tuple[Json, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_before_validator_function(self._refuse, handler(source))

    def _refuse(self, value: Json) -> Json:
        if value in self.values if self.values else value not in self.but:
            # Pydantic wants what it formats to be literal.
            raise PydanticCustomError(self.code, "{way_out}", {"way_out": self.way_out})  # type: ignore[misc,arg-type,unused-ignore]
        return value


def unsupported_values(way_out: str, *values: Json) -> Unsupported:
    """Refuse values that the API knows and we do not, with the `way_out`."""
    return Unsupported("unsupported_value", way_out, values=values)


def unsupported_parameter(way_out: str, *but: Json) -> Unsupported:
    """Refuse a field that the API knows and we do not, unless it is null or one of `but`."""
    return Unsupported("unsupported_parameter", way_out, but=(None, *but))


@dataclass(frozen=True, slots=True)
class Ignored:
    """Marks a field that is taken, its type checked, and changes nothing."""


IGNORED = Ignored()


AnyObject = Annotated[dict[str, Any], Tag("|object")]
AnySchema = Annotated[
    AnyObject | Annotated[bool, Tag("|boolean")],
    by_kind("an object or a boolean"),
    Field(description="A JSON Schema."),
]
ObjectOrText = Annotated[AnyObject | Annotated[str, Tag("|string")], by_kind("an object or its JSON text")]


def _unsound(root: Json) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Walk without recursion, which a hostile body would exhaust; yield path and fault of each part."""
    path: list[str | int] = []
    levels = [_members(root)]
    while levels:
        key, value = next(levels[-1], (None, None))
        if key is None:
            levels.pop()
            del path[-1:]
            continue
        if (fault := _fault(key)) or (fault := _fault(value)):
            yield (*path, key), fault
        elif isinstance(value, dict | list):
            if len(levels) == MAX_DEPTH:
                yield tuple(path[:SHOWN_DEPTH]), f"nested deeper than {MAX_DEPTH} levels."
            else:
                path.append(key)
                levels.append(_members(value))


def _members(value: Json) -> Iterator[tuple[str | int, Json]]:
    if isinstance(value, dict):
        return iter(value.items())
    return iter(enumerate(value) if isinstance(value, list) else ())


def _fault(value: Json) -> str | None:
    if isinstance(value, float) and not isfinite(value):
        return "NaN and Infinity are not numbers of JSON."
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "half of a surrogate pair (such as \\ud83d alone) is not text. Send whole characters."
    return None
