"""Hunyuan A13B, Jamba: an array of calls in tags.

<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</tool_calls>
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

HUNYUAN_A13B = MarkedFamily(
    name="hunyuan_a13b",
    call=CallSyntax("<tool_calls>", "</tool_calls>", JsonCall(), lead="[", joint=", ", trail="]"),
    reasoning=Span("<think>", "</think>"),
    signs=(("<tool_calls>[",),),
)
