"""DeepSeek V4 and V4 Flash: a section of calls with their arguments in tags that say which are text.

<｜DSML｜tool_calls>
<｜DSML｜invoke name="get_weather">
<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>
<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜tool_calls>
"""

from dataclasses import replace

from parsers.families.deepseek_v32 import DEEPSEEK_V32
from parsers.family import MarkedFamily
from parsers.syntax import CallInside, Span

DEEPSEEK_V4 = MarkedFamily(
    name="deepseek_v4",
    call=replace(DEEPSEEK_V32.call, begin="<｜DSML｜tool_calls>", end="</｜DSML｜tool_calls>"),
    reasoning=Span("<think>", "</think>", call_inside=CallInside.ENDS_SPAN),
    signs=(
        (
            "｜DSML｜",
            "tool_calls>",
        ),
    ),
)
