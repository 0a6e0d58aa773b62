"""DeepSeek V3 and R1: a section of calls, each a name and a fenced JSON object.

Both at once.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
```json
{"city": "Paris"}
```<｜tool▁call▁end｜>
<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time
```json
{}
```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
"""

from parsers.arguments.named_json import NamedJson, PlainName
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

DEEPSEEK_V3 = MarkedFamily(
    name="deepseek_v3",
    call=CallSyntax(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        NamedJson(
            opening="<｜tool▁call▁begin｜>",
            header=PlainName("function<｜tool▁sep｜>"),
            between="\n",
            fence="```json\n",
            after="\n```",
            closing="<｜tool▁call▁end｜>",
        ),
        joint="\n",
    ),
    reasoning=Span("<think>", "</think>", after="\n\n"),
    signs=(
        (
            "<｜tool▁calls▁begin｜>",
            "```json",
        ),
    ),
)
