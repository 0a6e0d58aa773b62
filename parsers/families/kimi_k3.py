"""Kimi K3: a section of numbered calls, with arguments that say their types.

<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>
<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>
<|close|>call<|sep|><|close|>tools<|sep|>

(on one line).
"""

from parsers.arguments.xtml import Xtml
from parsers.family import MarkedFamily
from parsers.syntax import CallInside, CallSyntax, Span

KIMI_K3 = MarkedFamily(
    name="kimi_k3",
    call=CallSyntax("<|open|>tools<|sep|>", "<|close|>tools<|sep|>", Xtml(), joint=""),
    reasoning=Span("<|open|>think<|sep|>", "<|close|>think<|sep|>", call_inside=CallInside.ENDS_SPAN),
)
