"""Several nodes as one: each once, no union within a union, and none that another allows already."""

from collections.abc import Iterable
from typing import Any

from server.schema.nodes import Anything, Boolean, Literals, Node, Null, Number, Text, Union
from server.schema.normal.truth import canonical, kind_of


def union(nodes: Iterable[Node]) -> Node | None:
    """The values of any of the nodes; None if there are none."""
    flat = dict.fromkeys(
        part for node in nodes for part in (node.nodes if isinstance(node, Union) else (node,))
    )
    if Anything() in flat:
        return Anything()
    parts = [node for node in flat if not _is_covered(node, flat)]
    merged = _with_merged_literals(parts, flat)
    return None if not merged else merged[0] if len(merged) == 1 else Union(tuple(merged))


def _is_covered(node: Node, others: Iterable[Node]) -> bool:
    match node:
        case Number(integer, text):
            wider = [Number()] if integer or text is not None else []
            return any(other in others for other in [*wider, *([Number(integer=integer)] if text else [])])
        case Text(language) if language is not None:
            return Text() in others
        case _:
            return False


def _with_merged_literals(parts: list[Node], others: Iterable[Node]) -> list[Node]:
    """One node for all literals, in the place of the first."""
    values: dict[Any, Any] = {}
    for node in parts:
        for value in node.values if isinstance(node, Literals) else ():
            if not _is_of(value, others):
                values.setdefault(canonical(value), value)
    merged: list[Node] = []
    for node in parts:
        if not isinstance(node, Literals):
            merged.append(node)
        elif values:
            merged.append(Literals(tuple(values.values())))
            values = {}
    return merged


def _is_of(value: Any, others: Iterable[Node]) -> bool:
    """Whether a node that allows a whole type allows the value."""
    match kind_of(value):
        case "null":
            return Null() in others
        case "boolean":
            return Boolean() in others
        case "string":
            return Text() in others
        case "integer":
            return Number() in others or Number(integer=True) in others
        case "fraction":
            return Number() in others
        case _:
            return False
