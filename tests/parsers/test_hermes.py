"""The Hermes family: the spellings of a call that its models are known for."""

import json
import random

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd
from parsers.families.hermes import HERMES
from tests.parsers.reading import Answer, read

F1 = [("f", '{"a": 1}')]
BOTH = [("f", '{"a": 1}'), ("g", "{}")]

WELL_READ = {
    # What may stand around the object.
    "no newline after the marker": ('<tool_call>{"name":"f","arguments":{"a": 1}}</tool_call>', F1),
    "spaces around": ('<tool_call>  {"name": "f", "arguments": {"a": 1}}\t</tool_call>', F1),
    "pretty-printed": (
        '<tool_call>\n{\n  "name" : "f",\n  "arguments" :\r\n {"a": 1}\n}\n</tool_call>',
        F1,
    ),
    "no close marker": ('<tool_call>{"name": "f", "arguments": {"a": 1}}', F1),
    "no close marker, then whitespace": ('<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n', F1),
    "half a close marker": ('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_c', F1),
    "one brace too many": ('<tool_call>\n{"name": "f", "arguments": {"a": 1}}}\n</tool_call>', F1),
    "fence inside the tag": (
        '<tool_call>\n```json\n{"name": "f", "arguments": {"a": 1}}\n```\n</tool_call>',
        F1,
    ),
    "array of calls in one tag": (
        '<tool_call>[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]</tool_call>',
        BOTH,
    ),
    "two objects in one tag": (
        '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n{"name": "g", "arguments": {}}\n</tool_call>',
        BOTH,
    ),
    "close marker missing between two calls": (
        (
            '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n'
            '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'
        ),
        BOTH,
    ),
    "brace too many and close marker missing": (
        '<tool_call>{"name": "f", "arguments": {"a": 1}}}<tool_call>{"name": "g", "arguments": {}}',
        BOTH,
    ),
    "no separator": (
        (
            '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
            '<tool_call>{"name": "g", "arguments": {}}</tool_call>'
        ),
        BOTH,
    ),
    # The keys of the object.
    "arguments first": ('<tool_call>{"arguments": {"a": 1}, "name": "f"}</tool_call>', F1),
    "arguments first, with a name of their own": (
        '<tool_call>{"arguments": {"name": "g"}, "name": "f"}</tool_call>',
        [("f", '{"name": "g"}')],
    ),
    "key after the arguments": ('<tool_call>{"name": "f", "arguments": {"a": 1}, "id": 3}</tool_call>', F1),
    "key before the name": (
        '<tool_call>{"type": "function", "name": "f", "arguments": {"a": 1}}</tool_call>',
        F1,
    ),
    "keys with values of every kind": (
        (
            '<tool_call>{"x": [1, {"name": "g"}], "y": null, "z": -0.5e+3, "name": "f", "w": {"name": "g"}, '
            '"arguments": {"a": 1}, "v": false}</tool_call>'
        ),
        F1,
    ),
    "key spelled with escapes": ('<tool_call>{"n\\u0061me": "f", "arguments": {"a": 1}}</tool_call>', F1),
    "parameters for arguments": ('<tool_call>{"name": "f", "parameters": {"a": 1}}</tool_call>', F1),
    "repeated keys": (
        '<tool_call>{"name": "f", "name": "g", "arguments": {"a": 1}, "arguments": {"b": 2}}</tool_call>',
        F1,
    ),
    # The arguments.
    "arguments as a string": (r'<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>', F1),
    "arguments as a string, first": (
        r'<tool_call>{"arguments": " {\"a\": 1} ", "name": "f"}</tool_call>',
        F1,
    ),
    "arguments null": ('<tool_call>{"name": "f", "arguments": null}</tool_call>', [("f", "{}")]),
    "arguments missing": ('<tool_call>{"name": "f"}</tool_call>', [("f", "{}")]),
    "arguments an empty string": ('<tool_call>{"name": "f", "arguments": ""}</tool_call>', [("f", "{}")]),
    "arguments the string null": ('<tool_call>{"name": "f", "arguments": "null"}</tool_call>', [("f", "{}")]),
    "arguments null, then parameters": (
        '<tool_call>{"name": "f", "arguments": null, "parameters": {"a": 1}}</tool_call>',
        F1,
    ),
    "close marker in a string": (
        '<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>',
        [("f", '{"a": "</tool_call>"}')],
    ),
    "open marker in a string": (
        '<tool_call>{"name": "f", "arguments": {"a": "<tool_call>{}"}}</tool_call>',
        [("f", '{"a": "<tool_call>{}"}')],
    ),
    "end-of-turn text in a string": (
        '<tool_call>{"name": "f", "arguments": {"a": "<|im_end|>"}}</tool_call>',
        [("f", '{"a": "<|im_end|>"}')],
    ),
    "structure in a string": (
        r'<tool_call>{"name": "f", "arguments": {"a": "}}]}{[\"{ \\"}}</tool_call>',
        [("f", r'{"a": "}}]}{[\"{ \\"}')],
    ),
    "fake keys in a string": (
        r'<tool_call>{"name": "f", "arguments": {"a": "\"name\": \"g\", \"arguments\": {}"}}</tool_call>',
        [("f", r'{"a": "\"name\": \"g\", \"arguments\": {}"}')],
    ),
    "argument keys called like the envelope's": (
        '<tool_call>{"name": "f", "arguments": {"name": "g", "arguments": {}, "parameters": 1}}</tool_call>',
        [("f", '{"name": "g", "arguments": {}, "parameters": 1}')],
    ),
    "repeated argument keys stay as written": (
        '<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>',
        [("f", '{"a": 1, "a": 2}')],
    ),
    "surrogate pair": (
        r'<tool_call>{"name": "f", "arguments": {"a": "\ud83d\ude80"}}</tool_call>',
        [("f", r'{"a": "\ud83d\ude80"}')],
    ),
    "lone surrogate stays an escape": (
        r'<tool_call>{"name": "f", "arguments": {"a": "\ud83d"}}</tool_call>',
        [("f", r'{"a": "\ud83d"}')],
    ),
    "lone surrogate in arguments as a string": (
        r'<tool_call>{"name": "f", "arguments": "{\"a\": \"\ud83d\"}"}</tool_call>',
        [("f", r'{"a": "\ud83d"}')],
    ),
    "emoji": (
        '<tool_call>{"name": "f", "arguments": {"a": "🚀é"}}</tool_call>',
        [("f", '{"a": "🚀é"}')],
    ),
}


@pytest.mark.parametrize(("text", "calls"), WELL_READ.values(), ids=WELL_READ.keys())
def test_tolerated_spelling_is_a_call(text: str, calls: list[tuple[str, str]]) -> None:
    """What a reader can understand in one way only is a call, with the model's own argument text."""
    assert read(text) == Answer(calls=calls)
    assert read("Sure.\n\n" + text) == Answer("Sure.", calls=calls)


NAMES = ["run-it", "a.b.c", "größe", "x" * 200, "f", "ff", 'quo"te', "back\\slash", "名前"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_name_is_read_as_given(name: str) -> None:
    """A name may hold anything, and one that begins another is not taken for it."""
    assert read(f'<tool_call>{{"name": {json.dumps(name)}}}</tool_call>', NAMES).calls == [(name, "{}")]


def test_call_begins_as_soon_as_its_name_is_known() -> None:
    """Arguments are passed on as they arrive, and the name before any of them."""
    pieces = ['<tool_call>{"name": "f"', ', "arguments": {"a', '": "b', '"}', "}", "</tool_call>"]

    parser = HERMES.parser(["f"])

    assert [parser.feed(piece) for piece in pieces] == [
        [CallBegin(0, "f")],
        [CallArguments(0, '{"a')],
        [CallArguments(0, '": "b')],
        [CallArguments(0, '"}')],
        [CallEnd(0)],
        [],
    ]


def test_many_calls_are_all_read() -> None:
    """Four hundred calls in one answer are four hundred calls, in one delta as in many."""
    text = "".join(
        f'<tool_call>{{"name": "f", "arguments": {{"n": {index}}}}}</tool_call>' for index in range(400)
    )

    assert read(text).calls == [("f", f'{{"n": {index}}}') for index in range(400)]


def test_random_damage_never_crashes_nor_depends_on_the_cut() -> None:
    """Whatever is deleted, doubled or inserted, an answer is read in one way and no call is half right."""
    base = (
        'Hm.\n<tool_call>\n{"name": "f", "arguments": {"a": "x\\"y", "b": [1, null]}}\n</tool_call>\n'
        '<tool_call>{"arguments": "{\\"c\\": 2}", "name": "g"}</tool_call>'
    )
    bits = [
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        ",",
        ":",
        "\n",
        "é",
    ]
    for seed in range(200):
        rng = random.Random(seed)
        text = base
        for _ in range(rng.randint(1, 5)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice([*bits, ""]) + text[at + rng.choice([0, 0, 1, 4]) :]
        for truncated in (False, True):
            for _, arguments in read(text, truncated=truncated).calls:
                assert isinstance(json.loads(arguments), dict), seed
