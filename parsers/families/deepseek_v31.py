"""DeepSeek V3.1: a section of calls, each a name and a JSON object.

<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜>
<｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>

(on one line: nothing stands between two calls).
"""

from parsers.arguments.named_json import NamedJson
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

DEEPSEEK_V31 = MarkedFamily(
    name="deepseek_v31",
    call=CallSyntax(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        NamedJson(opening="<｜tool▁call▁begin｜>", between="<｜tool▁sep｜>", closing="<｜tool▁call▁end｜>"),
        joint="",
    ),
    reasoning=Span("<think>", "</think>"),
    signs=(("<｜tool▁calls▁begin｜>",),),
)
