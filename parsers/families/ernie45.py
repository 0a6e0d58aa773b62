"""ERNIE 4.5 Thinking: the calls of Hermes, and text in tags.

<tool_call>
{"name": "get_weather", "arguments": {"city": "Paris"}}
</tool_call>
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Envelope, Span

ERNIE45 = MarkedFamily(
    name="ernie45",
    call=CallSyntax("<tool_call>", "</tool_call>", JsonCall(), lead="\n", trail="\n", separator="\n"),
    reasoning=Span("<think>", "</think>", after="\n\n\n"),
    envelopes=(Envelope("<response>\n", "\n</response>"),),
    signs=(
        (
            "<tool_call>",
            "<response>",
        ),
    ),
)
