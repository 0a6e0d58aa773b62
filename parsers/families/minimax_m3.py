"""MiniMax M3: a section of calls with their arguments in nested elements, each tag behind a mark.

]<]minimax[>[<tool_call>
]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>]<]minimax[>[</invoke>
]<]minimax[>[</tool_call>

An answer without thoughts may begin with the end of them.
"""

from parsers.arguments.elements import Elements
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Envelope, Span

MINIMAX_M3 = MarkedFamily(
    name="minimax_m3",
    call=CallSyntax(
        "]<]minimax[>[<tool_call>",
        "]<]minimax[>[</tool_call>",
        Elements("]<]minimax[>["),
        lead="\n",
        joint="\n",
        trail="\n",
    ),
    reasoning=Span("<mm:think>", "</mm:think>"),
    envelopes=(Envelope("</mm:think>", ""),),
    signs=(("]<]minimax[>[",),),
)
