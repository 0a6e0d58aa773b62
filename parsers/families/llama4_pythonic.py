"""Llama 4, Llama 3.2 1B and 3B, ToolACE: a list of Python calls, which is the whole answer.

[get_weather(city='Paris', days=2), get_time()]
"""

from parsers.arguments.literal_call import Dialect, Keys, LiteralCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax

PYTHON = Dialect(
    quote="'",
    escapes=True,
    keys=Keys.QUOTED,
    equals="=",
    comma=", ",
    colon=": ",
    true="True",
    false="False",
    null="None",
)

LLAMA4_PYTHONIC = MarkedFamily(
    name="llama4_pythonic",
    call=CallSyntax(
        "",
        "",
        LiteralCall(PYTHON, begin="(", end=")"),
        lead="[",
        joint=", ",
        trail="]",
        openers=("<|python_start|>",),
    ),
    signs=(("<|python_start|>",),),
)
