"""Kimi K2, K2 Thinking, K2.5: a section of calls whose headers are the calls' ids.

<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>
{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|>

(on one line). The number counts the calls of the whole conversation.
"""

from parsers.arguments.named_json import NamedJson, NumberedName
from parsers.call_ids import CallIdForm
from parsers.family import MarkedFamily
from parsers.syntax import CallInside, CallSyntax, Span

KIMI_K2 = MarkedFamily(
    name="kimi_k2",
    call=CallSyntax(
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        NamedJson(
            opening="<|tool_call_begin|>",
            header=NumberedName(),
            between="<|tool_call_argument_begin|>",
            closing="<|tool_call_end|>",
        ),
        joint="",
    ),
    reasoning=Span("<think>", "</think>", call_inside=CallInside.ENDS_SPAN),
    signs=(("<|tool_calls_section_begin|>",),),
    call_ids=CallIdForm.NUMBERED,
)
