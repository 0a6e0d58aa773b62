"""Hunyuan 3: a section of calls with keys and values in tags, which all say `:opensource`.

<tool_calls:opensource>
<tool_call:opensource>get_weather<tool_sep:opensource>
<arg_key:opensource>city</arg_key:opensource>
<arg_value:opensource>Paris</arg_value:opensource>
</tool_call:opensource>
</tool_calls:opensource>
"""

from parsers.arguments.tagged import Tagged
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

HY3 = MarkedFamily(
    name="hy3",
    call=CallSyntax(
        "<tool_calls:opensource>",
        "</tool_calls:opensource>",
        Tagged(
            opening="<tool_call:opensource>",
            name_end="<tool_sep:opensource>\n",
            closing="</tool_call:opensource>",
            key_begin="<arg_key:opensource>",
            key_end="</arg_key:opensource>",
            value_begin="\n<arg_value:opensource>",
            value_end="</arg_value:opensource>",
        ),
        lead="\n",
        joint="\n",
        trail="\n",
    ),
    reasoning=Span("<think:opensource>", "</think:opensource>"),
    signs=(
        (
            "<tool_calls{}>",
            "<tool_sep{}>",
        ),
    ),
)
