r"""Calls as a family's models were trained to write them: the inverse of the parser.

write_calls(HERMES, [("f", {"a": 1})])  ->  '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
"""

from collections.abc import Iterable, Mapping
from typing import Any

from parsers.arguments.style import Call
from parsers.family import Family


def write_calls(family: Family, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """The calls of one answer, in order and with all markers.

    Raises ValueError for arguments that JSON or the family's style cannot hold.
    """
    syntax = family.call
    written = [
        syntax.style.write(Call(name, arguments, number)) for number, (name, arguments) in enumerate(calls)
    ]
    if syntax.joint is not None:
        written = [syntax.joint.join(written)]
    blocks = [syntax.begin + syntax.lead + text + syntax.trail + syntax.end for text in written]
    return syntax.before + syntax.separator.join(blocks)


def write_call(family: Family, name: str, arguments: Mapping[str, Any]) -> str:
    """An answer of one call."""
    return write_calls(family, [(name, arguments)])
