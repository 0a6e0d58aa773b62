"""xLAM 2: an array of calls, which is the whole answer.

[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "get_time", "arguments": {}}]
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import CallSyntax, Family

XLAM = Family(
    name="xlam",
    call=CallSyntax(
        "", "", JsonCall(), lead="[", joint=", ", trail="]", openers=("[TOOL_CALLS]", "<tool_call>")
    ),
)
