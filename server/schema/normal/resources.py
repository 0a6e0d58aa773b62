"""Where references lead: by pointer, by anchor, into resources of the document, by dynamic scope.

resources = Resources(Document.load({"$ref": "item", "$defs": {"a": {"$id": "item", "type": "null"}}}))
resources.target("item", document.root, ())     # Located("#/$defs/a", …)
"""

from urllib.parse import unquote, urldefrag, urljoin

from server.schema.document import Document, Located
from server.schema.drafts import Draft
from server.schema.normal.facts import Scope

_OF_A_REFERENCE = frozenset(
    ("$ref", "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated")
)


class Resources:
    """The resources of one document: its root, and whatever has an identifier of its own."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._bases: dict[str, str] = {"#": ""}
        self._roots: dict[str, Located] = {"": document.root}
        self._anchors: dict[tuple[str, str], Located] = {}
        self._dynamic: dict[tuple[str, str], Located] = {}
        self._uses_scope = False
        for node in sorted(document.walk(), key=lambda node: node.pointer.count("/")):
            self._index(node)

    def _index(self, node: Located) -> None:
        if not isinstance(node.schema, dict):
            return
        is_reference = self._document.draft.ref_replaces_siblings and "$ref" in node.schema
        identifier = None if is_reference else node.schema.get(self._document.draft.id_keyword)
        if isinstance(identifier, str):
            address, anchor = urldefrag(identifier)
            if address:
                base = _join(self.base(node), address)
                self._bases[node.pointer] = base
                self._roots.setdefault(base, node)
            if anchor:
                self._anchors.setdefault((self.base(node), anchor), node)
        base = self.base(node)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := node.schema.get(keyword), str):
                self._anchors.setdefault((base, name), node)
        if isinstance(name := node.schema.get("$dynamicAnchor"), str):
            self._dynamic.setdefault((base, name), node)
        if node.schema.get("$recursiveAnchor") is True:
            self._dynamic.setdefault((base, ""), node)
        self._uses_scope |= "$dynamicRef" in node.schema or "$recursiveRef" in node.schema

    @property
    def counts_contained(self) -> bool:
        """Whether `unevaluatedItems` leaves alone what `contains` has found."""
        return self._document.draft is Draft.D2020

    def base(self, node: Located) -> str:
        """The address of the resource that the node is part of; empty if nothing gives it one."""
        pointer = node.pointer
        while pointer not in self._bases:
            pointer = pointer.rpartition("/")[0]
        return self._bases[pointer]

    def enter(self, node: Located, scope: Scope) -> Scope:
        """The scope inside the node; always empty where no reference asks for it."""
        if not self._uses_scope or (base := self.base(node)) in scope:
            return scope
        return (*scope, base)

    def target(self, reference: str, node: Located) -> Located | None:
        """Where `$ref` at the node leads; None if that is not in the document."""
        address, fragment = urldefrag(_join(self.base(node), reference))
        root = self._roots.get(address)
        if root is None:
            return None
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((self.base(root), unquote(fragment)))
        return self._document.descend(root, fragment)

    def mere_target(self, node: Located) -> Located | None:
        """Where the node leads, if it is a reference and nothing else that could make a value wrong."""
        if not isinstance(node.schema, dict) or "$ref" not in node.schema:
            return None
        keywords = self._document.read(node)
        return self.target(keywords["$ref"], node) if keywords.keys() <= _OF_A_REFERENCE else None

    def dynamic_target(self, reference: str, node: Located, scope: Scope) -> Located | None:
        """Where `$dynamicRef` or `$recursiveRef` at the node leads."""
        first = self.target(reference, node)
        if first is None or not isinstance(first.schema, dict):
            return first
        fragment = unquote(urldefrag(reference).fragment)
        if self._dynamic.get((self.base(first), fragment)) != first:
            return first
        found = (self._dynamic.get((base, fragment)) for base in scope)
        return next((target for target in found if target is not None), first)


def _join(base: str, reference: str) -> str:
    """As `urljoin`, which gives up the base if it is a `urn:`."""
    return base + reference if reference.startswith("#") else urljoin(base, reference)
