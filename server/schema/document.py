"""A schema as a document: its nodes by place, its references, its limits.

Every node is `Located`, so that two uses of one node are the same node however they were reached:

    document = Document.load({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "null"}}})
    document.read(document.root)["properties"]["a"]   # Located("#/properties/a", {"$ref": "#/$defs/b"})
    document.resolve("#/$defs/b")                      # Located("#/$defs/b", {"type": "null"})
"""

import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from server.schema.drafts import Draft, UnknownDraftError, detect_draft, modernise
from server.schema.limits import DEFAULT_LIMITS, SchemaLimits

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLES = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)


class SchemaError(ValueError):
    """A schema that cannot be used, with the place that makes it so (`#/properties/a`)."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer
        self.message = message


@dataclass(frozen=True, slots=True)
class Located:
    """A node of the document. Two are equal that stand in one place."""

    pointer: str
    schema: Any = field(compare=False, repr=False)

    def child(self, *tokens: str | int) -> "Located":
        value = self.schema
        for token in tokens:
            value = value[token]
        return Located("/".join((self.pointer, *map(_escape, tokens))), value)


def _escape(token: str | int) -> str:
    return quote(str(token).replace("~", "~0").replace("/", "~1"), safe="~!$&'()*+,;=:@")


class Document:
    """A schema within the limits, of a known draft, whose references can be followed."""

    def __init__(self, schema: Any, draft: Draft) -> None:
        self.root = Located("#", schema)
        self.draft = draft
        self._anchors: dict[str, Located] = {}
        self._embedded: set[str] = set()
        self._read: dict[str, dict[str, Any]] = {}
        self._below: dict[Located, tuple[tuple[str, Located], ...]] = {}
        pending = [self.root]
        while pending:
            node = pending.pop()
            self._index(node)
            self._below[node] = _below(node)
            pending.extend(child for _, child in self._below[node])

    @classmethod
    def load(cls, schema: Any, limits: SchemaLimits = DEFAULT_LIMITS) -> "Document":
        """Raises `SchemaError` if the schema is too large to be looked at, or of an unknown draft."""
        check_size(schema, limits)
        try:
            return cls(schema, detect_draft(schema))
        except UnknownDraftError as error:
            raise SchemaError(
                "#", f"the schema dialect {str(error)!r} is not known; use draft 4, 6, 7, 2019-09 or 2020-12"
            ) from None

    def walk(self) -> Iterator[Located]:
        """Every node in a place where a schema stands, parents first."""
        yield from self._below

    def children(self, node: Located) -> tuple[tuple[str, Located], ...]:
        """The schemas right below a node, each with the keyword that it stands under."""
        # A reference may lead to where no schema stands by itself, such as `#/examples/0`.
        return self._below[node] if node in self._below else _below(node)

    def read(self, node: Located) -> dict[str, Any]:
        """The keywords of a node, which is not a boolean: spelled as in 2020-12, each subschema `Located`."""
        if node.pointer not in self._read:
            self._read[node.pointer] = self._read_afresh(node)
        return self._read[node.pointer]

    def _read_afresh(self, node: Located) -> dict[str, Any]:
        keywords = modernise(node.schema, self.draft)
        for unread in ("$defs", "definitions"):
            keywords.pop(unread, None)
        maps: dict[str, dict[str, Located]] = {}
        lists: dict[str, list[Located]] = {}
        for path, child in _children(node, tuple(keywords)):
            name = str(path[0])
            if len(path) == 1:
                keywords[name] = child
            elif isinstance(path[1], int):
                lists.setdefault(name, []).append(child)
            else:
                maps.setdefault(name, {})[path[1]] = child
        keywords.update({name: maps.get(name, {}) for name in _MAPS if name in keywords})
        keywords.update(lists)
        _spell_tuples(keywords)
        if isinstance(keywords.get("dependencies"), dict):
            _split_dependencies(keywords, maps.get("dependencies", {}))
        return keywords

    def resolve(self, reference: str) -> Located | None:
        """Follow a reference inside this document; None if it leads elsewhere, or nowhere."""
        reference = self._without_base(reference) or "#"
        if reference.startswith("#") and (fragment := reference[1:]) and not fragment.startswith("/"):
            return self._anchors.get(unquote(fragment))
        return self.descend(self.root, reference[1:]) if reference.startswith("#") else None

    def descend(self, node: Located, pointer: str) -> Located | None:
        """Follow a JSON pointer, as a URI fragment spells it, from a node; None if it leads to no schema."""
        for part in pointer.split("/")[1:]:
            token = unquote(part).replace("~1", "/").replace("~0", "~")
            step = _step(node.schema, token)
            if step is None:
                return None
            node = node.child(step)
        return node if isinstance(node.schema, dict | bool) else None

    def _without_base(self, reference: str) -> str:
        """A reference by the root's own identifier is a reference inside the document."""
        schema = self.root.schema
        base = schema.get(self.draft.id_keyword) if isinstance(schema, dict) else None
        if isinstance(base, str) and (stem := base.removesuffix("#")) and reference.startswith(stem):
            rest = reference.removeprefix(stem)
            return rest or "#" if rest in ("", "#") or rest.startswith("#") else reference
        return reference

    @property
    def has_embedded_resources(self) -> bool:
        """Whether a node below the root has its own base, against which its references are then read."""
        return bool(self._embedded)

    def _index(self, node: Located) -> None:
        if not isinstance(node.schema, dict):
            return
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := node.schema.get(keyword), str):
                self._anchors.setdefault(name, node)
        identifier = node.schema.get(self.draft.id_keyword)
        if not isinstance(identifier, str):
            return
        if identifier.startswith("#"):
            self._anchors.setdefault(identifier[1:], node)
        elif node.pointer != "#":
            self._embedded.add(node.pointer)


def _below(node: Located) -> tuple[tuple[str, Located], ...]:
    if not isinstance(node.schema, dict):
        return ()
    return tuple((str(path[0]), child) for path, child in _children(node, node.schema))


def _step(value: Any, token: str) -> str | int | None:
    if isinstance(value, dict):
        return token if token in value else None
    if isinstance(value, list) and token.isascii() and token.isdigit() and int(token) < len(value):
        return int(token)
    return None


def _children(node: Located, names: Container[str]) -> Iterator[tuple[tuple[str | int, ...], Located]]:
    schema: Mapping[str, Any] = node.schema
    for name in (*_MAPS, "dependencies"):
        value = schema.get(name) if name in names else None
        if isinstance(value, dict):
            for key, child in value.items():
                if isinstance(child, dict | bool):
                    yield (name, key), node.child(name, key)
    for name in (*_LISTS, "items"):
        value = schema.get(name) if name in names else None
        if isinstance(value, list):
            yield from (((name, index), node.child(name, index)) for index in range(len(value)))
    for name in _SINGLES:
        if name in names and isinstance(schema[name], dict | bool):
            yield (name,), node.child(name)


def _spell_tuples(keywords: dict[str, Any]) -> None:
    """`items: [A], additionalItems: B` is `prefixItems: [A], items: B` since 2020-12."""
    rest = keywords.pop("additionalItems", None)
    if isinstance(keywords.get("items"), list):
        keywords["prefixItems"] = keywords.pop("items")
        if isinstance(rest, Located):
            keywords["items"] = rest


def _split_dependencies(keywords: dict[str, Any], schemas: dict[str, Located]) -> None:
    """`dependencies` is `dependentRequired` and `dependentSchemas` since 2019-09."""
    dependencies = keywords.pop("dependencies")
    names = {key: value for key, value in dependencies.items() if isinstance(value, list)}
    if names:
        keywords["dependentRequired"] = {**keywords.get("dependentRequired", {}), **names}
    if schemas:
        keywords["dependentSchemas"] = {**keywords.get("dependentSchemas", {}), **schemas}


def check_size(schema: Any, limits: SchemaLimits) -> None:
    """Raise `SchemaError` if a schema is too deep, has too many values, or is too long."""
    values = 0
    level: list[Any] = [schema]
    for depth in range(limits.depth + 1):
        values += len(level)
        if values > limits.values:
            raise SchemaError("#", limits.over("values"))
        level = [child for value in level for child in _values(value)]
        if not level:
            break
        if depth == limits.depth:
            raise SchemaError("#", limits.over("depth"))
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    if len(text) > limits.characters:
        raise SchemaError("#", limits.over("characters"))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError("#", "the schema has half of a surrogate pair in a string") from None


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
