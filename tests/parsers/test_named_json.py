"""Calls that name the tool in front of their JSON: ids, what may be missing, and what is no call."""

import pytest

from parsers.events import CallBegin, Malformed, Reason
from parsers.families.deepseek_v3 import DEEPSEEK_V3
from parsers.families.kimi_k2 import KIMI_K2
from parsers.families.mistral_v11 import MISTRAL_V11
from parsers.families.mistral_v13 import MISTRAL_V13
from parsers.family import Family
from tests.parsers.reading import Answer, events_of, read

V3 = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>%s<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
KIMI = "<|tool_call_begin|>%s<|tool_call_end|>"
SECTION = f"<|tool_calls_section_begin|>{KIMI}<|tool_calls_section_end|>"

WELL_READ = {
    "fence before the name": (MISTRAL_V13, '[TOOL_CALLS] ``` f[ARGS]{"a": 1}'),
    "space before the arguments": (MISTRAL_V13, '[TOOL_CALLS] f [ARGS] {"a": 1}'),
    "no marker before the arguments": (MISTRAL_V13, '[TOOL_CALLS]f{"a": 1}'),
    "an id": (MISTRAL_V11, '[TOOL_CALLS]f[CALL_ID]x1[ARGS]{"a": 1}'),
    "no word before the name": (DEEPSEEK_V3, V3 % 'f\n```json\n{"a": 1}\n```'),
    "no fence": (DEEPSEEK_V3, V3 % 'function<｜tool▁sep｜>f\n{"a": 1}'),
    "no newline before the fence": (DEEPSEEK_V3, V3 % 'function<｜tool▁sep｜>f ```json\n{"a": 1}'),
    "no section": (KIMI_K2, KIMI % 'functions.f:0<|tool_call_argument_begin|>{"a": 1}'),
    "no number": (KIMI_K2, SECTION % 'functions.f <|tool_call_argument_begin|> {"a": 1} '),
}


@pytest.mark.parametrize(("family", "text"), WELL_READ.values(), ids=WELL_READ.keys())
def test_tolerated_header_is_a_call(family: Family, text: str) -> None:
    """What can be understood in one way only is a call."""
    answer = read(text, family=family)

    assert answer.calls == [("f", '{"a": 1}')]
    assert answer.malformed == []


def test_id_that_the_model_wrote_is_told() -> None:
    """Clients give the result under the id that the model knows."""
    mistral = events_of("[TOOL_CALLS]f[CALL_ID]q1W2e3R4t[ARGS]{}", family=MISTRAL_V11)
    kimi = events_of(SECTION % "functions.f:7<|tool_call_argument_begin|>{}", family=KIMI_K2)

    assert mistral[0] == CallBegin(0, "f", "q1W2e3R4t")
    assert kimi[0] == CallBegin(0, "f", "functions.f:7")


@pytest.mark.parametrize("text", ["[TOOL_CALLS] is a tag", "[TOOL_CALLS][ARGS]", "[TOOL_CALLS]" + "f" * 300])
def test_marker_that_no_name_follows_is_text(text: str) -> None:
    """Names hold no whitespace and no brackets, and end."""
    assert read(text, family=MISTRAL_V13) == Answer(text)


MALFORMED = {
    "array": (SECTION % "functions.f:0<|tool_call_argument_begin|>[1]", Reason.NOT_AN_OBJECT),
    "text": (SECTION % "functions.f:0<|tool_call_argument_begin|>x", Reason.BAD_JSON),
    "broken JSON": (SECTION % 'functions.f:0<|tool_call_argument_begin|>{"a": x}', Reason.BAD_JSON),
    "no name": (SECTION % "functions.:0<|tool_call_argument_begin|>{}", Reason.NO_NAME),
    "words for a name": (SECTION % "some words {}", Reason.NO_NAME),
}


@pytest.mark.parametrize(("text", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_broken_header_or_arguments_are_malformed(text: str, reason: Reason) -> None:
    """The call has a marker of its own, so it is one that cannot be read; the next one can."""
    good = KIMI % "functions.g:1<|tool_call_argument_begin|>{}"
    events = events_of(text.replace("<|tool_calls_section_end|>", good), family=KIMI_K2)

    assert read(text + good, family=KIMI_K2).calls == [("g", "{}")]
    assert [event.reason for event in events if isinstance(event, Malformed)] == [reason]
