"""Phi-4-mini: an array of calls behind one word.

functools[{"name": "get_weather", "arguments": {"city": "Paris"}}]
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax

PHI4_MINI = MarkedFamily(
    name="phi4_mini",
    call=CallSyntax("functools[", "", JsonCall(), joint=", ", trail="]"),
    signs=(
        ("functools[",),
        (
            "<|tool|>",
            "<|/tool|>",
        ),
    ),
)
