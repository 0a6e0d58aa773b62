"""Granite 4: the calls of Hermes, and no reasoning.

<tool_call>
{"name": "get_weather", "arguments": {"city": "Paris"}}
</tool_call>
"""

from parsers.families.hermes import HERMES
from parsers.family import MarkedFamily

GRANITE4 = MarkedFamily(
    name="granite4",
    call=HERMES.call,
    signs=(
        (
            "<tool_call>",
            "<|start_of_role|>",
        ),
    ),
)
