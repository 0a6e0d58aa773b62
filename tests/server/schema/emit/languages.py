"""Small languages and nodes for tests, and which values they admit."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from server.schema.automata.automaton import ANY_CHARACTER, ANY_TEXT, Automaton, Charset, State
from server.schema.nodes import (
    Anything,
    Array,
    Boolean,
    Contains,
    FreeKeys,
    Literals,
    Node,
    Null,
    Number,
    Object,
    Property,
    Reference,
    Text,
    Union,
)


def of_length(least: int, most: int, charset: Charset = ANY_CHARACTER) -> Automaton:
    """Texts of `least` to `most` characters of a set."""
    steps = [State(least <= at, ((charset, at + 1),)) for at in range(most)]
    return Automaton((*steps, State(accepts=True, moves=())))


def without(letter: str) -> Automaton:
    """Texts that do not begin with the letter."""
    code = ord(letter)
    others: Charset = ((0, code - 1), (code + 1, 0xD7FF), (0xE000, 0x10FFFF))
    return Automaton((State(accepts=True, moves=((others, 1),)), State(True, ((ANY_CHARACTER, 1),))))


LOWER: Charset = ((97, 122),)
DIGITS: Charset = ((48, 57),)
LANGUAGES = [ANY_TEXT, of_length(0, 2), of_length(1, 3), of_length(1, 2, LOWER), without("a"), without('"')]
NAMES = ["a", "b", 'q"', "é"]

SCALARS: list[Node] = [
    Anything(),
    Null(),
    Boolean(),
    Number(),
    Number(integer=True),
    Number(integer=True, text=of_length(1, 2, DIGITS)),
    Text(),
    Literals((1, "1", None)),
    Literals((True, 0, {"a": [1, "x"]}, "é\n")),
    *map(Text, LANGUAGES),
]


_MOST = st.none() | st.integers(0, 3)
Nodes = st.SearchStrategy[Node]


@st.composite
def _scalars(draw: st.DrawFn) -> Node:
    return SCALARS[draw(st.integers(0, len(SCALARS) - 1))]


@st.composite
def _arrays(draw: st.DrawFn, inner: Nodes) -> Node:
    prefix, items = tuple(draw(st.lists(inner, max_size=3))), draw(st.none() | inner)
    least, more = draw(st.integers(0, 3)), draw(_MOST)
    least = min(least, len(prefix)) if items is None else least
    most = None if more is None else least + more
    if draw(st.booleans()):
        return Array(prefix, items, least, most)
    fewest, more_counted = draw(st.integers(0, 2)), draw(_MOST)
    other = draw(st.sampled_from([Boolean(), Union((Null(), Boolean())), None]))
    counted = Contains(Null(), other, fewest, None if more_counted is None else fewest + more_counted)
    if other is None and counted.most is not None:
        least = min(least, counted.most)
    return Array((), None, least, None if most is None else max(most, fewest), counted)


@st.composite
def _objects(draw: st.DrawFn, inner: Nodes) -> Node:
    names = draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
    properties = tuple(Property(name, draw(inner), draw(st.booleans())) for name in names)
    free = (FreeKeys(of_length(2, 3, DIGITS), draw(inner)),) if draw(st.booleans()) else ()
    least, most = draw(st.integers(0, 5)), draw(_MOST)
    least = least if free else min(least, len(properties))
    required = sum(item.required for item in properties)
    return Object(properties, free, least, None if most is None else max(most, required, least))


@st.composite
def _unions(draw: st.DrawFn, inner: Nodes) -> Node:
    found = [node for node in draw(st.lists(inner, min_size=2, max_size=3)) if not isinstance(node, Union)]
    return Union(tuple(found)) if len(found) > 1 else Null()


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    """Any node, but for references."""
    levels = [_scalars()]
    for _ in range(draw(st.integers(0, 3))):
        inner = levels[-1]
        levels.append(_scalars() | _arrays(inner) | _objects(inner) | _unions(inner))
    return draw(levels[-1])


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same, true and 1 being two."""
    return type(one) is type(other) and one == other


Definitions = Mapping[str, Node]


def admits(node: Node, value: Any, definitions: Definitions | None = None, *, ordered: bool = True) -> bool:
    """Whether a value is one of the node's, with its keys in the node's order if they are to be `ordered`."""
    return Admission(definitions or {}, ordered=ordered).admits(node, value)


class Admission:
    """Admits values to nodes."""

    def __init__(self, definitions: Definitions, *, ordered: bool) -> None:
        self._definitions = definitions
        self._ordered = ordered

    def admits(self, node: Node, value: Any) -> bool:
        if isinstance(node, Literals):
            return any(same(value, one) for one in node.values)
        if isinstance(node, Reference):
            return self.admits(self._definitions[node.name], value)
        return isinstance(node, Anything) or self._admits_kind(node, value)

    def _admits_kind(self, node: Node, value: Any) -> bool:
        match node:
            case Null():
                return value is None
            case Boolean():
                return isinstance(value, bool)
            case Number(integer, text):
                is_number = type(value) is int or (type(value) is float and not integer)
                return is_number and (text is None or text.accepts(str(value)))
            case Text(language):
                return isinstance(value, str) and (language is None or language.accepts(value))
            case Array():
                return isinstance(value, list) and self._admits_items(node, value)
            case Object():
                return isinstance(value, dict) and self._admits_members(node, value)
            case Union(nodes):
                return any(self.admits(one, value) for one in nodes)
            case _:
                raise NotImplementedError(node)

    def _admits_items(self, node: Array, items: list[Any]) -> bool:
        if len(items) < node.least or (node.most is not None and len(items) > node.most):
            return False
        if node.contains is None:
            others = items[len(node.prefix) :]
            return all(map(self.admits, node.prefix, items)) and (
                not others
                or (node.items is not None and all(self.admits(node.items, item) for item in others))
            )
        counted = node.contains
        matching = [self.admits(counted.matching, item) for item in items]
        other = [counted.other is not None and self.admits(counted.other, item) for item in items]
        sure = sum(match and not also for match, also in zip(matching, other, strict=True))
        known = all(match or also for match, also in zip(matching, other, strict=True))
        return known and sum(matching) >= counted.least and (counted.most is None or sure <= counted.most)

    def _admits_members(self, node: Object, members: dict[str, Any]) -> bool:
        if len(members) < node.least or (node.most is not None and len(members) > node.most):
            return False
        declared = {item.name: item for item in node.properties}
        places = [list(declared).index(key) if key in declared else len(declared) for key in members]
        if self._ordered and places != sorted(places):
            return False
        if any(item.required and item.name not in members for item in node.properties):
            return False
        return all(
            self.admits(declared[key].value, value) if key in declared else self._is_free(node, key, value)
            for key, value in members.items()
        )

    def _is_free(self, node: Object, key: str, value: Any) -> bool:
        return any(
            (keys.names is None or keys.names.accepts(key)) and self.admits(keys.value, value)
            for keys in node.free
        )
