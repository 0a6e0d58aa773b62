"""Hermes 2 Pro, Hermes 3, Qwen2.5, Qwen3: JSON in tags.

An answer that thinks and then calls twice, as the models were trained to write it:

    <think>
    Both at once.
    </think>

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    </tool_call>
    <tool_call>
    {"name": "get_time", "arguments": {}}
    </tool_call>
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallInside, CallSyntax, Span

HERMES = MarkedFamily(
    name="hermes",
    call=CallSyntax("<tool_call>", "</tool_call>", JsonCall(), lead="\n", trail="\n", separator="\n"),
    reasoning=Span("<think>", "</think>", after="\n\n", call_inside=CallInside.AWAITS_END),
    signs=(("<tool_call>",),),
)
