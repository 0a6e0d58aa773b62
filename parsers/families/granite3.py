"""Granite 3: an array of calls behind one marker.

<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "get_time", "arguments": {}}]
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax

GRANITE3 = MarkedFamily(
    name="granite3",
    call=CallSyntax(
        "<|tool_call|>", "", JsonCall(), lead="[", joint=", ", trail="]", openers=("<tool_call>",)
    ),
    signs=(
        (
            "<|tool_call|>",
            "<|start_of_role|>",
        ),
    ),
)
