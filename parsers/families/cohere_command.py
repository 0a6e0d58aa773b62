"""Cohere Command R7B and A, North: an array of numbered calls in tags.

<|START_THINKING|>Both at once.<|END_THINKING|><|START_ACTION|>[
    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}},
    {"tool_call_id": "1", "tool_name": "get_time", "parameters": {}}
]<|END_ACTION|>
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Envelope, Span

COHERE_COMMAND = MarkedFamily(
    name="cohere_command",
    call=CallSyntax(
        "<|START_ACTION|>",
        "<|END_ACTION|>",
        JsonCall(name="tool_name", arguments="parameters", also=("arguments",), number="tool_call_id"),
        lead="[\n    ",
        joint=",\n    ",
        trail="\n]",
    ),
    reasoning=Span("<|START_THINKING|>", "<|END_THINKING|>"),
    envelopes=(
        Envelope("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        Envelope("<|START_TEXT|>", "<|END_TEXT|>"),
    ),
    signs=(("<|START_ACTION|>",),),
)
