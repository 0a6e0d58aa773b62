"""Apertus: an array of calls in tags, each an object whose key is the tool.

<|tools_prefix|>[{"get_weather": {"city": "Paris"}}, {"get_time": {}}]<|tools_suffix|>
"""

from parsers.arguments.keyed_json import KeyedJson
from parsers.family import MarkedFamily
from parsers.syntax import CallInside, CallSyntax, Span

APERTUS = MarkedFamily(
    name="apertus",
    call=CallSyntax("<|tools_prefix|>", "<|tools_suffix|>", KeyedJson(), lead="[", joint=", ", trail="]"),
    reasoning=Span("<|inner_prefix|>", "<|inner_suffix|>", call_inside=CallInside.ENDS_SPAN),
    signs=(("<|tools_prefix|>",),),
)
