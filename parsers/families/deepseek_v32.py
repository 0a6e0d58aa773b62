"""DeepSeek V3.2: a section of calls with their arguments in tags that say which are text.

<｜DSML｜function_calls>
<｜DSML｜invoke name="get_weather">
<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>
<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜function_calls>
"""

from parsers.arguments.tagged import Tagged
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

DEEPSEEK_V32 = MarkedFamily(
    name="deepseek_v32",
    call=CallSyntax(
        "<｜DSML｜function_calls>",
        "</｜DSML｜function_calls>",
        Tagged(
            opening="<｜DSML｜invoke name=",
            quote='"',
            name_end=">\n",
            closing="</｜DSML｜invoke>",
            key_begin="<｜DSML｜parameter name=",
            flag=(' string="true"', ' string="false"'),
            key_end=">",
            value_end="</｜DSML｜parameter>",
        ),
        before="\n\n",
        lead="\n",
        joint="\n",
        trail="\n",
    ),
    reasoning=Span("<think>", "</think>"),
    signs=(
        (
            "｜DSML｜",
            "function_calls>",
        ),
    ),
)
