"""gpt-oss: messages on channels, of which those for a tool are calls.

<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>
"""

from parsers.arguments.named_json import NamedJson
from parsers.harmony import HarmonyFamily
from parsers.syntax import CallInside, CallSyntax, Span

_NEXT = "<|start|>assistant"

GPT_OSS = HarmonyFamily(
    name="gpt_oss",
    call=CallSyntax(
        "<|channel|>commentary to=functions.",
        "<|call|>",
        NamedJson(opening="", between=" <|constrain|>json<|message|>", closing=""),
        separator=_NEXT,
    ),
    reasoning=Span(
        "<|channel|>analysis<|message|>", "<|end|>", after=_NEXT, call_inside=CallInside.ENDS_SPAN
    ),
    preamble=Span("<|channel|>commentary<|message|>", "<|end|>", after=_NEXT),
    final="<|channel|>final<|message|>",
    signs=(("<|channel|>", "<|call|>"),),
)
