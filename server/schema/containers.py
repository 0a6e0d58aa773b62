"""Arrays and objects: which members meet at each item and key, and what XGrammar holds of the rest.

`{"properties": {"a": A}, "additionalProperties": false}` together with `{"properties": {"a": B}}` becomes
an object whose `a` is lowered from A and B together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import jsonschema_rs

from server.schema.document import Located
from server.schema.fragments import Fragments
from server.schema.members import Atom, largest, smallest, stated
from server.schema.regex import UntranslatableError, translate
from server.schema.scalars import Masked
from server.schema.unmasked import Ledger

MAX_COUNT = 100_000
"""Largest item count that is given to XGrammar."""
MAX_COUNTED_KEYS = 32
"""Declared keys up to which `minProperties` and `maxProperties` are counted by the mask."""

_IN_PLACE = (
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "not",
    "dependentSchemas",
)


class Lowering(Protocol):
    """What a container needs of the lowering that it is part of."""

    closed: bool
    fragments: Fragments
    ledger: Ledger

    def lower(self, members: Iterable[Located]) -> Masked: ...

    def anything(self, pointer: str) -> Masked: ...

    def names(self, members: Iterable[Located]) -> list[str] | None: ...

    def admits(self, name: str, members: Sequence[Located]) -> bool: ...


def is_flat(node: Located) -> bool:
    """Whether `unevaluated…` on this node sees no other schema than the node itself."""
    return not any(keyword in node.schema for keyword in _IN_PLACE)


def array(atoms: Sequence[Atom], lowering: Lowering) -> Masked:
    ledger = lowering.ledger
    least, most = largest(atoms, "minItems"), smallest(atoms, "maxItems")
    sources = [_items(atom, ledger) for atom in atoms]
    width = max(len(prefix) for prefix, _ in sources)
    prefix: list[dict[str, Any]] = []
    for index in range(width):
        members = [p[index] if index < len(p) else rest for p, rest in sources]
        item = lowering.lower([member for member in members if member is not None])
        if item is None:
            most = index if most is None else min(most, index)
            break
        prefix.append(item)
    rest_members = [rest for _, rest in sources if rest is not None]
    rest: Masked = None
    if most is None or most > len(prefix):
        rest = lowering.lower(rest_members) if rest_members else lowering.anything(atoms[0][0].pointer)
        if rest is None:
            most = len(prefix)
    if most is not None and least > most:
        return None
    _note_items(atoms, most, ledger)
    node: dict[str, Any] = {"type": "array", "items": rest if rest is not None else False}
    if prefix:
        node["prefixItems"] = prefix[:most]
    return node | _counts(atoms, least, most, ledger)


def _items(atom: Atom, ledger: Ledger) -> tuple[list[Located], Located | None]:
    """The schemas of the first items, and that of all others."""
    node, keywords = atom
    rest: Located | None = keywords.get("items")
    if "unevaluatedItems" in keywords:
        if is_flat(node) and "contains" not in keywords:
            rest = rest or keywords["unevaluatedItems"]
        else:
            ledger.note(node.pointer, "unevaluatedItems", "the mask does not follow what was evaluated")
    return keywords.get("prefixItems", []), rest


def _counts(atoms: Sequence[Atom], least: int, most: int | None, ledger: Ledger) -> dict[str, int]:
    counts: dict[str, int] = {}
    for keyword, count in (("minItems", least or None), ("maxItems", most)):
        if count is None:
            continue
        if count <= MAX_COUNT:
            counts[keyword] = count
        for pointer, _ in stated(atoms, keyword) if count > MAX_COUNT else ():
            ledger.note(pointer, keyword, f"the mask counts up to {MAX_COUNT:,} items")
    return counts


def _note_items(atoms: Sequence[Atom], most: int | None, ledger: Ledger) -> None:
    for pointer, unique in stated(atoms, "uniqueItems"):
        if unique and (most is None or most > 1):
            ledger.note(pointer, "uniqueItems", "the mask does not compare items")
    for node, keywords in atoms:
        if "contains" not in keywords:
            continue
        if keywords.get("minContains") != 0:
            ledger.note(node.pointer, "contains", "the mask does not look for an item")
        for keyword in ("minContains", "maxContains"):
            if keyword in keywords and (keyword, keywords[keyword]) != ("minContains", 0):
                ledger.note(node.pointer, keyword, "the mask does not count matching items")


def object_(atoms: Sequence[Atom], lowering: Lowering) -> Masked:
    return _Object(atoms, lowering).lower()


class _Object:
    """One object while it is lowered: its declared keys, and what other keys may hold."""

    def __init__(self, atoms: Sequence[Atom], lowering: Lowering) -> None:
        self.atoms = atoms
        self.lowering = lowering
        self.ledger = lowering.ledger
        self.pointer = atoms[0][0].pointer
        self.required = {name for _, names in stated(atoms, "required") for name in names}
        self.rest = [rest for atom in atoms if (rest := self._rest_of(atom)) is not None]
        self.patterns = [
            (pattern, member)
            for _, patterns in stated(atoms, "patternProperties")
            for pattern, member in patterns.items()
        ]
        declared = [name for _, properties in stated(atoms, "properties") for name in properties]
        self.names = list(dict.fromkeys([*declared, *sorted(self.required - set(declared))]))
        self.has_closed_shape = lowering.closed and bool(declared or self.patterns) and not self.rest

    def lower(self) -> Masked:
        rest = self._name_rule(self._rest())
        properties: dict[str, Any] = {}
        for name in self.names:
            value = self._property(name)
            if value is not None:
                properties[name] = value
            elif name in self.required:
                return None
            elif rest is not None:
                self._note("properties", "the mask cannot forbid one key where others are free")
        node: dict[str, Any] = {"type": "object"}
        if properties:
            node["properties"] = properties
        if self.required:
            node["required"] = [name for name in properties if name in self.required]
        node |= self._others(rest, properties)
        self._note_dependents()
        return self._count(node, properties)

    def _rest_of(self, atom: Atom) -> Located | None:
        node, keywords = atom
        rest: Located | None = keywords.get("additionalProperties")
        if "unevaluatedProperties" in keywords:
            if is_flat(node):
                return rest or keywords["unevaluatedProperties"]
            self.ledger.note(
                node.pointer, "unevaluatedProperties", "the mask does not follow what was evaluated"
            )
        return rest

    def _rest(self) -> Masked:
        """What keys may hold that nobody declares; None if there are none."""
        if self.has_closed_shape:
            return None
        if self.rest:
            return self.lowering.lower(self.rest)
        return self.lowering.anything(self.pointer)

    def _property(self, name: str) -> Masked:
        members: list[Located] = []
        for atom in self.atoms:
            _, keywords = atom
            own = [keywords["properties"][name]] if name in keywords.get("properties", ()) else []
            patterns: Mapping[str, Located] = keywords.get("patternProperties", {})
            own += [member for pattern, member in patterns.items() if _matches(pattern, name)]
            rest = None if own else self._rest_of(atom)
            members += [rest] if rest is not None else own
        for _, rule in stated(self.atoms, "propertyNames"):
            if not self.lowering.admits(name, [rule]):
                return None
        return self.lowering.lower(members) if members else self.lowering.anything(self.pointer)

    def _name_rule(self, rest: Masked) -> Masked:
        """Turn `propertyNames` into declared keys or a key pattern where it can be; note it where not."""
        rules = [rule for _, rule in stated(self.atoms, "propertyNames")]
        if not rules or (rest is None and not self.patterns):
            return rest
        names = self.lowering.names(rules)
        if names is not None and not self.patterns:
            self.names += [name for name in names if name not in self.names]
            return None
        if any(rule.schema is not True for rule in rules):
            self._note("propertyNames", "the mask does not hold the names of undeclared keys")
        return rest

    def _others(self, rest: Masked, properties: Mapping[str, Any]) -> dict[str, Any]:
        """How XGrammar is told of undeclared keys."""
        if self.patterns and rest is not None:
            self._note("patternProperties", "the mask does not tell apart the names of undeclared keys")
        if self.patterns and rest is None:
            return self._pattern_keys(properties)
        if rest is None:
            return (
                {"additionalProperties": False}
                if properties
                else {"additionalProperties": False, "properties": {}}
            )
        self._note_free_keys(properties)
        return {"additionalProperties": rest}

    def _pattern_keys(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        keys: dict[str, Any] = {}
        values = [self.lowering.lower([member]) for _, member in self.patterns]
        for (pattern, _), value in zip(self.patterns, values, strict=True):
            try:
                translation = translate(pattern)
            except UntranslatableError as error:
                self._note("patternProperties", str(error))
                continue
            if value is None:
                continue
            keys[self.lowering.fragments.key(translation.ebnf)] = value
            if not translation.exact or any(_matches(pattern, name) for name in properties):
                self._note("patternProperties", "the mask may write a declared key a second time")
        if len(self.patterns) > 1 and any(value != values[0] for value in values):
            self._note("patternProperties", "a key may match several patterns; the mask holds one of them")
        if not keys:
            return {"additionalProperties": False, "properties": dict(properties)}
        self._note_duplicates()
        return {"patternProperties": keys, "additionalProperties": False}

    def _note_free_keys(self, properties: Mapping[str, Any]) -> None:
        self._note_duplicates()
        if any(not _is_plain(name) for name in properties):
            self._note("properties", "an undeclared key may repeat a declared one that is not plain ASCII")

    def _note_duplicates(self) -> None:
        self.ledger.note(self.pointer, "duplicate_key", "the mask lets an undeclared key be written twice")

    def _note_dependents(self) -> None:
        for node, keywords in self.atoms:
            for keyword in ("dependentRequired", "dependentSchemas"):
                if keyword in keywords:
                    said = keyword if keyword in node.schema else "dependencies"
                    why = "the mask does not look back at the keys that were written"
                    self.ledger.note(node.pointer, said, why)

    def _note(self, keyword: str, why: str) -> None:
        for pointer, _ in stated(self.atoms, keyword):
            self.ledger.note(pointer, keyword, why)

    def _count(self, node: dict[str, Any], properties: Mapping[str, Any]) -> Masked:
        least, most = largest(self.atoms, "minProperties"), smallest(self.atoms, "maxProperties")
        fixed = node.get("additionalProperties") is False and "patternProperties" not in node
        required = len(node.get("required", ()))
        if fixed:
            most = len(properties) if most is None else min(most, len(properties))
        if most is not None and (most < required or least > most):
            return None
        least = 0 if least <= required else least
        if fixed and most == len(properties):
            most = None
        for keyword, count in (("minProperties", least or None), ("maxProperties", most)):
            if count is None:
                continue
            if len(properties) <= MAX_COUNTED_KEYS and count <= MAX_COUNT:
                node[keyword] = count
            else:
                self._note(keyword, f"the mask counts up to {MAX_COUNTED_KEYS} declared keys")
            if not fixed and keyword == "minProperties":
                self._note(keyword, "a key that is written twice counts twice in the mask")
        return node


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isprintable() and not set(name) & {'"', "\\"}


def _matches(pattern: str, name: str) -> bool:
    try:
        return jsonschema_rs.is_valid({"pattern": pattern}, name)
    except (jsonschema_rs.ValidationError, ValueError):
        return False
