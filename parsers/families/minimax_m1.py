"""MiniMax M1: JSON in one pair of tags, a call on each line.

<tool_calls>
{"name": "get_weather", "arguments": {"city": "Paris"}}
{"name": "get_time", "arguments": {}}
</tool_calls>
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

MINIMAX_M1 = MarkedFamily(
    name="minimax_m1",
    call=CallSyntax("<tool_calls>", "</tool_calls>", JsonCall(), lead="\n", joint="\n", trail="\n"),
    reasoning=Span("<think>", "</think>"),
    signs=(
        (
            "<tool_calls>",
            "<beginning_of_sentence>",
        ),
    ),
)
