"""Olmo 3: Python calls in one pair of tags, a call on each line, with JSON's values.

<function_calls>get_weather(city="Paris", days=2)
get_time()</function_calls>
"""

from dataclasses import replace

from parsers.arguments.literal_call import LiteralCall
from parsers.families.llama4_pythonic import PYTHON
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

OLMO3 = MarkedFamily(
    name="olmo3",
    call=CallSyntax(
        "<function_calls>",
        "</function_calls>",
        LiteralCall(replace(PYTHON, quote='"', true="true", false="false", null="null"), begin="(", end=")"),
        joint="\n",
    ),
    reasoning=Span("<think>", "</think>"),
    signs=(
        (
            "<function_calls>",
            "</function_calls>",
        ),
    ),
)
