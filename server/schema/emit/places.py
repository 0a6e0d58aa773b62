"""What a reader knows of the values at each place, where only the schema tells of what kind they are.

place = Place.root(values)
place.member("a").kinds             # {"string", "null"}
outline_for(values, spelling)       # {"type": "object", "properties": {"a": {"type": ["null", "string"]}}, …}

A place may be reached in several ways, as when a value may be of one form or of another. What may stand there
in any of them is all that is known of it.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from parsers.arguments.kinds import ALL
from parsers.spelling import Spelling
from server.schema.emit.kinds import Definitions, by_kind
from server.schema.nodes import Array, Node, Object, Values


class Place:
    """Where one of the nodes stands. Equal places are one object, so that recursive ones end."""

    def __init__(
        self, nodes: tuple[Node, ...], pointer: str, definitions: Definitions, known: "dict[Any, Place]"
    ) -> None:
        self.pointer = pointer
        """One of the ways to it, as schemas have it: `#/properties/a`."""
        self._nodes = nodes
        self._definitions = definitions
        self._known = known

    @classmethod
    def root(cls, values: Values) -> "Place":
        return cls((values.root,), "#", values.definitions, {})

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of value, as `parsers.arguments.kinds` names them; none where no value stands."""
        found = frozenset(kind for kind, _ in self._parts)
        return found | {"integer"} if "number" in found else found

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The members that objects at this place have by name."""
        return tuple(dict.fromkeys(item.name for form in self._objects for item in form.properties))

    def member(self, name: str) -> "Place":
        """The place of a member's value."""
        if name not in self.names:
            return self.free
        own = [item.value for form in self._objects for item in form.properties if item.name == name]
        # What one form names may be free in another.
        step = name.replace("~", "~0").replace("/", "~1")
        nodes = [*own, *self._free_values] if len(self._objects) > 1 else own
        return self._place(nodes, f"properties/{step}")

    @cached_property
    def free(self) -> "Place":
        """The place of the values of all other members."""
        return self._place(self._free_values, "additionalProperties")

    @cached_property
    def item(self) -> "Place":
        """The place of an array's items."""
        nodes: list[Node] = []
        for form in (node for _, node in self._parts if isinstance(node, Array)):
            counted = form.contains
            nodes += [*form.prefix, *([] if form.items is None else [form.items])]
            nodes += [] if counted is None else [counted.matching]
            nodes += [] if counted is None or counted.other is None else [counted.other]
        return self._place(nodes, "items")

    @cached_property
    def _parts(self) -> list[tuple[str, Node]]:
        return [part for node in self._nodes for part in by_kind(node, self._definitions)]

    @cached_property
    def _objects(self) -> list[Object]:
        return [node for _, node in self._parts if isinstance(node, Object)]

    @cached_property
    def _free_values(self) -> list[Node]:
        return [keys.value for form in self._objects for keys in form.free]

    def _place(self, nodes: Iterable[Node], step: str) -> "Place":
        unique = {id(node): node for node in nodes}
        key = tuple(sorted(unique))
        if key not in self._known:
            pointer = f"{self.pointer}/{step}"
            self._known[key] = Place(tuple(unique.values()), pointer, self._definitions, self._known)
        return self._known[key]


def outline_for(values: Values, spelling: Spelling) -> dict[str, Any]:
    """A schema that says of what kinds values are, as far as a reader of the spelling needs one."""
    if spelling.is_plain:
        return {}
    place = Place.root(values)
    if spelling.members.is_tags:
        return _Outline().whole(place)
    return {
        "type": "object",
        "properties": {name: _typed(place.member(name)) for name in place.names},
        "additionalProperties": _typed(place.free),
    }


def _typed(place: Place) -> dict[str, Any]:
    return {} if place.kinds == ALL or not place.kinds else {"type": sorted(place.kinds)}


class _Outline:
    """Each place is a definition, since it may stand within itself."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._definitions: dict[str, Any] = {}

    def whole(self, place: Place) -> dict[str, Any]:
        return {**self._schema(place), "$defs": self._definitions}

    def _schema(self, place: Place) -> dict[str, Any]:
        schema = _typed(place)
        if "object" in place.kinds:
            schema["properties"] = {name: self._reference(place.member(name)) for name in place.names}
            schema["additionalProperties"] = self._reference(place.free)
        if "array" in place.kinds:
            schema["items"] = self._reference(place.item)
        return schema

    def _reference(self, place: Place) -> dict[str, str]:
        if id(place) not in self._names:
            name = str(len(self._names))
            self._names[id(place)] = name
            self._definitions[name] = self._schema(place)
        return {"$ref": f"#/$defs/{self._names[id(place)]}"}
