r"""Calls as a family's models were trained to write them: the inverse of the parser.

write_call(HERMES, "f", {"a": 1})  ->  '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
"""

from collections.abc import Iterable, Mapping
from typing import Any

from parsers.family import Family


def write_call(family: Family, name: str, arguments: Mapping[str, Any]) -> str:
    """One call, markers included. Raises ValueError for arguments that JSON cannot hold."""
    before, after = family.call.frame(name)
    return before + family.call.style.write(arguments) + after


def write_calls(family: Family, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Several calls of one answer, in order."""
    return family.call.separator.join(write_call(family, name, arguments) for name, arguments in calls)
