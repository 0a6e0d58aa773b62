"""Phi-4-mini: an array of calls behind one word.

functools[{"name": "get_weather", "arguments": {"city": "Paris"}}]
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import CallSyntax, Family

PHI4_MINI = Family(name="phi4_mini", call=CallSyntax("functools[", "", JsonCall(), joint=", ", trail="]"))
