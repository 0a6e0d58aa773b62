"""Mistral Small 3.2, Magistral 2506: a name and a JSON object behind each marker, perhaps with an id.

Both at once.[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]get_time[CALL_ID]a1B2c3D4e[ARGS]{}
"""

from parsers.arguments.named_json import NamedJson, PlainName
from parsers.call_ids import CallIdForm
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

MISTRAL_V11 = MarkedFamily(
    name="mistral_v11",
    call=CallSyntax(
        "[TOOL_CALLS]",
        "",
        NamedJson(opening="", between="[ARGS]", closing="", header=PlainName(id_marker="[CALL_ID]")),
    ),
    reasoning=Span("<think>", "</think>"),
    signs=(
        (
            "[TOOL_CALLS]",
            "[CALL_ID]",
            "[ARGS]",
        ),
    ),
    call_ids=CallIdForm.NINE_LETTERS,
)
