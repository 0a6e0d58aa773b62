"""MiniMax M2: a section of calls with their arguments in tags.

<minimax:tool_call>
<invoke name="get_weather">
<parameter name="city">Paris</parameter>
</invoke>
<invoke name="get_time">
</invoke>
</minimax:tool_call>
"""

from parsers.arguments.tagged import Tagged
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

MINIMAX_M2 = MarkedFamily(
    name="minimax_m2",
    call=CallSyntax(
        "<minimax:tool_call>",
        "</minimax:tool_call>",
        Tagged(
            opening="<invoke name=",
            quote='"',
            name_end=">\n",
            closing="</invoke>",
            key_begin="<parameter name=",
            key_end=">",
            value_end="</parameter>",
        ),
        before="\n",
        lead="\n",
        joint="\n",
        trail="\n",
    ),
    reasoning=Span("<think>", "</think>", after="\n\n"),
    signs=(("<minimax:tool_call>",),),
)
