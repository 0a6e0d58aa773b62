"""Rewrite a schema into one that XGrammar holds exactly, and note what was lost on the way.

`{"allOf": [{"$ref": "#/$defs/a"}], "maxLength": 3}` with `$defs: {"a": {"type": "string", "minLength": 1}}`
becomes a string of one to three characters.

A node is lowered as a set of members that all hold: the schema itself, what it refers to, and the branches
of `allOf`. `anyOf` and `oneOf` are spread over the other members. So no keyword is lost for standing beside
another. The result allows only JSON; it allows what the schema does not only where the ledger says so. It
allows less than the schema in these ways: keys come in the order of the schema; a node without `type` is of
the types that its keywords speak about; integers are not spelled `1.0`; closed objects have declared keys
only.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import jsonschema_rs

from server.schema.containers import array, object_
from server.schema.document import Document, Located, SchemaError
from server.schema.drafts import with_draft
from server.schema.fragments import Fragments
from server.schema.members import TYPES, Atom, flatten, includes, kinds, listed, stated, type_of
from server.schema.scalars import Masked, number, string
from server.schema.unions import any_of, are_disjoint
from server.schema.unmasked import Ledger

MAX_NODES = 5_000
"""Nodes of the rewritten schema, which spreading may make larger than the schema itself."""
MAX_ALTERNATIVES = 64
"""Combinations of `anyOf` and `oneOf` branches of one node that are spelled out."""

_KEYWORDS = {
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "array": (
        *("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems"),
    ),
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
        *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties"),
    ),
}
_ROOT = "urn:strictcall:schema"


class SchemaLowering:
    """Lowers the nodes of one document; `definitions` are the referenced ones, by name."""

    def __init__(self, document: Document, fragments: Fragments, *, closed: bool) -> None:
        self.document = document
        self.fragments = fragments
        self.closed = closed
        self.ledger = Ledger()
        self.definitions: dict[str, Masked] = {}
        self._names: dict[frozenset[Located], str] = {}
        self._nodes = 0
        self._registry: jsonschema_rs.Registry | None = None

    def lower(self, members: Iterable[Located], types: Sequence[str] = TYPES) -> Masked:
        """Lower what holds where all members hold. None if nothing does."""
        flat = flatten(self.document, members)
        if flat is None:
            return None
        atoms, followed = flat
        if not followed or types is not TYPES:
            return self._node(atoms, types)
        key = frozenset(node for node, _ in atoms)
        if key not in self._names:
            name = self._names[key] = "node_" + "".join(chr(ord(d) + 49) for d in str(len(self._names)))
            self.definitions[name] = self._node(atoms, types)
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def anything(self, pointer: str) -> Masked:
        self.ledger.note(pointer, "duplicate_key", "the mask lets an undeclared key be written twice")
        return {}

    def names(self, members: Iterable[Located]) -> list[str] | None:
        """The strings that members of `propertyNames` list, if they list any."""
        flat = flatten(self.document, members)
        if flat is None:
            return []
        values = listed(flat[0])
        return None if values is None else [value for value in values if isinstance(value, str)]

    def admits(self, value: Any, members: Sequence[Located]) -> bool:
        """Whether all members hold for the value; `SchemaError` if that cannot be told."""
        if self._registry is None:
            root = with_draft(self.document.root.schema, self.document.draft)
            if isinstance(root, dict):
                root = {k: v for k, v in root.items() if k != self.document.draft.id_keyword}
            self._registry = jsonschema_rs.Registry([(_ROOT, root)], retriever=_fetch_nothing)
        references = [{"$ref": _ROOT + member.pointer} for member in members]
        schema = {"$schema": self.document.draft.uri, "allOf": references}
        return jsonschema_rs.is_valid(
            schema, value, registry=self._registry, validate_formats=True, offline=True
        )

    def _node(self, atoms: list[Atom], types: Sequence[str]) -> Masked:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise SchemaError(
                "#", f"the schema spreads to more than {MAX_NODES:,} nodes; simplify its unions"
            )
        values = listed(atoms)
        if values is not None:
            return self._literals(values, atoms, types)
        if (group := self._group(atoms)) is not None:
            return self._alternatives(atoms, *group, types)
        if not self._note_untyped(atoms):
            return None
        allowed = self._types(atoms, types)
        if allowed is None:
            return self.anything(atoms[0][0].pointer if atoms else "#")
        return any_of([self._typed(name, atoms) for name in allowed])

    def _literals(self, values: list[Any], atoms: Sequence[Atom], types: Sequence[str]) -> Masked:
        kept = [v for v in values if type_of(v) in types and includes(kinds(atoms), type_of(v))]
        members = [Located(node.pointer, node.schema) for node, _ in atoms]
        keywords = [name for _, names in atoms for name in names if name in _FILTERS]
        if len(keywords) > 1:
            try:
                kept = [v for v in kept if self.admits(v, members)]
            except jsonschema_rs.ValidationError:
                for node, _ in atoms:
                    self.ledger.note(node.pointer, "enum", "the mask cannot compare it with its siblings")
        return self.fragments.literals(kept) if kept else None

    def _group(self, atoms: Sequence[Atom]) -> tuple[int, str] | None:
        """The next union to spread; the others are noted and dropped when they are too many together."""
        groups = [
            (i, k) for i, (_, keywords) in enumerate(atoms) for k in ("anyOf", "oneOf") if k in keywords
        ]
        product = 1
        for number_, (index, keyword) in enumerate(groups):
            node, keywords = atoms[index]
            product *= len(keywords[keyword])
            if number_ and product > MAX_ALTERNATIVES:
                product //= len(keywords.pop(keyword))
                self.ledger.note(
                    node.pointer, keyword, "too many combinations with other unions of this node"
                )
        return groups[0] if groups else None

    def _alternatives(self, atoms: Sequence[Atom], index: int, keyword: str, types: Sequence[str]) -> Masked:
        others = [
            Located(
                node.pointer, node.schema, _dropped(node, keywords) | ({keyword} if i == index else set())
            )
            for i, (node, keywords) in enumerate(atoms)
        ]
        branches: list[Located] = atoms[index][1][keyword]
        if keyword == "oneOf" and not are_disjoint(self.document, branches):
            self.ledger.note(atoms[index][0].pointer, "oneOf", "a value may fit several branches")
        return any_of([self.lower([*others, branch], types) for branch in branches])

    def _note_untyped(self, atoms: Sequence[Atom]) -> bool:
        """Note the keywords that no type owns. False if one of them allows nothing."""
        for node, keywords in atoms:
            negated = keywords.get("not")
            if negated is not None and negated.schema in (True, {}):
                return False
            if negated is not None and negated.schema is not False:
                self.ledger.note(node.pointer, "not", "the mask does not negate")
            if "if" in keywords and ("then" in keywords or "else" in keywords):
                self.ledger.note(node.pointer, "if", "the mask does not look ahead")
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                if keyword in keywords:
                    self.ledger.note(node.pointer, keyword, "the mask follows plain references only")
        return True

    def _types(self, atoms: Sequence[Atom], allowed: Sequence[str]) -> list[str] | None:
        """The types to write; None if any value will do."""
        declared = [{types} if isinstance(types, str) else set(types) for _, types in stated(atoms, "type")]
        implied = {t for t, names in _KEYWORDS.items() for _, kw in atoms if not set(names).isdisjoint(kw)}
        if not declared and not implied and allowed is TYPES:
            return None
        kept = {name for name in allowed if all(includes(types, name) for types in declared)}
        if not declared and implied & kept:
            kept &= implied
        return [name for name in TYPES if name in kept and not (name == "integer" and "number" in kept)]

    def _typed(self, name: str, atoms: Sequence[Atom]) -> Masked:
        if name == "string":
            return string(atoms, self.fragments, self.ledger)
        if name in ("number", "integer"):
            return number(atoms, self.fragments, self.ledger, integer=name == "integer")
        if name == "array":
            return array(atoms, self)
        return object_(atoms, self) if name == "object" else {"type": name}


_FILTERS = {name for names in _KEYWORDS.values() for name in names} | {
    *("const", "enum", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef", "$recursiveRef"),
}
"""Keywords, `type` aside, that may forbid a value that one of them lists."""


def _dropped(node: Located, keywords: Any) -> frozenset[str]:
    """What `_group` took out of the keywords is dropped for good."""
    if not isinstance(node.schema, dict):
        return node.dropped
    return node.dropped | {k for k in ("anyOf", "oneOf") if k in node.schema and k not in keywords}


def _fetch_nothing(uri: str) -> Any:
    raise ValueError(f"{uri} is not part of the schema, and nothing is fetched")
