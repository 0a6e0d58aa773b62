"""Seed-OSS: arguments in tags, as Qwen3-Coder's, but on one line each.

<seed:tool_call>
<function=get_weather>
<parameter=city>Paris</parameter>
</function>
</seed:tool_call>
"""

from parsers.arguments.tagged import Tagged
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

SEED_OSS = MarkedFamily(
    name="seed_oss",
    call=CallSyntax(
        "<seed:tool_call>",
        "</seed:tool_call>",
        Tagged(
            opening="<function=",
            name_end=">\n",
            closing="</function>",
            key_begin="<parameter=",
            key_end=">",
            value_end="</parameter>",
        ),
        lead="\n",
        trail="\n",
        separator="\n",
    ),
    reasoning=Span("<seed:think>", "</seed:think>"),
    signs=(("<seed:tool_call>",),),
)
