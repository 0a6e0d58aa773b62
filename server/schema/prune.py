"""Take out of a lowered schema what can never be finished.

`{"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}` with `a` an object that requires itself becomes
`{"type": "null"}`: a mask over the rest would let the model open objects for ever.
"""

from collections.abc import Mapping
from typing import Any

from server.schema.scalars import Masked

_PREFIX = "#/$defs/"


def prune(root: Masked, definitions: Mapping[str, Masked]) -> tuple[Masked, dict[str, dict[str, Any]]]:
    """Return the root and the definitions that it needs, with only branches that have a finite value."""
    finite: set[str] = set()
    while True:
        found = {name for name, node in definitions.items() if name not in finite and _ends(node, finite)}
        if not found:
            break
        finite |= found
    kept: dict[str, dict[str, Any]] = {}
    pruned = _cut(root, finite)
    pending = _references(pruned)
    while pending:
        name = pending.pop()
        if name not in kept and (node := _cut(definitions[name], finite)) is not None:
            kept[name] = node
            pending += _references(node)
    return pruned, kept


def _ends(node: Masked, finite: set[str]) -> bool:
    """Whether some value of the node is finite, given the definitions that have one."""
    if node is None:
        return False
    if "$ref" in node:
        return node["$ref"].removeprefix(_PREFIX) in finite
    if "anyOf" in node:
        return any(_ends(option, finite) for option in node["anyOf"])
    least = node.get("minItems", 0)
    prefix = node.get("prefixItems", [])
    needed = [*prefix[:least], *([node["items"]] if least > len(prefix) else [])]
    properties = node.get("properties", {})
    needed += [properties[name] for name in node.get("required", ())]
    return all(_ends(child, finite) for child in needed)


def _cut(node: Masked, finite: set[str]) -> Masked:
    if node is None or not _ends(node, finite):
        return None
    if "anyOf" in node:
        options = [kept for option in node["anyOf"] if (kept := _cut(option, finite)) is not None]
        return options[0] if len(options) == 1 else {"anyOf": options}
    if node.get("type") == "array":
        return _cut_array(node, finite)
    if node.get("type") == "object":
        return _cut_object(node, finite)
    return node


def _cut_array(node: dict[str, Any], finite: set[str]) -> dict[str, Any]:
    node = dict(node)
    prefix = [_cut(item, finite) for item in node.pop("prefixItems", ())]
    rest = _cut(node["items"], finite) if isinstance(node["items"], dict) else None
    if None in prefix:
        prefix, rest = prefix[: prefix.index(None)], None
    if prefix:
        node["prefixItems"] = prefix
    node["items"] = rest if rest is not None else False
    if rest is None:
        node["maxItems"] = min(len(prefix), node.get("maxItems", len(prefix)))
    if node.get("maxItems") == 0:
        return {"type": "array", "items": {"type": "null"}, "maxItems": 0}
    return node


def _cut_object(node: dict[str, Any], finite: set[str]) -> dict[str, Any]:
    node = dict(node)
    for keyword in ("properties", "patternProperties"):
        if keyword in node:
            cut = {name: _cut(child, finite) for name, child in node[keyword].items()}
            node[keyword] = {name: child for name, child in cut.items() if child is not None}
    if isinstance(node.get("additionalProperties"), dict):
        rest = _cut(node["additionalProperties"], finite)
        node["additionalProperties"] = False if rest is None else rest
    if not node.get("patternProperties", True):
        del node["patternProperties"]
    return node


def _references(node: Masked) -> list[str]:
    names: list[str] = []
    pending: list[Any] = [node]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                names.append(reference.removeprefix(_PREFIX))
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return names
