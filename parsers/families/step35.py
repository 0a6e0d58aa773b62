"""Step 3.5: the calls of Qwen3-Coder, with nothing between two of them.

<tool_call>
<function=get_weather>
<parameter=city>
Paris
</parameter>
</function>
</tool_call><tool_call>
<function=get_time>
</function>
</tool_call>
"""

from dataclasses import replace

from parsers.families.qwen3_coder import QWEN3_CODER
from parsers.family import MarkedFamily

STEP35 = MarkedFamily(
    name="step35",
    call=replace(QWEN3_CODER.call, separator=""),
    reasoning=QWEN3_CODER.reasoning,
    signs=(("<tool_call>", "<function=", "<|im_start|>tool_response"),),
)
