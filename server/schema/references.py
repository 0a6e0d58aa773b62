"""Where the references of a schema lead: round in circles, to ever more subschemas, or back into themselves.

document = Document.load({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"items": {"$ref": "#"}}}})
circle(document)                                  # None: each round takes a value apart
subschemas(document, document.root, {})           # 3 hold of the value: "#", "#/allOf/0" and "#/$defs/a"
is_recursive(document)                            # True
"""

from collections.abc import Callable, Iterator

from server.schema.document import Document, Located

IN_PLACE = frozenset(
    ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
)
"""Keywords whose subschemas hold of the value itself, and not of a part of it."""

_DYNAMIC = frozenset(("$dynamicRef", "$recursiveRef"))

Edges = Callable[[Document, Located], list[Located]]


def in_place(document: Document, node: Located) -> list[Located]:
    """The nodes that a node asks of the same value."""
    return _asked(document, node, lambda keyword: keyword in IN_PLACE)


def everywhere(document: Document, node: Located) -> list[Located]:
    """The nodes that a node asks of the value and of its parts."""
    return _asked(document, node, lambda keyword: keyword not in ("$defs", "definitions"))


def _asked(document: Document, node: Located, wanted: Callable[[str], bool]) -> list[Located]:
    target = referred(document, node)
    if target is not None and document.draft.ref_replaces_siblings:
        return [target]
    children = [child for keyword, child in document.children(node) if wanted(keyword)]
    return children if target is None else [target, *children]


def referred(document: Document, node: Located) -> Located | None:
    """The node that `$ref` leads to, within the document."""
    reference = node.schema.get("$ref") if isinstance(node.schema, dict) else None
    return document.resolve(reference) if isinstance(reference, str) else None


def circle(document: Document) -> Located | None:
    """A node that asks of a value, without end, what it asks of it already; None if there is none."""
    return next(_repeated(document, in_place), None)


def is_recursive(document: Document) -> bool:
    """Whether a value of some node may hold another of the same node; `$dynamicRef` always may."""
    if any(
        isinstance(node.schema, dict) and not _DYNAMIC.isdisjoint(node.schema) for node in document.walk()
    ):
        return True
    return next(_repeated(document, everywhere), None) is not None


def _repeated(document: Document, edges: Edges) -> Iterator[Located]:
    """The nodes that lead back to themselves, found depth first without the stack of Python."""
    done: set[Located] = set()
    for start in document.walk():
        path: dict[Located, Iterator[Located]] = {}
        if start not in done:
            path[start] = iter(edges(document, start))
        while path:
            node, rest = next(reversed(path.items()))
            following = next(rest, None)
            if following is None:
                done.add(node)
                del path[node]
            elif following in path:
                yield following
            elif following not in done:
                path[following] = iter(edges(document, following))


def subschemas(document: Document, start: Located, known: dict[Located, int]) -> int:
    """How many nodes hold of one value of `start`, each as often as it is reached; there is no circle.

    `known` has what was counted before, and takes what is counted now.
    """
    pending = [start]
    while pending:
        node = pending[-1]
        following = in_place(document, node)
        unknown = [each for each in following if each not in known]
        if unknown:
            pending += unknown
            continue
        known[node] = 1 + sum(known[each] for each in following)
        pending.pop()
    return known[start]
