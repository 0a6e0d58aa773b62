"""Calls of Kimi K3: the spellings that are read, and the mask of what a schema says."""

import json
from typing import Any

import pytest

from parsers.arguments.style import Call
from parsers.events import Reason
from parsers.families.kimi_k3 import KIMI_K3
from tests.parsers.reading import Answer, read
from tests.parsers.test_grammar import accepts, compiled, tools_of

OPEN, CLOSE, SEP = "<|open|>", "<|close|>", "<|sep|>"
TOOLS: dict[str, Any] = {
    "f": {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}},
    "g": {},
}
END = f"{CLOSE}argument{SEP}"


def argument(key: str, named: str, value: str) -> str:
    return f'{OPEN}argument key="{key}" type="{named}"{SEP}{value}{END}'


def call(body: str, head: str = ' tool="f" index="1"') -> str:
    return f"{OPEN}tools{SEP}{OPEN}call{head}{SEP}{body}{CLOSE}call{SEP}{CLOSE}tools{SEP}"


WELL_READ = {
    "attributes in another order": (call(argument("a", "string", "x"), ' index="1" tool="f"'), {"a": "x"}),
    "whitespace between tags": (call(f"\n{argument('a', 'string', 'x')}\n"), {"a": "x"}),
    "a key with escapes": (call(argument("&quot;&amp;", "string", "&quot;")), {'"&': "&quot;"}),
    "no type": (call(f'{OPEN}argument key="a"{SEP}7{END}'), {"a": "7"}),
    "no type, and no text": (call(f'{OPEN}argument key="n"{SEP}7{END}'), {"n": 7}),
    "a type that the schema does not want": (call(argument("a", "number", "7")), {"a": "7"}),
    "a value that is not of its type": (call(argument("n", "number", "about two")), {"n": "about two"}),
    "the end of a value within it": (call(argument("a", "string", f"x{END} y")), {"a": f"x{END} y"}),
    "an object": (call(f'{OPEN}json type="object"{SEP} {{"a": "x"}} {CLOSE}json{SEP}'), {"a": "x"}),
    "an object without its end": (call(f'{OPEN}json type="object"{SEP}{{"a": "x"}}'), {"a": "x"}),
    "no end": (f'{OPEN}tools{SEP}{OPEN}call tool="f" index="1"{SEP}{CLOSE}tools{SEP}', {}),
}


@pytest.mark.parametrize(("text", "arguments"), WELL_READ.values(), ids=WELL_READ.keys())
def test_tolerated_spelling_is_a_call(text: str, arguments: dict[str, Any]) -> None:
    """What can be understood in one way only is a call."""
    answer = read(text, TOOLS, family=KIMI_K3)

    assert [(name, json.loads(value)) for name, value in answer.calls] == [("f", arguments)]
    assert (answer.content, answer.malformed) == ("", [])


MALFORMED = {
    "no name": (call("", ' index="1"'), Reason.NO_NAME),
    "a name without end": (f'{OPEN}tools{SEP}{OPEN}call tool="{"f" * 300}', Reason.NO_NAME),
    "text for arguments": (call("x"), Reason.BAD_MARKUP),
    "a key without end": (call(f'{OPEN}argument key="{"a" * 300}'), Reason.BAD_MARKUP),
    "an array for arguments": (call(f'{OPEN}json type="object"{SEP}[]'), Reason.NOT_AN_OBJECT),
    "an object that is no JSON": (call(f'{OPEN}json type="object"{SEP}{{a}}'), Reason.BAD_JSON),
}


@pytest.mark.parametrize(("text", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_call_has_its_reason(text: str, reason: Reason) -> None:
    """Nothing is guessed, and nothing is lost."""
    answer = read(text, TOOLS, family=KIMI_K3)

    assert (answer.calls, answer.content) == ([], "")
    assert [malformed.reason for malformed in answer.malformed] == [reason]
    assert "".join(malformed.raw for malformed in answer.malformed) == text


def test_section_without_a_call_is_text() -> None:
    """What the model says about its tags is for the user."""
    text = f"{OPEN}tools{SEP} is a tag"

    assert read(text, TOOLS, family=KIMI_K3) == Answer(text)


def test_value_that_holds_its_end_cannot_be_written() -> None:
    """Nothing escapes it."""
    with pytest.raises(ValueError, match="'a' holds"):
        KIMI_K3.call.style.write(Call("f", {"a": END}))


STRING_OR_LIST = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}
HELD: dict[str, tuple[Any, list[tuple[str, str]], list[tuple[str, str]]]] = {
    "one type": ({"type": "boolean"}, [("boolean", "true")], [("boolean", "1"), ("string", "true")]),
    "several types": (
        {"type": ["string", "integer", "null"]},
        [("string", "x"), ("number", "2"), ("null", "null")],
        [("number", "2.5"), ("boolean", "true")],
    ),
    "a union": (STRING_OR_LIST, [("string", "x"), ("array", "[1]")], [("array", '["x"]'), ("null", "null")]),
    "choices": (
        {"enum": ["a", 1, None]},
        [("string", "a"), ("number", "1"), ("null", "null")],
        [("string", "b"), ("number", "2"), ("boolean", "true")],
    ),
    "a constant": ({"const": "a"}, [("string", "a")], [("string", "b")]),
    "bounds": ({"type": "integer", "maximum": 5}, [("number", "5")], [("number", "6")]),
    "anything": (True, [("string", "x"), ("number", "2.5"), ("object", '{"a": 1}')], [("number", "x")]),
    "a number": ({"type": "number"}, [("number", "2"), ("number", "2.5")], [("number", '"2"')]),
}


@pytest.mark.parametrize(("schema", "good", "bad"), HELD.values(), ids=HELD.keys())
def test_mask_holds_a_value_and_its_type_to_the_schema(
    schema: Any, good: list[tuple[str, str]], bad: list[tuple[str, str]]
) -> None:
    """The tag says the type of the value that stands in it, and both are what the tool takes."""
    whole = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    grammar = compiled(KIMI_K3, tools_of(KIMI_K3, {"f": whole}), at_least=1, at_most=1)
    before = KIMI_K3.call.before

    for named, value in good:
        assert accepts(grammar, before + call(argument("a", named, value))), (named, value)
    for named, value in bad:
        assert not accepts(grammar, before + call(argument("a", named, value))), (named, value)


def test_mask_lets_any_argument_pass_where_none_is_named() -> None:
    """A schema that says nothing holds nothing; one that closes the object allows no argument."""
    free, closed = (
        compiled(KIMI_K3, tools_of(KIMI_K3, {"f": schema}), at_least=1)
        for schema in ({"type": "object"}, {"type": "object", "additionalProperties": False})
    )
    text = KIMI_K3.call.before + call(argument("b", "array", "[1]") + argument("c", "string", "x"))

    assert accepts(free, text)
    assert not accepts(closed, text)
    assert accepts(closed, KIMI_K3.call.before + call(""))


def test_mask_of_a_union_of_itself_has_an_end() -> None:
    """A schema may refer to itself in every branch."""
    tree = {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}, {"type": "integer"}]}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": tree}}
    [tool] = tools_of(KIMI_K3, {"f": schema})

    assert len(json.dumps(tool.arguments)) < 10_000
