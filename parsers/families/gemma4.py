"""Gemma 4: a call in tags, with text in quotes of its own.

<|channel>thought
Both at once.
<channel|><|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:2}<tool_call|><|tool_call>call:get_time{}<tool_call|>
"""

from parsers.arguments.literal_call import Dialect, Keys, LiteralCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

GEMMA = Dialect(
    quote='<|"|>',
    escapes=False,
    keys=Keys.BARE_AND_SORTED,
    equals=":",
    comma=",",
    colon=":",
    true="true",
    false="false",
    null="null",
)

GEMMA4 = MarkedFamily(
    name="gemma4",
    call=CallSyntax(
        "<|tool_call>",
        "<tool_call|>",
        LiteralCall(GEMMA, prefix="call:", begin="{", end="}"),
    ),
    reasoning=Span("<|channel>thought\n", "<channel|>"),
    signs=(("<|tool_call>",),),
)
