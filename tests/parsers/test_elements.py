"""Arguments in nested elements: how a schema tells what they are, and the mask of it."""

import json
from typing import Any

import pytest

from parsers.arguments.style import Call
from parsers.events import Reason
from parsers.families.minimax_m3 import MINIMAX_M3
from tests.parsers.reading import Answer, read
from tests.parsers.test_grammar import accepts, compiled, tools_of

MARK = "]<]minimax[>["
POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "name": {"type": "string"}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "n": {"type": "integer"},
        "u": {"type": ["string", "null"]},
        "any": {},
        "points": {"type": "array", "items": {"$ref": "#/$defs/point"}},
        "maybe": {"anyOf": [POINT, {"type": "null"}]},
        "words": {"type": "array", "items": {"type": "string"}},
        "list": {"type": "array"},
        "free": {"type": "object"},
        "typed": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "$defs": {"point": POINT},
}
TOOLS: dict[str, Any] = {"f": SCHEMA, "g": {}}


def element(key: str, *content: str) -> str:
    return f"{MARK}<{key}>{''.join(content)}{MARK}</{key}>"


def call(*content: str) -> str:
    return f'{MARK}<tool_call>\n{MARK}<invoke name="f">{"".join(content)}{MARK}</invoke>\n{MARK}</tool_call>'


def item(*content: str) -> str:
    return element("item", *content)


WELL_READ: dict[str, tuple[str, dict[str, Any]]] = {
    "text as it is": (element("a", " <b>&amp;\n"), {"a": " <b>&amp;\n"}),
    "a number": (element("n", " 2 "), {"n": 2}),
    "text for a number": (element("n", "about two"), {"n": "about two"}),
    "null or text": (element("u", "null"), {"u": None}),
    "text of no type": (element("any", "42"), {"any": "42"}),
    "elements of no type": (element("any", element("k", "42")), {"any": {"k": 42}}),
    "items of no type": (element("any", item("42"), item("x")), {"any": [42, "x"]}),
    "an array of objects": (
        element("points", item(element("x", "1"), element("name", "2")), item()),
        {"points": [{"x": 1, "name": "2"}, {}]},
    ),
    "an object that may be null": (element("maybe", element("x", "1")), {"maybe": {"x": 1}}),
    "no content where text cannot be": (element("maybe"), {"maybe": {}}),
    "items that are text": (element("words", item("1"), item("null")), {"words": ["1", "null"]}),
    "items by another name": (element("list", element("entry", "1")), {"list": [1]}),
    "an object with an item": (element("free", item("1")), {"free": {"item": 1}}),
    "members by their common type": (element("typed", element("k", "1")), {"typed": {"k": "1"}}),
    "whitespace between elements": (
        f"\n{element('list', ' ', item('1'), ' ', item('2'), ' ')}\n",
        {"list": [1, 2]},
    ),
    "the mark in text": (element("a", f"the {MARK} mark"), {"a": f"the {MARK} mark"}),
    "missing ends": (f"{MARK}<points>{MARK}<item>{MARK}<x>1{MARK}</points>", {"points": [{"x": 1}]}),
    "an end of nothing": (element("free", f"{MARK}<k>1{MARK}</other>"), {"free": {"k": 1}}),
}


@pytest.mark.parametrize(("text", "arguments"), WELL_READ.values(), ids=WELL_READ.keys())
def test_elements_are_read_by_the_schema(text: str, arguments: dict[str, Any]) -> None:
    """What an element holds is of a kind that the tool takes, wherever it can be."""
    answer = read(call(text), TOOLS, family=MINIMAX_M3)

    assert [(name, json.loads(value)) for name, value in answer.calls] == [("f", arguments)]
    assert (answer.content, answer.malformed) == ("", [])


MALFORMED = {
    "no name": (f"{MARK}<invoke name=>", Reason.NO_NAME),
    "a name without end": (f'{MARK}<invoke name="{"f" * 300}', Reason.NO_NAME),
    "text between arguments": (f'{MARK}<invoke name="f">x', Reason.BAD_MARKUP),
    "text beside elements": (f'{MARK}<invoke name="f">{MARK}<list>x{MARK}<item>1', Reason.BAD_MARKUP),
    "a tag without end": (f'{MARK}<invoke name="f">{MARK}<{"a" * 300}', Reason.BAD_MARKUP),
    "a mark without a tag": (f'{MARK}<invoke name="f">{MARK}x>', Reason.BAD_MARKUP),
    "a tag without a name": (f'{MARK}<invoke name="f">{MARK}<>', Reason.BAD_MARKUP),
    "elements without end": (f'{MARK}<invoke name="f">{MARK}<free>' + f"{MARK}<k>" * 600, Reason.BAD_MARKUP),
}


@pytest.mark.parametrize(("text", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_call_has_its_reason(text: str, reason: Reason) -> None:
    """Nothing is guessed, and the call behind it is not lost."""
    good = f'{MARK}<invoke name="g">{MARK}</invoke>'
    answer = read(f"{MARK}<tool_call>\n{text}\n{good}\n{MARK}</tool_call>", TOOLS, family=MINIMAX_M3)

    assert [malformed.reason for malformed in answer.malformed] == [reason]
    assert [name for name, _ in answer.calls] == ["g"]


def test_section_without_a_call_is_text() -> None:
    """What the model says about its tags is for the user."""
    text = f"{MARK}<tool_call> is a tag"

    assert read(text, TOOLS, family=MINIMAX_M3) == Answer(text)


@pytest.mark.parametrize(
    "arguments", [{"a": f"x{MARK}"}, {"o": {"a": "1"}}, {"o": {"a": []}}, {"o": [{"item": 1}]}, {"o": [{}]}]
)
def test_what_only_a_schema_could_tell_cannot_be_written(arguments: dict[str, Any]) -> None:
    """The writer knows none, so it writes nothing that would be read as something else without one."""
    with pytest.raises(ValueError, match="could not be told"):
        MINIMAX_M3.call.style.write(Call("f", arguments))


HELD: dict[str, tuple[Any, list[str], list[str]]] = {
    "text": ({"type": "string"}, ["", "x"], [f"x{MARK}"]),
    "choices": ({"enum": [1, None]}, ["1", "null"], ["2", ""]),
    "several types": ({"type": ["integer", "boolean", "null"]}, ["1", "true", "null"], ["x", "1.5"]),
    "a union": ({"anyOf": [POINT, {"type": "null"}]}, ["null", "", element("x", "1")], ["x"]),
    "an array with bounds": (
        {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        [item("1"), item("1") + item("2")],
        ["", item("x"), item("1") * 3, element("entry", "1")],
    ),
    "an array without items": ({"type": "array", "maxItems": 0}, [""], [item("1")]),
    "objects in an array": (
        {"type": "array", "items": POINT},
        [item(element("x", "1"), element("name", "2")), item()],
        [item(element("x", "a")), item(element("y", "1"))],
    ),
    "an object that says nothing": ({"type": "object"}, ["", element("k", "v")], ["x"]),
    "an object that is closed": (
        {"type": "object", "additionalProperties": False},
        [""],
        ["x", element("k", "v")],
    ),
}


@pytest.mark.parametrize(("schema", "good", "bad"), HELD.values(), ids=HELD.keys())
def test_mask_holds_elements_to_the_schema(schema: Any, good: list[str], bad: list[str]) -> None:
    """What the mask lets through is spelled as the reader needs it, and is what the tool takes."""
    whole = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    grammar = compiled(MINIMAX_M3, tools_of(MINIMAX_M3, {"f": whole}), at_least=1, at_most=1)

    for content in good:
        assert accepts(grammar, call(element("a", content))), content
    for content in bad:
        assert not accepts(grammar, call(element("a", content))), content
