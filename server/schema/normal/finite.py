"""Take out of nodes what can never be finished: an object that requires another of its own, and so on."""

from collections.abc import Mapping
from dataclasses import replace

from server.schema.nodes import Array, Contains, FreeKeys, Node, Object, Property, Reference, Union, Values
from server.schema.normal.unions import union


def finite(root: Node, definitions: Mapping[str, Node]) -> Values | None:
    """The root and the definitions that it needs, with only parts that have a finite value."""
    ending: set[str] = set()
    while True:
        found = {name for name, node in definitions.items() if name not in ending and _ends(node, ending)}
        if not found:
            break
        ending |= found
    if (reached := _reached(root, definitions, ending)) is not None:
        return Values(root, reached)
    cut = _Cut(ending)
    kept_root = cut.node(root)
    if kept_root is None:
        return None
    kept: dict[str, Node] = {}
    while cut.needed:
        name = cut.needed.pop()
        node = cut.node(definitions[name]) if name not in kept else None
        if node is not None:
            kept[name] = node
    return Values(kept_root, kept)


def _reached(root: Node, definitions: Mapping[str, Node], ending: set[str]) -> dict[str, Node] | None:
    """The definitions that the root leads to; None if one of them has no finite value."""
    reached: dict[str, Node] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Reference) and node.name not in ending:
            return None
        if isinstance(node, Reference) and node.name not in reached:
            reached[node.name] = definitions[node.name]
            pending.append(definitions[node.name])
        pending += _parts(node)
    return reached


def _parts(node: Node) -> list[Node]:
    match node:
        case Union(nodes):
            return list(nodes)
        case Array(contains=None):
            return [*node.prefix, *([node.items] if node.items is not None else [])]
        case Array(contains=Contains(matching, other)):
            return [matching, *([other] if other is not None else [])]
        case Object(properties, free):
            return [each.value for each in properties] + [keys.value for keys in free]
        case _:
            return []


def _ends(node: Node, ending: set[str]) -> bool:
    """Whether some value of the node is finite, given the definitions that have one."""
    match node:
        case Reference(name):
            return name in ending
        case Union(nodes):
            return any(_ends(each, ending) for each in nodes)
        case Array():
            return all(_ends(each, ending) for each in _needed(node))
        case Object(properties, free, least):
            required = [each for each in properties if each.required]
            if not all(_ends(each.value, ending) for each in required):
                return False
            return least <= len(required) or (
                any(_ends(keys.value, ending) for keys in free)
                or sum(_ends(each.value, ending) for each in properties) >= least
            )
        case _:
            return True


def _needed(node: Array) -> list[Node]:
    if node.contains is not None:
        needed = [node.contains.matching] if node.contains.least else []
        if node.least > node.contains.least and node.contains.other is not None:
            needed.append(node.contains.other)
        return needed
    needed = list(node.prefix[: node.least])
    return [*needed, node.items] if node.items is not None and node.least > len(node.prefix) else needed


class _Cut:
    """Cuts nodes, and collects the names of the definitions that they still refer to."""

    def __init__(self, ending: set[str]) -> None:
        self.ending = ending
        self.needed: list[str] = []

    def node(self, node: Node) -> Node | None:
        if not _ends(node, self.ending):
            return None
        match node:
            case Reference(name):
                self.needed.append(name)
                return node
            case Union(nodes):
                return union(kept for each in nodes if (kept := self.node(each)) is not None)
            case Array():
                return self._array(node)
            case Object():
                return self._object(node)
            case _:
                return node

    def _array(self, node: Array) -> Array:
        if node.contains is not None:
            matching = self.node(node.contains.matching)
            other = None if node.contains.other is None else self.node(node.contains.other)
            if matching is None:
                return self._bounded(Array((), other, node.least, node.most))
            return replace(node, items=None, contains=replace(node.contains, matching=matching, other=other))
        prefix: list[Node] = []
        for item in node.prefix:
            kept = self.node(item)
            if kept is None:
                return self._bounded(Array(tuple(prefix), None, node.least, node.most))
            prefix.append(kept)
        items = None if node.items is None else self.node(node.items)
        return self._bounded(Array(tuple(prefix), items, node.least, node.most))

    def _bounded(self, node: Array) -> Array:
        """`most` is stated, also where it follows from there being no further items."""
        if node.items is not None:
            return node
        width = len(node.prefix)
        most = width if node.most is None else min(width, node.most)
        return replace(node, prefix=node.prefix[:most], most=most)

    def _object(self, node: Object) -> Object:
        properties = [
            Property(each.name, value, each.required)
            for each in node.properties
            if (value := self.node(each.value)) is not None
        ]
        free = [
            FreeKeys(keys.names, value) for keys in node.free if (value := self.node(keys.value)) is not None
        ]
        return Object(tuple(properties), tuple(free), node.least, node.most)
