"""xLAM 2: an array of calls, which is the whole answer.

[{"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "get_time", "arguments": {}}]
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax

XLAM = MarkedFamily(
    name="xlam",
    call=CallSyntax(
        "", "", JsonCall(), lead="[", joint=", ", trail="]", openers=("[TOOL_CALLS]", "<tool_call>")
    ),
    signs=(("make calls in a single JSON array",),),
)
