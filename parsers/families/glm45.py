"""GLM 4.5 and 4.6: keys and values in tags, one on each line.

<tool_call>get_weather
<arg_key>city</arg_key>
<arg_value>Paris</arg_value>
</tool_call>
"""

from parsers.arguments.tagged import Tagged
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

GLM45 = MarkedFamily(
    name="glm45",
    call=CallSyntax(
        "<tool_call>",
        "",
        Tagged(
            opening="",
            name_end="\n",
            closing="</tool_call>",
            key_begin="<arg_key>",
            key_end="</arg_key>",
            value_begin="\n<arg_value>",
            value_end="</arg_value>",
        ),
        before="\n",
        separator="\n",
    ),
    reasoning=Span("<think>", "</think>", after="\n"),
    signs=(
        (
            "<tool_call>",
            "<arg_key>",
        ),
    ),
)
