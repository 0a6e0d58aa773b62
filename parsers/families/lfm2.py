"""LFM2, LFM2.5: a list of Python calls in tags.

<|tool_call_start|>[get_weather(city='Paris'), get_time()]<|tool_call_end|>
"""

from parsers.arguments.literal_call import LiteralCall
from parsers.families.llama4_pythonic import PYTHON
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

LFM2 = MarkedFamily(
    name="lfm2",
    call=CallSyntax(
        "<|tool_call_start|>",
        "<|tool_call_end|>",
        LiteralCall(PYTHON, begin="(", end=")"),
        lead="[",
        joint=", ",
        trail="]",
    ),
    reasoning=Span("<think>", "</think>"),
    signs=(
        ("<|tool_call_start|>",),
        ("<|tool_list_start|>",),
        ("List of tools: [",),
    ),
)
