"""Llama 3.1, 3.2 and 3.3: the call is the whole answer.

{"name": "get_weather", "parameters": {"city": "Paris"}}

The models were trained on one call; asked for more, they write them one after another.
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax

LLAMA3_JSON = MarkedFamily(
    name="llama3_json",
    call=CallSyntax(
        "",
        "",
        JsonCall(arguments="parameters", also=("arguments",)),
        separator="; ",
        openers=("<|python_tag|>",),
    ),
    signs=(
        (
            "<|start_header_id|>",
            '"parameters": ',
        ),
    ),
)
