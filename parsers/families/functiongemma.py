"""FunctionGemma: the calls of Gemma 4 in other tags.

<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:2}<end_function_call>
"""

from dataclasses import replace

from parsers.arguments.literal_call import LiteralCall
from parsers.families.gemma4 import GEMMA
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax

FUNCTIONGEMMA = MarkedFamily(
    name="functiongemma",
    call=CallSyntax(
        "<start_function_call>",
        "<end_function_call>",
        LiteralCall(replace(GEMMA, quote="<escape>"), prefix="call:", begin="{", end="}"),
    ),
    signs=(("<start_function_call>",),),
)
