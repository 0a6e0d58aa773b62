"""The values that stand as JSON within calls that are not: each under our own plan of its schema.

planned({"type": "tag", "begin": "<n>", "content": {"type": "json_schema", "json_schema": …}, …}, planner)
# {"type": "tag", "begin": "<n>", "content": {"type": "grammar", "grammar": "root ::= …"}, …}
"""

from collections.abc import Mapping
from typing import Any

from parsers.formats import Format
from server.schema.plan import SchemaPlanner


def planned(answer_format: Format, planner: SchemaPlanner, *, kept: Format | None = None) -> Format:
    """The format with a plan's format in place of every JSON Schema in it, but for those in `kept`.

    XGrammar would make grammars of them itself, and hold less. Raises `SchemaError`.
    """

    def rewritten(node: Any) -> Any:
        if node is kept:
            return node
        if isinstance(node, list):
            return [rewritten(item) for item in node]
        if not isinstance(node, Mapping):
            return node
        if node.keys() == {"type", "json_schema"}:
            return planner.plan(node["json_schema"], closed=True).format
        return {key: rewritten(value) for key, value in node.items()}

    result: Format = rewritten(answer_format)
    return result
