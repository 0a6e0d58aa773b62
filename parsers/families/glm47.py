"""GLM 4.7 and 5: keys and values in tags, on one line.

<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>
"""

from parsers.arguments.tagged import Tagged
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

GLM47 = MarkedFamily(
    name="glm47",
    call=CallSyntax(
        "<tool_call>",
        "",
        Tagged(
            opening="",
            name_end="",
            closing="</tool_call>",
            key_begin="<arg_key>",
            key_end="</arg_key>",
            value_begin="<arg_value>",
            value_end="</arg_value>",
            gap="",
        ),
    ),
    reasoning=Span("<think>", "</think>"),
    signs=(
        (
            "<tool_call>",
            "</arg_key><arg_value>",
        ),
        (
            "<tool_call>",
            '"</arg_key>" -}}',
        ),
    ),
)
