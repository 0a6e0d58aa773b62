"""Reka Edge: the calls of Hermes, with nothing between two of them.

<tool_call>
{"name": "get_weather", "arguments": {"city": "Paris"}}
</tool_call><tool_call>
{"name": "get_time", "arguments": {}}
</tool_call>
"""

from dataclasses import replace

from parsers.families.hermes import HERMES
from parsers.family import MarkedFamily

REKA = MarkedFamily(
    name="reka",
    call=replace(HERMES.call, separator=""),
    reasoning=HERMES.reasoning,
    signs=(("<tool_call>", "<sep>"),),
)
