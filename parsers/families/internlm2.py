"""InternLM2, Intern-S1: JSON in tags of two tokens.

<|action_start|><|plugin|>
{"name": "get_weather", "parameters": {"city": "Paris"}}<|action_end|>
"""

from parsers.arguments.json_call import JsonCall
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

INTERNLM2 = MarkedFamily(
    name="internlm2",
    call=CallSyntax(
        "<|action_start|><|plugin|>",
        "<|action_end|>",
        JsonCall(arguments="parameters", also=("arguments",)),
        lead="\n",
        openers=("<|action_start|> <|plugin|>",),
    ),
    reasoning=Span("<think>", "</think>"),
    signs=(
        (
            "<|action_start|>",
            "<|plugin|>",
        ),
    ),
)
