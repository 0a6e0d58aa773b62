"""The mask: what XGrammar makes of our structural tags, and that the parser reads all they let through."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import xgrammar as xgr

from parsers.families.hermes import HERMES
from parsers.families.llama3_json import LLAMA3_JSON
from parsers.family import Family, MarkedFamily, write_call
from parsers.grammar import CallableTool, Format
from parsers.registry import FAMILIES
from parsers.syntax import Span
from server.schema.plan import Root, SchemaPlanner
from tests.parsers.walking import walker_of_characters

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "pattern": "^[a-z<>/_{}]{1,6}$"},
        "days": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["city"],
    "additionalProperties": False,
}
CLOCK = {
    "type": "object",
    "properties": {
        "utc": {"type": "boolean"},
        "zones": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["utc"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {"get_weather": WEATHER, "get_weather_at": WEATHER, "clock": CLOCK}
ANSWER = {
    "type": "object",
    "properties": {"n": {"enum": [1, 2]}},
    "required": ["n"],
    "additionalProperties": False,
}


def json_format(schema: dict[str, Any]) -> Format:
    return {"type": "json_schema", "json_schema": schema}


PLANNER = SchemaPlanner()


def tools_of(family: Family, schemas: Mapping[str, Any] = SCHEMAS) -> list[CallableTool]:
    """Strict tools with these schemas, as the server makes them for a family."""
    spelling = family.call.style.spelling
    return [
        CallableTool(name, PLANNER.plan(schema, closed=True, root=Root.OBJECT, spelling=spelling).format)
        for name, schema in schemas.items()
    ]


def compiled(
    family: Family,
    tools: Sequence[CallableTool] | None = None,
    *,
    at_least: int = 0,
    at_most: int = 3,
    answer: Format | None = None,
    opens_reasoning: bool = False,
) -> Any:
    tools = tools_of(family) if tools is None else tools
    tag = family.structural_tag(
        tools, at_least=at_least, at_most=at_most, answer=answer, opens_reasoning=opens_reasoning
    )
    return compiled_tag(json.dumps(tag))


@cache
def compiled_tag(tag: str) -> Any:
    return walker_of_characters().compile(tag)


def accepts(grammar: Any, text: str) -> bool:
    """Whether the mask lets the whole text through, and the answer end there."""
    matcher = xgr.GrammarMatcher(grammar)
    return bool(matcher.accept_string(text) and matcher.accept_token(walker_of_characters().end))


FREE = {"at_least": 0}
REQUIRED = {"at_least": 1}
ONE = {"at_least": 1, "at_most": 1}
TWO = {"at_least": 2, "at_most": 2}
EITHER: dict[str, Any] = {"at_least": 0, "answer": json_format(ANSWER)}
NO_TOOLS: dict[str, Any] = {"tools": ()}
NO_TOOLS_ANSWER: dict[str, Any] = {"tools": (), "answer": json_format(ANSWER)}
OPENED = {"at_least": 1, "opens_reasoning": True}
OPENED_FREE = {"at_least": 0, "opens_reasoning": True}

# In the forms C is a whole call, S the separator, R a whole reasoning span with what follows it,
# B, E and A the span's begin, end and what follows, M the call's begin marker, which is part of a text.
ACCEPTED = {
    "free: nothing": (FREE, ""),
    "free: text": (FREE, "Hello, <b>you</b> {\n"),
    "free: text that ends in half a marker": (FREE, "a <tool"),
    "free: a call": (FREE, "C"),
    "free: text, then a call": (FREE, "Okay.\nC"),
    "free: as many calls as allowed": (FREE, "Okay.\nCSCSC"),
    "free: half a marker, then a call": (FREE, "<C"),
    "free: reasoning, then text": (FREE, "RHello"),
    "free: reasoning, then calls": (FREE, "ROkay.CSC"),
    "required: one": (REQUIRED, "C"),
    "required: three": (REQUIRED, "CSCSC"),
    "required: reasoning first": (REQUIRED, "RCSC"),
    "one": (ONE, "C"),
    "two": (TWO, "CSC"),
    "either: the answer": (EITHER, '{"n": 1}'),
    "either: calls": (EITHER, "CSCSC"),
    "either: reasoning, then the answer": (EITHER, 'R{"n": 2}'),
    "either: reasoning, then a call": (EITHER, "RC"),
    "no tools: text with a call marker": (NO_TOOLS, "a M {}"),
    "no tools: the answer": (NO_TOOLS_ANSWER, '{"n": 1}'),
    "opened: reasoning, then a call": (OPENED, "Hm. <think\nEAC"),
    "opened: empty reasoning": (OPENED, "\nEAC"),
    "opened: reasoning, then text": (OPENED_FREE, "Hm.EAOkay."),
}
REFUSED = {
    "free: text behind a call": (FREE, "C."),
    "free: whitespace behind a call": (FREE, "C\n"),
    "free: a call too many": (FREE, "CSCSCSC"),
    "free: marker in text": (FREE, "the M tag"),
    "free: marker at the end": (FREE, "the M"),
    "free: reasoning in the middle": (FREE, "a R"),
    "free: reasoning that is not closed": (FREE, "Ba"),
    "free: two spans": (FREE, "RR"),
    "required: nothing": (REQUIRED, ""),
    "required: text first": (REQUIRED, "Okay.C"),
    "required: a call too many": (REQUIRED, "CSCSCSC"),
    "required: text behind": (REQUIRED, "C."),
    "required: reasoning only": (REQUIRED, "R"),
    "one: two": (ONE, "CSC"),
    "two: one": (TWO, "C"),
    "two: three": (TWO, "CSCSC"),
    "either: nothing": (EITHER, ""),
    "either: text": (EITHER, "Hello"),
    "either: both": (EITHER, '{"n": 1}C'),
    "either: a wrong answer": (EITHER, '{"n": 3}'),
    "no tools: a wrong answer": (NO_TOOLS_ANSWER, "[]"),
    "opened: no end": (OPENED, "Hm."),
    "opened: no reasoning": (OPENED, "C"),
    "opened: a call inside": (OPENED, "Hm. CEAC"),
    "opened: a marker inside": (OPENED, "Hm. M EAC"),
    "opened: end twice": (OPENED, "Hm.EEAC"),
}


PARTS = re.compile("C(?:SC)*|[SRBEA]|(?:[^CSRBEA]|\n)+")


def spelled(family: Family, wanted: dict[str, Any], form: str) -> str:
    """The text of a form in the family's own spelling. Text stands as such in a span, and behind calls."""
    span = family.reasoning
    spelling = {"S": family.call.separator}
    if span:
        spelling |= {"B": span.begin, "E": span.end, "A": span.after}
        spelling["R"] = f"{span.begin}\nHm.\n{span.end}{span.after}"
    parts = PARTS.findall(form)
    if not parts:
        return family.write_text("")
    written, bare = "", wanted.get("opens_reasoning", False)
    for place, part in enumerate(parts):
        if part[0] == "C":
            written += family.write_calls([("clock", {"utc": True})] * part.count("C"))
        elif part in spelling:
            written += spelling[part]
        else:
            text = part.replace("M", (*family.call.markers, "")[0])
            before_calls = "".join(parts[place + 1 :]).startswith("C")
            written += text if bare else family.write_text(text, before_calls=before_calls)
        bare = part[0] in "CB" or (bare and part != "E")
    return written


def can_write(family: Family, wanted: dict[str, Any], form: str) -> bool:
    """Whether the family has what the form is about: reasoning, or calls that text may precede."""
    if family.reasoning is None and (wanted.get("opens_reasoning") or set(form) & set("RBEA")):
        return False
    return bool(family.call.begin) or form not in ("Okay.\nC", "Okay.\nCSCSC", "<C")


by_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def by_form(forms: dict[str, tuple[dict[str, Any], str]]) -> pytest.MarkDecorator:
    cases = [
        pytest.param(family, wanted, form, id=f"{family.name}: {name}")
        for family in FAMILIES
        for name, (wanted, form) in forms.items()
        if can_write(family, wanted, form)
    ]
    return pytest.mark.parametrize(("family", "wanted", "form"), cases)


@by_form(ACCEPTED)
def test_mask_lets_through_what_is_wanted(family: Family, wanted: dict[str, Any], form: str) -> None:
    """An answer of the wanted shape, as the model was trained to write it, is never in the mask's way."""
    assert accepts(compiled(family, **wanted), spelled(family, wanted, form))


@by_form(REFUSED)
def test_mask_refuses_what_is_not_wanted(family: Family, wanted: dict[str, Any], form: str) -> None:
    """An answer of another shape cannot be written."""
    assert not accepts(compiled(family, **wanted), spelled(family, wanted, form))


ENVELOPED = [family for family in FAMILIES if isinstance(family, MarkedFamily) and family.envelopes]


@pytest.mark.parametrize("family", ENVELOPED, ids=lambda family: family.name)
@pytest.mark.parametrize("wanted", [EITHER, NO_TOOLS_ANSWER], ids=["either", "no tools"])
def test_mask_lets_the_answer_stand_in_its_envelope(family: MarkedFamily, wanted: dict[str, Any]) -> None:
    """A model that was trained to write something around its text is not kept from it, nor made to."""
    grammar = compiled(family, **wanted)

    assert accepts(grammar, '{"n": 1}')
    for envelope in family.envelopes:
        assert accepts(grammar, envelope.begin + '{"n": 1}' + envelope.end)
        assert not accepts(grammar, envelope.begin + '{"n": 3}' + envelope.end)


def test_text_cannot_begin_as_a_call_that_no_marker_announces() -> None:
    """Where a call is the whole answer, text that begins like one has to be one."""
    grammar = compiled(LLAMA3_JSON)

    assert accepts(grammar, "Use {braces}.")
    assert not accepts(grammar, '{"answer": 42}')
    assert not accepts(grammar, "Sure. " + write_call(LLAMA3_JSON, "unknown", {}) + " <|python_tag|>")


@pytest.mark.parametrize(
    ("tools", "text", "passes"),
    [
        (None, "<think>a</think>", True),
        (None, "a <tool_call>", False),
        ((), "<think> <tool_call>", True),
    ],
)
def test_family_that_does_not_reason_leaves_the_span_s_markers_alone(
    tools: Sequence[CallableTool] | None, text: str, passes: bool
) -> None:
    """Without a span in the record its markers are text, and nothing stands before the answer."""
    assert accepts(compiled(replace(HERMES, reasoning=None), tools), text) is passes


def test_span_may_end_in_its_marker() -> None:
    """Where the record names nothing that follows the span, the answer follows at once."""
    grammar = compiled(replace(HERMES, reasoning=Span("<think>", "</think>")), at_least=1)

    assert accepts(grammar, "<think>Hm.</think>" + write_call(HERMES, "clock", {"utc": True}))
    assert not accepts(grammar, "<think>Hm.</think>\n" + write_call(HERMES, "clock", {"utc": True}))


def test_calls_without_a_separator_stand_side_by_side() -> None:
    """The separator is the record's, and so is its absence."""
    family = replace(HERMES, call=replace(HERMES.call, separator=""))
    calls = [("clock", {"utc": True})] * 2

    assert accepts(compiled(family, at_least=2), family.write_calls(calls))
    assert not accepts(compiled(family, at_least=2), HERMES.write_calls(calls))


BAD_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "unknown tool": ("get_time", {"utc": True}),
    "name that only begins like a tool": ("get_weather_a", {"city": "a"}),
    "missing key": ("clock", {}),
    "another key": ("clock", {"utc": True, "x": 1}),
    "wrong type": ("clock", {"utc": "yes"}),
    "another tool's arguments": ("clock", {"city": "a"}),
    "out of bounds": ("get_weather", {"city": "a", "days": 10}),
}


@by_family
@pytest.mark.parametrize("at_least", [0, 1])
@pytest.mark.parametrize(("name", "arguments"), BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_mask_refuses_a_call_that_no_tool_takes(
    family: Family, at_least: int, name: str, arguments: dict[str, Any]
) -> None:
    """Name and arguments are those of one and the same tool, whether a call is required or free."""
    grammar = compiled(family, at_least=at_least)

    assert not accepts(grammar, write_call(family, name, arguments))
    assert accepts(grammar, write_call(family, "get_weather_at", {"city": "a", "days": 9}))


@by_family
def test_mask_lets_through_what_the_writer_writes(family: Family) -> None:
    """Any calls, written as the model was trained, are spelled as the mask wants them."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_weather", {"city": "</a>}"}),
        ("clock", {"utc": False, "zones": ["a", "b"]}),
        ("get_weather_at", {"city": "a", "days": 0}),
    ]

    assert accepts(compiled(family, at_least=3), family.write_calls(calls))


@by_family
def test_tag_does_not_grow_with_the_number_of_calls(family: Family) -> None:
    """Many calls of many tools are one rule, repeated: nothing is written out for each call."""
    few, many = (
        family.structural_tag(
            tools_of(family), at_least=0, at_most=at_most, answer=None, opens_reasoning=False
        )
        for at_most in (2, 128)
    )

    assert len(json.dumps(many)) <= len(json.dumps(few)) + 4
