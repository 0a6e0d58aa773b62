"""Kimi K3: a section of numbered calls, with arguments that say their types.

<|open|>response<|sep|>Looking.<|close|>response<|sep|>
<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>
<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>
<|close|>call<|sep|><|close|>tools<|sep|>

(on one line). Without text the response is empty, but it is there.
"""

from parsers.arguments.xtml import Xtml
from parsers.family import MarkedFamily
from parsers.syntax import CallInside, CallSyntax, Envelope, Span

RESPONSE = Envelope("<|open|>response<|sep|>", "<|close|>response<|sep|>")

KIMI_K3 = MarkedFamily(
    name="kimi_k3",
    call=CallSyntax(
        "<|open|>tools<|sep|>",
        "<|close|>tools<|sep|>",
        Xtml(),
        joint="",
        before=RESPONSE.begin + RESPONSE.end,
    ),
    reasoning=Span("<|open|>think<|sep|>", "<|close|>think<|sep|>", call_inside=CallInside.ENDS_SPAN),
    envelopes=(RESPONSE, Envelope("", "<|close|>message<|sep|>")),
    signs=(
        (
            "<|open|>",
            "<|close|>",
            "<|sep|>",
        ),
    ),
)
