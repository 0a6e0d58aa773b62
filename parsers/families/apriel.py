"""Apriel 1.5 and 1.6 Thinker: an array of calls in tags, and thoughts between two sentences.

Here are my reasoning steps:
Look outside.
[BEGIN FINAL RESPONSE]
<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</tool_calls>
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Envelope, Span

APRIEL = MarkedFamily(
    name="apriel",
    call=CallSyntax("<tool_calls>", "</tool_calls>", JsonCall(), lead="[", joint=", ", trail="]"),
    reasoning=Span("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]", after="\n"),
    envelopes=(Envelope("", "[END FINAL RESPONSE]"),),
    signs=(
        (
            "<tool_calls>[",
            "[BEGIN FINAL RESPONSE]",
        ),
    ),
)
