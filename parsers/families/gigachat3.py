"""GigaChat 3.1, GigaChat 3: JSON behind one marker, and nothing behind the JSON.

<|function_call|>{"name": "get_weather", "arguments": {"city": "Paris"}}

GigaChat 3 spells the marker as the head of a turn of its own.
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax

GIGACHAT3 = MarkedFamily(
    name="gigachat3",
    call=CallSyntax("<|function_call|>", "", JsonCall(), openers=("function call<|role_sep|>",)),
    signs=(
        (
            "<|function_call|>",
            "<|message_sep|>",
        ),
        (
            "function call",
            "<|role_sep|>",
        ),
    ),
)
