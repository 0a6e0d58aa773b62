"""Models without a form of their own: the calls of Hermes, of which the prompt tells them.

<tool_call>
{"name": "get_weather", "arguments": {"city": "Paris"}}
</tool_call>

Of all forms it is the one that most models have read, whoever trained them.
"""

from parsers.families.hermes import HERMES
from parsers.family import MarkedFamily

GENERIC = MarkedFamily(name="generic", call=HERMES.call, reasoning=HERMES.reasoning)
