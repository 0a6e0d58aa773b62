"""Qwen3-Coder, Qwen3.5 and later, Nemotron 3: arguments in tags.

<tool_call>
<function=get_weather>
<parameter=city>
Paris
</parameter>
<parameter=days>
2
</parameter>
</function>
</tool_call>
"""

from parsers.arguments.tagged import Tagged
from parsers.family import MarkedFamily
from parsers.syntax import CallInside, CallSyntax, Span

QWEN3_CODER = MarkedFamily(
    name="qwen3_coder",
    call=CallSyntax(
        "<tool_call>",
        "</tool_call>",
        Tagged(
            opening="<function=",
            name_end=">\n",
            closing="</function>",
            key_begin="<parameter=",
            key_end=">",
            edge="\n",
            value_end="</parameter>",
        ),
        lead="\n",
        trail="\n",
        separator="\n",
    ),
    reasoning=Span("<think>", "</think>", after="\n\n", call_inside=CallInside.AWAITS_END),
    signs=(
        (
            "<tool_call>",
            "<function=",
        ),
    ),
)
