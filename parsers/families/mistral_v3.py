"""Mistral 7B v0.3, Nemo, Small 3, Large 2411: an array of calls behind one marker.

[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "get_time", "arguments": {}}]
"""

from parsers.arguments.json_call import JsonCall
from parsers.call_ids import CallIdForm
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax

MISTRAL_V3 = MarkedFamily(
    name="mistral_v3",
    call=CallSyntax("[TOOL_CALLS]", "", JsonCall(), lead="[", joint=", ", trail="]"),
    signs=(("[TOOL_CALLS]",),),
    call_ids=CallIdForm.NINE_LETTERS,
)
