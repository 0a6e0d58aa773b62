"""The Hermes family: the defects that models and parsers of JSON in tags are known for, and whole answers."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Malformed, Reason, Reasoning
from parsers.families.hermes import HERMES
from parsers.machine import Parser
from tests.parsers.reading import Answer, events_of, read

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/hermes/cases.jsonl").read_text("utf-8").splitlines()
]


def loaded(answer: Answer) -> list[tuple[str, Any]]:
    """The calls with their arguments as values."""
    return [(name, json.loads(arguments)) for name, arguments in answer.calls]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_answer_is_read_as_its_case_says(case: dict[str, Any]) -> None:
    """Content, reasoning and calls of a written-down answer come out whole, in pieces and in characters."""
    expect = case["expect"]
    tools = [tool["function"]["name"] for tool in case["tools"]]
    answer = read(case["raw"], tools, opens_reasoning=case.get("prompt_opens_reasoning", False))

    assert loaded(answer) == [(call["name"], call["arguments"]) for call in expect["tool_calls"]]
    assert answer.reasoning.strip() == (expect["reasoning"] or "").strip()
    assert bool(answer.malformed) == expect["malformed"]
    assert answer.content.strip() == (expect["content"] or "").strip()


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


MALFORMED = {
    "single quotes": ("{'name': 'f', 'arguments': {}}", Reason.BAD_JSON),
    "Python's True": ('{"name": "f", "arguments": {"a": True}}', Reason.BAD_JSON),
    "Python's None": ('{"name": "f", "arguments": None}', Reason.BAD_JSON),
    "NaN": ('{"name": "f", "arguments": {"a": NaN}}', Reason.BAD_JSON),
    "Infinity": ('{"name": "f", "arguments": {"a": -Infinity}}', Reason.BAD_JSON),
    "number that is read as Infinity": ('{"name": "f", "arguments": {"a": 1e999}}', Reason.BAD_JSON),
    "leading zero": ('{"name": "f", "arguments": {"a": 01}}', Reason.BAD_JSON),
    "trailing comma": ('{"name": "f", "arguments": {"a": 1,}}', Reason.BAD_JSON),
    "trailing comma after the arguments": ('{"name": "f", "arguments": {"a": 1},}', Reason.BAD_JSON),
    "raw newline in a string": ('{"name": "f", "arguments": {"a": "x\ny"}}', Reason.BAD_JSON),
    "raw tab in a string": ('{"name": "f", "arguments": {"a": "x\ty"}}', Reason.BAD_JSON),
    "brace missing before the close marker": ('{"name": "f", "arguments": {"a": 1}', Reason.BAD_JSON),
    "comma missing": ('{"name": "f" "arguments": {"a": 1}}', Reason.BAD_JSON),
    "colon missing": ('{"name" "f"}', Reason.BAD_JSON),
    "broken name": ('{"name": "\\x"}', Reason.BAD_JSON),
    "broken value of another key": ('{"x": [1 2], "name": "f"}', Reason.BAD_JSON),
    "broken JSON in arguments as a string": (r'{"name": "f", "arguments": "{\"a\": }"}', Reason.BAD_JSON),
    "two values in arguments as a string": (r'{"name": "f", "arguments": "{} {}"}', Reason.BAD_JSON),
    "array": ('{"name": "f", "arguments": [{"a": 1}]}', Reason.NOT_AN_OBJECT),
    "scalar": ('{"name": "f", "arguments": 5}', Reason.NOT_AN_OBJECT),
    "number in arguments as a string": ('{"name": "f", "arguments": "5"}', Reason.NOT_AN_OBJECT),
    "arguments encoded twice": (r'{"name": "f", "arguments": "\"{}\""}', Reason.NOT_AN_OBJECT),
    "array before the name": ('{"arguments": [], "name": "f"}', Reason.NOT_AN_OBJECT),
    "no name": ('{"arguments": {"a": 1}}', Reason.NO_NAME),
    "empty object": ("{}", Reason.NO_NAME),
    "empty name": ('{"name": "", "arguments": {}}', Reason.NO_NAME),
    "name that is no string": ('{"name": {"name": "f"}, "arguments": {}}', Reason.NO_NAME),
    "unknown tool": ('{"name": "rm", "arguments": {"a": "</tool_call>"}}', Reason.UNKNOWN_TOOL),
    "unknown tool and an array": ('{"name": "rm", "arguments": []}', Reason.UNKNOWN_TOOL),
    "tool whose name only begins like one": ('{"name": "ff", "arguments": {}}', Reason.UNKNOWN_TOOL),
}


@pytest.mark.parametrize(("body", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_call_keeps_its_text_and_its_siblings(body: str, reason: Reason) -> None:
    """A call that cannot be read is told with all of its text, and the calls beside it are not lost."""
    bad = f"<tool_call>\n{body}\n</tool_call>"
    answer = read(
        '<tool_call>{"name": "g", "arguments": {"n": 1}}</tool_call>\n'
        f'{bad}\n<tool_call>\n{{"name": "h", "arguments": {{"n": 2}}}}\n</tool_call>'
    )

    assert answer.calls == [("g", '{"n": 1}'), ("h", '{"n": 2}')]
    assert [(each.raw, each.reason) for each in answer.malformed] == [(bad, reason)]
    assert answer.content == ""


@pytest.mark.parametrize(("body", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_call_that_never_began_loses_no_text(body: str, reason: Reason) -> None:
    """Content and the raw text of calls that never began join to what the model wrote."""
    text = f"Now:\n\n<tool_call>\n{body}\n</tool_call>\n so it goes.\n"
    events = events_of(text, ["g"])
    said = "".join(
        event.raw if isinstance(event, Malformed) else event.text
        for event in events
        if isinstance(event, Content | Malformed)
    )

    assert all(isinstance(event, Content | Malformed) for event in events)
    assert said == text


def test_malformed_call_that_began_does_not_end() -> None:
    """A call already announced gets no `CallEnd`, and its index is told."""
    bad = '<tool_call>{"name": "f", "arguments": {"a": True}}</tool_call>'

    assert events_of(f'{bad}<tool_call>{{"name": "g"}}</tool_call>') == [
        CallBegin(0, "f"),
        CallArguments(0, '{"a": '),
        Malformed(bad, Reason.BAD_JSON, 0),
        CallBegin(1, "g"),
        CallArguments(1, "{}"),
        CallEnd(1),
    ]


def test_call_without_name_or_with_unknown_name_never_begins() -> None:
    """What cannot be announced under a tool's name is not announced at all."""
    unknown = '<tool_call>{"name": "x", "arguments": {"a": 1}}</tool_call>'

    assert events_of(unknown) == [Malformed(unknown, Reason.UNKNOWN_TOOL)]


def test_string_that_never_ends_does_not_swallow_the_next_call() -> None:
    """A broken call ends at the first marker in its text, even one that its open string had hidden."""
    bad = '<tool_call>{"name": "f", "arguments": {"a": "oops}}</tool_call>'
    answer = read(f'{bad}<tool_call>{{"name": "g", "arguments": {{}}}}</tool_call>')

    assert answer.calls == [("g", "{}")]
    assert [(each.raw, each.reason) for each in answer.malformed] == [(bad, Reason.BAD_JSON)]


def test_broken_call_without_close_marker_ends_at_the_next_call() -> None:
    """A begin marker ends a call that cannot be read on."""
    bad = '<tool_call>\n{"name": "f", "arguments": {"a": 1\n'
    answer = read(f'{bad}<tool_call>\n{{"name": "g", "arguments": {{}}}}\n</tool_call>')

    assert answer.calls == [("g", "{}")]
    assert [(each.raw, each.reason) for each in answer.malformed] == [(bad, Reason.BAD_JSON)]


def test_malformed_object_leaves_its_siblings_in_one_tag_whole() -> None:
    """In an array of calls, one that is valid JSON but no call costs the others nothing."""
    answer = read(
        '<tool_call>[{"name": "f"}, {"name": "x", "arguments": {}}, {"name": "g"}, {"n": "h"}]</tool_call>.'
    )

    assert answer.calls == [("f", "{}"), ("g", "{}")]
    assert [(each.raw, each.reason) for each in answer.malformed] == [
        (', {"name": "x", "arguments": {}}', Reason.UNKNOWN_TOOL),
        (', {"n": "h"}]</tool_call>', Reason.NO_NAME),
    ]
    assert answer.content == "."


UNFINISHED = {
    "in a string": '{"name": "f", "arguments": {"a": "x',
    "behind an escape's backslash": '{"name": "f", "arguments": {"a": "x\\',
    "after the arguments": '{"name": "f", "arguments": {"a": 1}',
    "in the name": '{"name": "f',
    "in broken JSON of another key": '{"name": "f", "x": tr',
}


@pytest.mark.parametrize("body", UNFINISHED.values(), ids=UNFINISHED.keys())
def test_unfinished_call_is_malformed_and_the_one_before_it_kept(body: str) -> None:
    """An output that ends inside a call loses that call only, and says whether the budget was the cause."""
    whole = '<tool_call>{"name": "g"}</tool_call>'
    cut, ended = read(whole + "<tool_call>" + body, truncated=True), read(whole + "<tool_call>" + body)

    assert cut.calls == ended.calls == [("g", "{}")]
    assert [(each.raw, each.reason) for each in cut.malformed] == [("<tool_call>" + body, Reason.TRUNCATED)]
    assert [(each.raw, each.reason) for each in ended.malformed] == [("<tool_call>" + body, Reason.UNCLOSED)]
    assert cut.content == ended.content == ""


def test_first_fault_is_the_reason() -> None:
    """A call that was wrong before the output ended is not blamed on the end."""
    for body, reason in (
        ('{"name": "x", "argu', Reason.UNKNOWN_TOOL),
        ('{"name": "f", "arguments": [', Reason.UNCLOSED),
        ("{'name", Reason.BAD_JSON),
        ('{"name": "f", "arguments": [], "x', Reason.NOT_AN_OBJECT),
    ):
        (malformed,) = read(f"<tool_call>{body}").malformed

        assert malformed.raw == f"<tool_call>{body}"
        assert malformed.reason is reason


def test_malformed_call_whose_close_marker_is_missing_is_told_at_the_end() -> None:
    """A malformed call that is whole waits for its close marker, and is not lost if there is none."""
    for tail in ("", "\n", "\n</tool", "\n}\n"):
        text = '<tool_call>{"name": "x"}' + tail

        assert events_of(text) == [Malformed(text, Reason.UNKNOWN_TOOL)]


def test_malformed_call_without_close_marker_leaves_the_text_behind_it() -> None:
    """Text behind a malformed call that was never closed is content."""
    assert events_of('<tool_call>{"name": "x"}\nDone.') == [
        Malformed('<tool_call>{"name": "x"}\n', Reason.UNKNOWN_TOOL),
        Content("Done."),
    ]


PROSE = {
    "marker in prose": "the tag <tool_call> is what opens a call",
    "both markers in prose": "write <tool_call> and </tool_call> around it",
    "empty tag": "like <tool_call></tool_call> this",
    "marker in back quotes": "the `<tool_call>` tag, in ```\n<tool_call>\n``` fences",
    "marker, then brackets": "<tool_call> [1, 2] and so on",
    "string in the tag": '<tool_call>"f"</tool_call>',
    "marker before whitespace at the end": "so: <tool_call>\n",
    "near marker": "If x <tool then stop. <tool_call ",
    "part of a marker at the end": "An arrow: -<",
    "most of a marker at the end": "x <tool_call",
    "whitespace at the end": "Done. \n\n",
    "whitespace at the start": "\n\n Done.",
    "only whitespace": " \n ",
}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE.keys())
def test_text_without_a_call_is_content_to_the_last_character(text: str) -> None:
    """A marker that opens nothing is text, and whatever was held back is released at the end."""
    assert events_of(text) == [Content(text)]


def test_marker_cut_off_behind_is_a_truncated_call() -> None:
    """Where the budget ended right behind a begin marker, it opened a call."""
    for text in ("<tool_call>", "<tool_call>\n", "<tool_call>\n```json\n"):
        assert events_of(text, truncated=True) == [Malformed(text, Reason.TRUNCATED)]


def test_prose_marker_before_a_call_costs_neither() -> None:
    """A call behind a marker in prose is still found."""
    answer = read('A <tool_call> looks so: <tool_call>{"name": "f"}</tool_call>')

    assert answer == Answer("A <tool_call> looks so:", calls=[("f", "{}")])


WHITESPACE = {
    "before a call": ("Sure. \n\nCALL", "Sure."),
    "nothing but whitespace before": ("\n\nCALL", ""),
    "between calls": ("CALL\n \nCALL", ""),
    "after the last call": ("CALL\n\n", ""),
    "text between calls": ("A\nCALL\n and \nCALL", "A\n and"),
    "text after calls": ("A CALL B CALL\nC\n", "A B\nC\n"),
    "fence around a call": ("```json\nCALL\n```", "```json\n```"),
    "text behind a call that was not closed": ('<tool_call>{"name": "f"}\nDone.', "\nDone."),
    "brace behind a call that was not closed": ('<tool_call>{"name": "f"}} x', "} x"),
}


@pytest.mark.parametrize(("form", "content"), WHITESPACE.values(), ids=WHITESPACE.keys())
def test_whitespace_around_calls_is_markup(form: str, content: str) -> None:
    """Whitespace before a call is dropped, and after it unless text follows; all other text is exact."""
    text = form.replace("CALL", '<tool_call>\n{"name": "f"}\n</tool_call>')

    assert read(text).content == content


def test_content_between_calls_keeps_its_place() -> None:
    """Text after a call is said after it."""
    assert events_of('<tool_call>{"name": "f"}</tool_call> then <tool_call>{"name": "g"}</tool_call>') == [
        CallBegin(0, "f"),
        CallArguments(0, "{}"),
        CallEnd(0),
        Content(" then"),
        CallBegin(1, "g"),
        CallArguments(1, "{}"),
        CallEnd(1),
    ]


NAMES = ["run-it", "a.b.c", "größe", "x" * 200, "f", "ff", 'quo"te', "back\\slash", "名前"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_name_is_read_as_given(name: str) -> None:
    """A name may hold anything, and one that begins another is not taken for it."""
    assert read(f'<tool_call>{{"name": {json.dumps(name)}}}</tool_call>', NAMES).calls == [(name, "{}")]


def test_call_begins_as_soon_as_its_name_is_known() -> None:
    """Arguments are passed on as they arrive, and the name before any of them."""
    pieces = ['<tool_call>{"name": "f"', ', "arguments": {"a', '": "b', '"}', "}", "</tool_call>"]

    parser = Parser(HERMES, ["f"])

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


REASONING = {
    "as trained": ("<think>\nHm.\n</think>\n\nYes.", False, Answer("Yes.", "Hm.")),
    "opened by the prompt": ("\nHm.\n</think>\n\nYes.", True, Answer("Yes.", "Hm.")),
    "opened by the prompt and again": ("<think>\nHm.\n</think>\n\nYes.", True, Answer("Yes.", "Hm.")),
    "empty": ("<think>\n\n</think>\n\nYes.", False, Answer("Yes.")),
    "whitespace before": ("\n <think>Hm.</think>Yes.", False, Answer("Yes.", "Hm.")),
    "inner whitespace": ("<think>\n  A\n\nB  \n</think>\n  Yes.", False, Answer("  Yes.", "  A\n\nB")),
    "never closed": ("<think>\nHm. \n", False, Answer("", "Hm. \n")),
    "never closed, opened by the prompt": ("Hm.</thin", True, Answer("", "Hm.</thin")),
    "nothing after the prompt's opener": ("\n", True, Answer()),
    "part of a marker at the start": ("<thi", False, Answer("<thi")),
    "near marker at the start": ("<thin ice", False, Answer("<thin ice")),
    "span in the middle is text": ("I <think>so</think>.", False, Answer("I <think>so</think>.")),
    "second span is text": (
        "<think>A</think><think>B</think>",
        False,
        Answer("<think>B</think>", "A"),
    ),
    "then a call": (
        '<think>\nHm.\n</think>\n\n<tool_call>\n{"name": "f"}\n</tool_call>',
        False,
        Answer("", "Hm.", [("f", "{}")]),
    ),
    "call inside, closed later": (
        '<think>\nMaybe <tool_call>{"name": "f"}</tool_call> or\nnot.\n</think>\n\nNo.',
        False,
        Answer("No.", 'Maybe <tool_call>{"name": "f"}</tool_call> or\nnot.'),
    ),
    "call inside, closed later, then a call": (
        '<tool_call>{"name": "g"}</tool_call></think><tool_call>{"name": "f"}</tool_call>',
        True,
        Answer("", '<tool_call>{"name": "g"}</tool_call>', [("f", "{}")]),
    ),
    "call inside, never closed": (
        '<think>\nCall it.\n<tool_call>\n{"name": "f"}\n</tool_call>\n<tool_call>{"name": "g"}</tool_call>',
        False,
        Answer("", "Call it.", [("f", "{}"), ("g", "{}")]),
    ),
    "marker of no call inside, never closed": (
        "<think>\nA <tool_call> is a tag.",
        False,
        Answer("", "A <tool_call> is a tag."),
    ),
    "marker of no call, then a call, never closed": (
        '<think>A <tool_call> tag. <tool_call>{"name": "f"}</tool_call> Done.',
        False,
        Answer(" Done.", "A <tool_call> tag.", [("f", "{}")]),
    ),
    "no tools": ("<think>Hm. <tool_call></think>Yes.", False, Answer("Yes.", "Hm. <tool_call>")),
}


@pytest.mark.parametrize(("text", "opens", "expected"), REASONING.values(), ids=REASONING.keys())
def test_reasoning_span_is_told_from_content_and_calls(text: str, opens: bool, expected: Answer) -> None:
    """The span is read at the start only; a call in it is a call only if the span is never closed."""
    assert read(text, opens_reasoning=opens) == expected


def test_span_cut_off_by_the_budget_is_reasoning_with_what_it_holds() -> None:
    """Nobody knows whether a span that was cut off would have been closed: no call is taken from it."""
    text = '<think>\nMaybe <tool_call>{"name": "f"}</tool_call>\n'

    assert events_of(text, truncated=True) == [Reasoning(text.removeprefix("<think>\n"))]


def test_malformed_call_ends_a_span_that_is_never_closed() -> None:
    """A call in an open span ends it even if it cannot be read."""
    assert events_of("<think>Hm. <tool_call>{'name'}</tool_call> So.") == [
        Reasoning("Hm. "),
        Malformed("<tool_call>{'name'}</tool_call>", Reason.BAD_JSON),
        Content(" So."),
    ]


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
