"""What a schema asks of a string or a number, one keyword at a time, and where it asks it.

Rule("#/properties/name", "maxLength", ShorterOrEqual(40))
"""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class LongerOrEqual:
    length: int


@dataclass(frozen=True, slots=True)
class ShorterOrEqual:
    length: int


@dataclass(frozen=True, slots=True)
class Matches:
    """The pattern is found in the text."""

    pattern: str


@dataclass(frozen=True, slots=True)
class MatchesNot:
    pattern: str


@dataclass(frozen=True, slots=True)
class HasFormat:
    name: str


@dataclass(frozen=True, slots=True)
class IsOneOf:
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IsNoneOf:
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    bound: Decimal
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class AtMost:
    bound: Decimal
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class MultipleOf:
    divisor: Decimal


@dataclass(frozen=True, slots=True)
class Not:
    """The number is none of these."""

    numbers: tuple[Decimal, ...]


@dataclass(frozen=True, slots=True)
class Whole: ...


@dataclass(frozen=True, slots=True)
class NotWhole: ...


TextLimit = LongerOrEqual | ShorterOrEqual | Matches | MatchesNot | HasFormat | IsOneOf | IsNoneOf
NumberLimit = AtLeast | AtMost | MultipleOf | Not | Whole | NotWhole
Limit = TextLimit | NumberLimit


@dataclass(frozen=True, slots=True)
class Rule:
    """`pointer` and `keyword`: what to name where the mask holds the limit only in part."""

    pointer: str
    keyword: str
    limit: Limit
