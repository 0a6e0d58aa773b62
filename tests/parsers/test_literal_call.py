"""Calls in literals of another language: their spellings, and the mask of what a schema says."""

import json
from typing import Any

import pytest
import xgrammar as xgr

from parsers.arguments.style import Call
from parsers.events import Reason
from parsers.families.gemma4 import GEMMA4
from parsers.families.lfm2 import LFM2
from parsers.families.llama4_pythonic import LLAMA4_PYTHONIC
from parsers.family import Family, write_call
from tests.parsers.reading import Answer, read
from tests.parsers.test_grammar import tools_of

WELL_READ: dict[str, tuple[Family, str, dict[str, Any]]] = {
    "no arguments": (LLAMA4_PYTHONIC, "[f()]", {}),
    "markers of the list": (LLAMA4_PYTHONIC, "<|python_start|>[f(a=1)]", {"a": 1}),
    "double quotes": (LLAMA4_PYTHONIC, '[f(a="it\'s")]', {"a": "it's"}),
    "brackets in text": (LLAMA4_PYTHONIC, "[f(a='x(1), [y]=2')]", {"a": "x(1), [y]=2"}),
    "escapes": (LLAMA4_PYTHONIC, r"[f(a='\n\t\\\'\x41\u00e9\U0001f680\q')]", {"a": "\n\t\\'Aé🚀\\q"}),
    "whitespace": (LLAMA4_PYTHONIC, "[ f( a = 1 ,\n b = [ 1 , 2 ] ) ]", {"a": 1, "b": [1, 2]}),
    "JSON's words": (LLAMA4_PYTHONIC, "[f(a=true, b=[null, False])]", {"a": True, "b": [None, False]}),
    "numbers": (LLAMA4_PYTHONIC, "[f(a=-3.5, b=1e+5)]", {"a": -3.5, "b": 1e5}),
    "nested": (LLAMA4_PYTHONIC, "[f(a={'k' : {'l': ()}, \"m\": {}})]", {"a": {"k": {"l": []}, "m": {}}}),
    "comma behind the last": (LLAMA4_PYTHONIC, "[f(a=1),]", {"a": 1}),
    "Gemma: text with marks": (
        GEMMA4,
        '<|tool_call>call:f{a:<|"|>,{}[]"\n<|"|>}<tool_call|>',
        {"a": ',{}[]"\n'},
    ),
    "Gemma: nested": (
        GEMMA4,
        '<|tool_call>call:f{o:{a:1,b:[true,<|"|>x<|"|>]}}',
        {"o": {"a": 1, "b": [True, "x"]}},
    ),
    "Gemma: quoted key": (GEMMA4, '<|tool_call>call:f{o:{<|"|>a b<|"|>:1}}', {"o": {"a b": 1}}),
    "Gemma: plain quotes": (GEMMA4, '<|tool_call>call:f{a:"x"}<tool_call|>', {"a": "x"}),
}


@pytest.mark.parametrize(("family", "text", "arguments"), WELL_READ.values(), ids=WELL_READ.keys())
def test_tolerated_literals_are_a_call(family: Family, text: str, arguments: dict[str, Any]) -> None:
    """What can be understood in one way only is a call, however it is cut."""
    answer = read(text, family=family)

    assert [(name, json.loads(said)) for name, said in answer.calls] == [("f", arguments)]
    assert (answer.content, answer.malformed) == ("", [])


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 3] is a list.",
        "[link](url)",
        "[4]",
        "[f]",
        "[unknown(a=1)]",
        "Item [f (a=1)]",
        f"[{'f' * 300}(a=1)]",
    ],
)
def test_brackets_are_no_call_without_a_tool_s_name(text: str) -> None:
    """Where no marker announces a call, text that begins like one stays text."""
    assert read(text, family=LLAMA4_PYTHONIC) == Answer(text)


def test_call_is_found_behind_text_by_its_name() -> None:
    """The name of a tool with what stands around it tells of a call as a marker does."""
    answer = read("Item [4] first: [f(a=[1]), g()] and [h(b='x')]\nso [f", family=LLAMA4_PYTHONIC)

    assert answer.calls == [("f", '{"a": [1]}'), ("g", "{}"), ("h", '{"b": "x"}')]
    assert answer.content == "Item [4] first: and\nso [f"


MALFORMED = {
    "positional argument": (LLAMA4_PYTHONIC, "[f('x')]"),
    "positional number": (LLAMA4_PYTHONIC, "[f(1)]"),
    "unknown word": (LLAMA4_PYTHONIC, "[f(a=x)]"),
    "number that is read as infinity": (LLAMA4_PYTHONIC, "[f(a=1e999)]"),
    "set": (LLAMA4_PYTHONIC, "[f(a={'x', 'y'})]"),
    "bytes": (LLAMA4_PYTHONIC, "[f(a=b'ab')]"),
    "complex number": (LLAMA4_PYTHONIC, "[f(a=3+4j)]"),
    "no value": (LLAMA4_PYTHONIC, "[f(a=)]"),
    "no comma": (LLAMA4_PYTHONIC, "[f(a=1 b=2)]"),
    "no colon": (LLAMA4_PYTHONIC, "[f(a={'k' 1})]"),
    "no such character": (LLAMA4_PYTHONIC, r"[f(a='\Uffffffff')]"),
    "long key": (LLAMA4_PYTHONIC, f"[f({'k' * 300}=1)]"),
    "long word": (LLAMA4_PYTHONIC, f"[f(a={'1' * 300})]"),
    "too deep": (LLAMA4_PYTHONIC, "[f(a=" + "[" * 600),
}


@pytest.mark.parametrize(("family", "text"), MALFORMED.values(), ids=MALFORMED.keys())
def test_broken_literals_are_malformed(family: Family, text: str) -> None:
    """A call that has begun and cannot be read on is told with all of its text (B319)."""
    answer = read(text, family=family)

    assert [(each.raw, each.reason) for each in answer.malformed] == [(text, Reason.BAD_MARKUP)]
    assert (answer.calls, answer.content) == ([], "")


def test_call_without_a_name_is_malformed() -> None:
    """Behind the call's own prefix, what is no name cannot be text."""
    (malformed,) = read("<|tool_call>call: f{}<tool_call|>", family=GEMMA4).malformed

    assert malformed.reason is Reason.NO_NAME


def test_text_that_holds_its_quote_cannot_be_written() -> None:
    """Gemma's text knows no escapes."""
    with pytest.raises(ValueError, match="by which text ends"):
        GEMMA4.call.style.write(Call("f", {"a": '<|"|>'}))


SCHEMA: dict[str, Any] = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "of": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["name"],
        }
    },
    "properties": {
        "kind": {"enum": ["a'b", None]},
        "tree": {"$ref": "#/$defs/tree"},
        "pair": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        "none": {"type": "array", "maxItems": 0},
        "any": True,
        "free": {"type": "string"},
        "flag": {"type": "boolean"},
        "code": {"type": "string", "pattern": "^[a-z]{2}$"},
    },
    "required": ["kind"],
}

ACCEPTED: list[dict[str, Any]] = [
    {"kind": "a'b"},
    {"kind": None, "pair": [1, 2], "none": []},
    {"kind": None, "tree": {"name": "x", "of": [{"name": "y", "of": []}]}},
    {"kind": None, "any": {"k": ["x", 1.5, None, True]}, "free": "it\nis"},
    {"kind": None, "flag": False, "code": "ab"},
]
REFUSED: list[dict[str, Any]] = [
    {},
    {"kind": "c"},
    {"kind": None, "pair": [1]},
    {"kind": None, "none": [1]},
    {"kind": None, "tree": {"of": []}},
    {"kind": None, "flag": "x"},
    {"kind": None, "code": "abc"},
]


def accepts(family: Family, arguments: dict[str, Any]) -> bool:
    """Whether the mask lets the call through."""
    tag = family.structural_tag(
        tools_of(family, {"f": SCHEMA}),
        at_least=1,
        at_most=1,
        answer=None,
        opens_reasoning=False,
    )
    tokenizer = xgr.TokenizerInfo([bytes([byte]) for byte in range(128)] + [b"<eos>"], stop_token_ids=[128])
    grammar = xgr.GrammarCompiler(tokenizer, max_threads=1).compile_structural_tag(json.dumps(tag))
    matcher = xgr.GrammarMatcher(grammar)
    written = write_call(family, "f", arguments).encode("ascii")
    return all(matcher.accept_token(byte) for byte in written) and matcher.accept_token(128)


@pytest.mark.parametrize("family", [LLAMA4_PYTHONIC, GEMMA4], ids=lambda family: family.name)
def test_mask_holds_literals_to_the_schema(family: Family) -> None:
    """Types, choices, bounds of arrays, nested objects and whole patterns, in the model's own spelling."""
    assert [accepts(family, arguments) for arguments in ACCEPTED] == [True] * len(ACCEPTED)
    assert [accepts(family, arguments) for arguments in REFUSED] == [False] * len(REFUSED)


def test_mask_lets_no_longer_bare_key_pass_than_is_read() -> None:
    """A key without quotes has an end, or a model could write one that no reader takes for a key."""
    key = "k" * 64

    assert accepts(GEMMA4, {"kind": None, "any": {key: 1}})
    assert not accepts(GEMMA4, {"kind": None, "any": {key + "k": 1}})
    assert read(write_call(GEMMA4, "f", {key: 1}), family=GEMMA4).calls == [("f", json.dumps({key: 1}))]


BROKEN_IN_A_LIST = {
    "bad word": "f(a=x)",
    "positional argument": "f('x', [1, (2)])",
    "text that holds brackets and a call": """f(x, a="b)], h(", c='\\'), h(d=1)')""",
    "bad escape": r"f(a='\Uffffffff), h()')",
    "no colon": "f(a={'k' 1}, b=(2, [3]))",
}


@pytest.mark.parametrize("family", [LLAMA4_PYTHONIC, LFM2], ids=lambda family: family.name)
@pytest.mark.parametrize("broken", BROKEN_IN_A_LIST.values(), ids=BROKEN_IN_A_LIST.keys())
def test_calls_beside_a_broken_one_are_kept(family: Family, broken: str) -> None:
    """A call that is wrong ends where its brackets do, and what stands in quotes in it is no call."""
    text = family.write_calls([("g", {"a": 1}), ("g", {"a": 2})])
    answer = read(text.replace(", g(", f", {broken}, g("), family=family)

    assert answer.calls == [("g", '{"a": 1}'), ("g", '{"a": 2}')]
    assert [(each.raw, each.reason) for each in answer.malformed] == [(f", {broken}", Reason.BAD_MARKUP)]
    assert answer.content == ""


@pytest.mark.parametrize("broken", ["f(it's), g()", "f(a=[1), g()", "f(x, a='\\"])
def test_broken_call_without_an_end_is_over_with_its_block(broken: str) -> None:
    """An apostrophe is no quote: the block's own marker ends what nothing else does."""
    text = f"<|tool_call_start|>[{broken}]<|tool_call_end|>"
    answer = read(text + "Done." + LFM2.write_calls([("h", {})]), family=LFM2)

    assert [(each.raw, each.reason) for each in answer.malformed] == [(text, Reason.BAD_MARKUP)]
    assert (answer.calls, answer.content) == ([("h", "{}")], "Done.")
