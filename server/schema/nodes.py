"""What a schema comes to: the values that a mask allows, as a small language of its own.

Between the two halves of the compiler. What a schema's keywords mean together is worked out before it
(`normalise`), how its values are spelled is decided behind it (`emit`): nothing here knows a keyword, and
nothing here knows JSON's quotes.

    {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "required": ["a"]}
    Object((Property("a", Text(<automaton>), required=True),), (), least=0, most=None)

A node allows at least one value: what allows none is None in its place, or absent.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from server.schema.automata.automaton import Automaton


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value."""


@dataclass(frozen=True, slots=True)
class Literals:
    """One of these JSON values, each once.

    Compared as texts: to Python, `False` equals 0.
    """

    values: tuple[Any, ...] = field(compare=False)
    _texts: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        texts = tuple(json.dumps(value, ensure_ascii=False, default=str) for value in self.values)
        object.__setattr__(self, "_texts", texts)


@dataclass(frozen=True, slots=True)
class Null: ...


@dataclass(frozen=True, slots=True)
class Boolean: ...


@dataclass(frozen=True, slots=True)
class Number:
    """A number. `text`: how it may be written, in decimal notation; None is any that JSON can write."""

    integer: bool = False
    text: Automaton | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A string; `language` None is any."""

    language: Automaton | None = None


@dataclass(frozen=True, slots=True)
class Productions:
    """A context-free grammar of text, from the rule `start` on.

    A rule is written in one of its ways, each of which is one thing after the other: names of rules, or of
    `texts`.
    """

    start: str
    rules: Mapping[str, tuple[tuple[str, ...], ...]]
    texts: Mapping[str, Automaton]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A string of a context-free grammar."""

    grammar: Productions


@dataclass(frozen=True, slots=True)
class Contains:
    """How many items of an array are `matching`: `least` to `most`. The others are `other`."""

    matching: "Node"
    other: "Node | None"
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Array:
    """Items: first those of `prefix`, by place, then any number of `items`; together `least` to `most`.

    `items` None: no more than the prefix. With `contains`, its two nodes stand for the items: `prefix` is
    empty then, and `items` says nothing.
    """

    prefix: tuple["Node", ...]
    items: "Node | None"
    least: int = 0
    most: int | None = None
    contains: Contains | None = None


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    value: "Node"
    required: bool


@dataclass(frozen=True, slots=True)
class FreeKeys:
    """Keys that have no name in the schema: those of `names` (None: any), with values of `value`.

    `names` has none of the object's properties, and none that the schema forbids.
    """

    names: Automaton | None
    value: "Node"


@dataclass(frozen=True, slots=True)
class Object:
    """Properties in this order, the required ones always; then free keys; together `least` to `most`."""

    properties: tuple[Property, ...]
    free: tuple[FreeKeys, ...]
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """A value of one of the nodes, of which there are two or more; none is a union itself."""

    nodes: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The node of this name in `Values.definitions`. Where a node stands within itself there is one."""

    name: str


Node = Anything | Literals | Null | Boolean | Number | Text | Phrase | Array | Object | Union | Reference


@dataclass(frozen=True, slots=True)
class Values:
    """All values of a schema: the root, and the nodes that references name."""

    root: Node
    definitions: Mapping[str, Node]
