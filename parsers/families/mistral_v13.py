"""Devstral 2507, Magistral 2507, Ministral 3, Small 4: a name and a JSON object behind each marker.

[THINK]Both at once.[/THINK][TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]get_time[ARGS]{}
"""

from parsers.arguments.named_json import NamedJson
from parsers.call_ids import CallIdForm
from parsers.family import MarkedFamily
from parsers.syntax import CallSyntax, Span

MISTRAL_V13 = MarkedFamily(
    name="mistral_v13",
    call=CallSyntax("[TOOL_CALLS]", "", NamedJson(opening="", between="[ARGS]", closing="")),
    reasoning=Span("[THINK]", "[/THINK]"),
    signs=(
        (
            "[TOOL_CALLS]",
            "[ARGS]",
        ),
    ),
    call_ids=CallIdForm.NINE_LETTERS,
)
