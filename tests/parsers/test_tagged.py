"""Arguments in tags: the spellings that models are known for, and the mask of what a schema says."""

import json
from typing import Any

import pytest

from parsers.arguments.style import Call
from parsers.events import Content, Malformed, Reason
from parsers.families.deepseek_v32 import DEEPSEEK_V32
from parsers.families.glm45 import GLM45
from parsers.families.glm47 import GLM47
from parsers.families.kimi_k3 import KIMI_K3
from parsers.families.minimax_m2 import MINIMAX_M2
from parsers.families.qwen3_coder import QWEN3_CODER
from parsers.family import Family, write_call
from server.schema.document import SchemaError
from tests.parsers.reading import Answer, events_of, read
from tests.parsers.test_grammar import accepts, compiled, tools_of

TOOLS: dict[str, Any] = {
    "f": {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "n": {"type": "integer"},
            "o": {"type": "object"},
            "u": {"type": ["string", "null"]},
        },
    },
    "g": {},
}


def qwen(body: str) -> str:
    return f"<tool_call>\n<function=f>\n{body}</function>\n</tool_call>"


def dsml(body: str) -> str:
    block = f'<function_calls>\n<invoke name="f">\n{body}</invoke>\n</function_calls>'
    return block.replace("</", "\0").replace("<", "<｜DSML｜").replace("\0", "</｜DSML｜")


WELL_READ: dict[str, tuple[Family, str, dict[str, Any]]] = {
    "markup of another level in a value": (
        QWEN3_CODER,
        qwen("<parameter=a>\n</function>\n</tool_call> <tool_call>\n</parameter>\n"),
        {"a": "</function>\n</tool_call> <tool_call>"},
    ),
    "unknown argument in a value": (
        QWEN3_CODER,
        qwen("<parameter=a>\nx\n<parameter=foo>\ny\n</parameter>\n"),
        {"a": "x\n<parameter=foo>\ny"},
    ),
    "no argument at all in a value": (
        QWEN3_CODER,
        qwen(f"<parameter=a>\nx\n<parameter={'y' * 300}\n</parameter>\n"),
        {"a": f"x\n<parameter={'y' * 300}"},
    ),
    "end of a value within it": (
        QWEN3_CODER,
        qwen("<parameter=a>\nx</parameter> y\n</parameter>\n"),
        {"a": "x</parameter> y"},
    ),
    "end of a value missing": (
        QWEN3_CODER,
        qwen("<parameter=a>\nx\n<parameter=n>\n2\n</parameter>\n"),
        {"a": "x", "n": 2},
    ),
    "end of the call missing": (
        QWEN3_CODER,
        "<tool_call><function=f><parameter=a>\nx\n</parameter>\n</tool_call>",
        {"a": "x"},
    ),
    "begin of the block missing": (
        QWEN3_CODER,
        "<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>",
        {"a": "x"},
    ),
    "end of the name's tag missing": (QWEN3_CODER, "<tool_call><function=f\n</function></tool_call>", {}),
    "empty value": (QWEN3_CODER, qwen("<parameter=a>\n\n</parameter>\n"), {"a": ""}),
    "null where it may be": (QWEN3_CODER, qwen("<parameter=u>\nNone\n</parameter>\n"), {"u": None}),
    "number that is none": (QWEN3_CODER, qwen("<parameter=n>\ntwo\n</parameter>\n"), {"n": "two"}),
    "Python's spelling": (
        QWEN3_CODER,
        qwen("<parameter=o>\n{'k': True}\n</parameter>\n"),
        {"o": {"k": True}},
    ),
    "argument without a schema": (QWEN3_CODER, qwen("<parameter=z>\n1\n</parameter>\n"), {"z": "1"}),
    "call in JSON": (
        QWEN3_CODER,
        '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>',
        {"a": "x"},
    ),
    "arguments in JSON": (DEEPSEEK_V32, dsml('{"a": "x"}\n'), {"a": "x"}),
    "arguments in JSON, the end missing": (
        DEEPSEEK_V32,
        dsml('{"a": "x"}').replace("</｜DSML｜invoke>", ""),
        {"a": "x"},
    ),
    "text by its tag": (
        DEEPSEEK_V32,
        dsml('<parameter name="z" string="true"> 1 </parameter>'),
        {"z": " 1 "},
    ),
    "JSON by its tag": (DEEPSEEK_V32, dsml('<parameter name="z" string="false">[1]</parameter>'), {"z": [1]}),
    "JSON by its tag, but text by the schema": (
        DEEPSEEK_V32,
        dsml('<parameter name="a" string="false">12</parameter>'),
        {"a": "12"},
    ),
    "neither by its tag": (DEEPSEEK_V32, dsml('<parameter name="z">12</parameter>'), {"z": 12}),
    "call that closes itself": (
        DEEPSEEK_V32,
        '<｜DSML｜function_calls><｜DSML｜invoke name="f"/></｜DSML｜function_calls>',
        {},
    ),
    "other quotes, and none": (
        MINIMAX_M2,
        "<minimax:tool_call><invoke name='f'><parameter name=n>1</parameter></invoke></minimax:tool_call>",
        {"n": 1},
    ),
    "no arguments": (GLM47, "<tool_call>f</tool_call>", {}),
    "newlines between tags": (
        GLM47,
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
        {"a": "x"},
    ),
}


@pytest.mark.parametrize(("family", "text", "arguments"), WELL_READ.values(), ids=WELL_READ.keys())
def test_tolerated_spelling_of_tags_is_a_call(family: Family, text: str, arguments: dict[str, Any]) -> None:
    """What can be understood in one way only is a call, however it is cut, and nothing else is said."""
    answer = read("Sure.\n" + text, TOOLS, family=family)

    assert [(name, json.loads(said)) for name, said in answer.calls] == [("f", arguments)]
    assert (answer.content.removesuffix("\n</tool_call>"), answer.malformed) == ("Sure.", [])


MALFORMED = {
    "words between the tags": (QWEN3_CODER, qwen("words\n"), Reason.BAD_MARKUP),
    "no name": (QWEN3_CODER, "<tool_call><function=>\n</function></tool_call>", Reason.NO_NAME),
    "name without end": (QWEN3_CODER, f"<tool_call><function={'f' * 300}</tool_call>", Reason.NO_NAME),
    "key without end": (QWEN3_CODER, qwen(f"<parameter={'a' * 300}"), Reason.BAD_MARKUP),
    "broken JSON": (DEEPSEEK_V32, dsml('{"a": x}'), Reason.BAD_JSON),
}


@pytest.mark.parametrize(("family", "text", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_broken_tags_are_malformed(family: Family, text: str, reason: Reason) -> None:
    """A call that cannot be read on is told with its reason, and its text is not lost."""
    events = events_of(text, TOOLS, family=family)
    (malformed,) = [event for event in events if isinstance(event, Malformed)]
    said = [event.text for event in events if isinstance(event, Content)]

    assert malformed.reason is reason
    assert "".join([malformed.raw, *said]) == text


@pytest.mark.parametrize(
    "text", ["the <tool_call> tag", "<tool_call>f or g", "<tool_call>f\nor g", "<tool_call>" + "f" * 300]
)
def test_begin_marker_in_prose_is_prose(text: str) -> None:
    """Where calls have no marker of their own, only a tag tells that one stands behind a block's."""
    assert read(text, TOOLS, family=GLM47) == Answer(text)


def test_text_streams_and_other_values_wait() -> None:
    """The pieces of the arguments, which are JSON when they are joined."""
    reader = QWEN3_CODER.call.style.reader(TOOLS)
    steps = [
        "".join(getattr(step, "text", "") for step in reader.read(piece).steps)
        for piece in (
            "<function=f>\n<parameter=a>\nHe",
            'l"lo',
            "\n</parameter>\n<parameter=n>\n1",
            "2\n</parameter>\n<",
        )
    ]

    assert steps == ['f{"a": "He', 'l\\"lo', '", "n": ', "12"]


def test_value_that_holds_its_own_end_cannot_be_written() -> None:
    """The writer says so, in place of writing what reads as something else."""
    with pytest.raises(ValueError, match="'a' holds '</parameter>'"):
        QWEN3_CODER.call.style.write(Call("f", {"a": "</parameter>"}))


def test_text_that_begins_as_json_does_may_stand_where_no_object_or_array_may() -> None:
    """The quote in it opens no string, and its value ends where it ends."""
    tools = {"f": {"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "array"}}}}
    arguments = {"a": '["x', "b": ["</parameter>"]}

    answer = read(write_call(QWEN3_CODER, "f", arguments), tools, family=QWEN3_CODER)

    assert [json.loads(written) for _, written in answer.calls] == [arguments]


KEYS_WITHOUT_AN_END: dict[str, tuple[Family, str, str]] = {
    "its value follows": (GLM45, "<arg_value>1<", "<ar_value>1<"),
    "its value follows, on one line": (GLM47, "<arg_value>1<", "<1<"),
    "the call ends": (GLM47, "</arg_key><arg_value>1</arg_value>", ""),
    "the end of its value": (QWEN3_CODER, "<parameter=n>", "<parameter=n"),
    "the call ends, in tags that end alike": (QWEN3_CODER, ">\n1\n</parameter>", ""),
    "another key": (MINIMAX_M2, 'n">1</parameter>', "n"),
    "the end of its value, behind attributes": (DEEPSEEK_V32, ' string="false">', ""),
}


@pytest.mark.parametrize(("family", "whole", "broken"), KEYS_WITHOUT_AN_END.values(), ids=KEYS_WITHOUT_AN_END)
def test_a_key_that_never_ends_takes_no_further_call_in(family: Family, whole: str, broken: str) -> None:
    """A call whose key goes on over other tags is malformed, and the one behind it is read."""
    calls: list[tuple[str, dict[str, Any]]] = [("f", {"n": 1, "a": "x"}), ("f", {"a": "y"})]
    text = family.write_calls(calls)
    assert whole in text

    answer = read(text.replace(whole, broken, 1), TOOLS, family=family)

    assert [json.loads(arguments) for _, arguments in answer.calls] == [{"a": "y"}]
    assert [each.reason for each in answer.malformed] == [Reason.BAD_MARKUP]


HELD: dict[str, tuple[Any, list[str], list[str]]] = {
    "a constant": ({"const": "x"}, ["x"], ["y", "xx", ""]),
    "choices": ({"enum": ["", "x"]}, ["", "x"], ["y"]),
    "a whole pattern": ({"type": "string", "pattern": "^x+$"}, ["x", "xxx"], ["", "xy"]),
    "a pattern": ({"type": "string", "pattern": "x"}, ["x", "axb\n"], ["", "abc"]),
    "a length": ({"type": "string", "minLength": 1, "maxLength": 3}, ["é", '"<\\'], ["", "abcd"]),
    "text or nothing": ({"type": ["string", "null"]}, ["null", "nulls", ""], []),
    "text or a number": ({"type": ["string", "integer"], "maxLength": 1}, ["a", "12"], ["ab", "1.0", " 1"]),
    "text of another look": (
        {"type": "string"},
        ["null", "1", "[]", " x ", "\n", "</param"],
        ["</parameter>"],
    ),
    "a number": ({"type": "integer", "maximum": 9}, ["9", "-12"], ["10", "1.5", '"1"', ""]),
    "an object": (
        {"type": "object", "properties": {"a": {"maxLength": 1, "type": "string"}}},
        ['{"a": "x"}'],
        ['{"a": "xy"}'],
    ),
    "anything": (True, ["x", "1"], ["<parameter=b>"]),
}


@pytest.mark.parametrize(("schema", "good", "bad"), HELD.values(), ids=HELD.keys())
def test_mask_holds_a_value_to_its_schema(schema: Any, good: list[str], bad: list[str]) -> None:
    """Text is held to all that is asked of it, and to what the reader takes for text."""
    whole = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    grammar = compiled(QWEN3_CODER, tools_of(QWEN3_CODER, {"f": whole}), at_least=1, at_most=1)

    def call(value: str) -> str:
        return f"<tool_call>\n<function=f>\n<parameter=a>\n{value}\n</parameter>\n</function>\n</tool_call>"

    assert [value for value in good if not accepts(grammar, call(value))] == []
    assert [value for value in bad if accepts(grammar, call(value))] == []


@pytest.mark.parametrize(
    ("key", "is_read"), [("a b", True), ("x.y-z", True), ("a>b", False), (" a", False), ("<", False)]
)
def test_an_argument_is_left_out_whose_key_no_reader_finds(key: str, is_read: bool) -> None:
    """Where it has to be there, the schema is refused."""
    schema = {"type": "object", "properties": {key: {"type": "null"}}}
    grammar = compiled(QWEN3_CODER, tools_of(QWEN3_CODER, {"f": schema}), at_least=1, at_most=1)

    assert accepts(grammar, write_call(QWEN3_CODER, "f", {}))
    assert accepts(grammar, write_call(QWEN3_CODER, "f", {key: None})) is is_read
    if not is_read:
        with pytest.raises(SchemaError, match="this model's form of calls"):
            tools_of(QWEN3_CODER, {"f": {**schema, "required": [key]}})


@pytest.mark.parametrize(
    ("family", "end"),
    [
        (QWEN3_CODER, "</parameter></function>"),
        (GLM45, "</arg_value></tool_call>"),
        (GLM47, "</arg_value></tool_call>"),
        (MINIMAX_M2, "</parameter></invoke>"),
        (DEEPSEEK_V32, "</｜DSML｜parameter></｜DSML｜invoke>"),
        (KIMI_K3, "<|close|>argument<|sep|><|close|>call<|sep|>"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_string_within_json_may_spell_the_end_of_its_value(family: Family, end: str) -> None:
    """Quotes say where it ends, whatever tags stand in it (row 63)."""
    schema = {"type": "object", "properties": {"o": {"type": "object"}, "s": {"type": "string"}}}
    arguments = {"o": {"a": f'{end} "{end}', "b": [f"{end}<x>"]}, "s": "end"}

    answer = read(family.write_calls([("f", arguments), ("f", {"s": "x"})]), {"f": schema}, family=family)

    assert [json.loads(text) for _, text in answer.calls] == [arguments, {"s": "x"}]


def test_a_string_that_never_ends_costs_no_further_line() -> None:
    """A line break is none of a JSON string, so that the end of the value counts again."""
    text = QWEN3_CODER.write_calls([("f", {"o": {"a": 1}}), ("f", {"s": "x"})]).replace(
        '{"a": 1}', '{"a": "1'
    )

    answer = read(
        text, {"f": {"type": "object", "properties": {"o": {"type": "object"}}}}, family=QWEN3_CODER
    )

    assert [json.loads(text) for _, text in answer.calls][-1] == {"s": "x"}
