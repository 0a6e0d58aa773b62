r"""Calls as a family's models were trained to write them: the inverse of the parser.

write_calls(HERMES.call, [("f", {})])  ->  '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
"""

from collections.abc import Iterable, Mapping
from typing import Any

from parsers.arguments.style import Call
from parsers.syntax import CallSyntax


def write_calls(syntax: CallSyntax, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """The calls of one answer: see `parsers.family.Family.write_calls`."""
    written = [
        syntax.style.write(Call(name, arguments, number)) for number, (name, arguments) in enumerate(calls)
    ]
    if syntax.joint is not None:
        written = [syntax.joint.join(written)]
    blocks = [syntax.begin + syntax.lead + text + syntax.trail + syntax.end for text in written]
    return syntax.before + syntax.separator.join(blocks)
