"""Values on nodes: which values a node allows, if they are few, and whether it allows a given one."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Protocol

from server.schema.automata.automaton import Automaton
from server.schema.nodes import (
    Array,
    Boolean,
    Contains,
    Literals,
    Node,
    Null,
    Number,
    Object,
    Text,
    Union,
)
from server.schema.normal.truth import canonical, is_between, kind_of

MAX_LISTED = 16
"""Values that a node is asked to list."""
_MAX_STEPS = 400
_MAX_DIGITS = 400
"""Digits that a number is written out with: more than a double has."""


class Resolver(Protocol):
    def seen(self, node: Node) -> Node | None:
        """What a reference stands for; None if that is not known yet."""


def listed(node: Node, resolver: Resolver) -> list[Any] | None:
    """All values of a node, if there are few; else None."""
    match resolver.seen(node):
        case Null():
            return [None]
        case Boolean():
            return [True, False]
        case Literals(known):
            return list(known) if len(known) <= MAX_LISTED else None
        case Text(language) if language is not None:
            return _words(language)
        case Number(integer=True, text=language) if language is not None:
            words = _words(language)
            return None if words is None else list(dict.fromkeys(map(int, words)))
        case Union(nodes):
            found = [listed(each, resolver) for each in nodes]
            values = [value for part in found if part is not None for value in part]
            return values if None not in found and len(values) <= MAX_LISTED else None
        case _:
            return None


def _words(language: Automaton) -> list[str] | None:
    """The texts of a language, if there are few."""
    words: list[str] = []
    pending = [("", 0)]
    for _ in range(_MAX_STEPS):
        if not pending:
            return words
        text, at = pending.pop()
        state = language.states[at]
        words += [text] if state.accepts else []
        ranges = [(span, target) for charset, target in state.moves for span in charset]
        if len(words) > MAX_LISTED or sum(last - first for (first, last), _ in ranges) > MAX_LISTED:
            return None
        pending += [
            (text + chr(code), target) for (first, last), target in ranges for code in range(first, last + 1)
        ]
    return None


def may_allow(node: Node, value: Any, resolver: Resolver) -> bool:
    """Whether a node allows the value; True where a look cannot tell."""
    return arranged(node, value, resolver) is not None


def arranged(node: Node, value: Any, resolver: Resolver) -> tuple[Any] | None:
    """The value with its keys in the order in which the node has them; None if it is not allowed."""
    match resolver.seen(node):
        case Union(nodes):
            found = (arranged(each, value, resolver) for each in nodes)
            return next((each for each in found if each is not None), None)
        case Literals(values):
            wanted = canonical(value)
            return next(((each,) for each in values if canonical(each) == wanted), None)
        case Null() | Boolean() | Number() | Text() as scalar:
            return (value,) if _scalar_allows(scalar, value) else None
        case Array() as array:
            return _array_arranged(array, value, resolver) if isinstance(value, list) else None
        case Object() as object_:
            return _object_arranged(object_, value, resolver) if isinstance(value, Mapping) else None
        case _:
            return (value,)


def _scalar_allows(node: Null | Boolean | Number | Text, value: Any) -> bool:
    kind = kind_of(value)
    match node:
        case Null():
            return kind == "null"
        case Boolean():
            return kind == "boolean"
        case Text(language):
            return kind == "string" and (language is None or language.accepts(value))
        case Number(integer, language):
            if kind not in ("integer", "fraction") or (integer and kind == "fraction"):
                return False
            return language is None or any(map(language.accepts, number_texts(value)))


def number_texts(value: Any) -> Iterator[str]:
    """The number in decimal notation: a whole one without and with a fraction."""
    number = Decimal(str(value))
    if abs(number.adjusted()) > _MAX_DIGITS:
        yield str(number)
        return
    text = format(number, "f")
    if "." in text:
        yield text.rstrip("0").rstrip(".")
    yield text
    if "." not in text:
        yield text + ".0"


def _array_arranged(node: Array, value: list[Any], resolver: Resolver) -> tuple[Any] | None:
    if not is_between(len(value), node.least, node.most):
        return None
    if node.contains is not None:
        return _containing_arranged(node.contains, value, resolver)
    items: list[Any] = []
    for index, item in enumerate(value):
        own = node.prefix[index] if index < len(node.prefix) else node.items
        found = None if own is None else arranged(own, item, resolver)
        if found is None:
            return None
        items += found
    return (items,)


def _containing_arranged(node: Contains, value: list[Any], resolver: Resolver) -> tuple[Any] | None:
    items: list[Any] = []
    fixed = free = 0
    for item in value:
        matching = arranged(node.matching, item, resolver)
        other = None if node.other is None else arranged(node.other, item, resolver)
        fixed += matching is not None and other is None
        free += matching is not None and other is not None
        found = matching or other
        if found is None:
            return None
        items += found
    is_possible = fixed + free >= node.least and (node.most is None or fixed <= node.most)
    return (items,) if is_possible else None


def _object_arranged(node: Object, value: Mapping[str, Any], resolver: Resolver) -> tuple[Any] | None:
    if not is_between(len(value), node.least, node.most):
        return None
    members: dict[str, Any] = {}
    for each in node.properties:
        if each.name not in value:
            if each.required:
                return None
            continue
        found = arranged(each.value, value[each.name], resolver)
        if found is None:
            return None
        members[each.name] = found[0]
    declared = {each.name for each in node.properties}
    for name in (name for name in value if name not in declared):
        options = (
            arranged(keys.value, value[name], resolver)
            for keys in node.free
            if keys.names is None or keys.names.accepts(name)
        )
        found = next((option for option in options if option is not None), None)
        if found is None:
            return None
        members[name] = found[0]
    return (members,)
