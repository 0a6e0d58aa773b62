"""Step3: a section of calls with their arguments in tags.

<｜tool_calls_begin｜>
<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">
<steptml:parameter name="city">Paris</steptml:parameter>
</steptml:invoke><｜tool_call_end｜>
<｜tool_calls_end｜>
"""

from parsers.arguments.tagged import Tagged
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

STEP3 = MarkedFamily(
    name="step3",
    call=CallSyntax(
        "<｜tool_calls_begin｜>",
        "<｜tool_calls_end｜>",
        Tagged(
            opening="<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=",
            quote='"',
            name_end=">\n",
            closing="</steptml:invoke><｜tool_call_end｜>",
            key_begin="<steptml:parameter name=",
            key_end=">",
            value_end="</steptml:parameter>",
        ),
        lead="\n",
        joint="\n",
        trail="\n",
    ),
    reasoning=Span("<think>", "</think>"),
    signs=(("<｜tool_calls_begin｜>",),),
)
