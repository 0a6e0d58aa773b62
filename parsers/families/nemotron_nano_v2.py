"""Nemotron Nano v2: an array of calls in tags.

<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</TOOLCALL>
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

NEMOTRON_NANO_V2 = MarkedFamily(
    name="nemotron_nano_v2",
    call=CallSyntax("<TOOLCALL>", "</TOOLCALL>", JsonCall(), lead="[", joint=", ", trail="]"),
    reasoning=Span("<think>", "</think>", after="\n\n"),
    signs=(("<TOOLCALL>",),),
)
