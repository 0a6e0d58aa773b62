"""The Hermes family: calls that cannot be read, and what must not be lost with them."""

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Malformed, Reason, Reasoning
from tests.parsers.reading import events_of, read

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


def test_marker_cut_off_behind_is_a_truncated_call() -> None:
    """Where the budget ended right behind a begin marker, it opened a call."""
    for text in ("<tool_call>", "<tool_call>\n", "<tool_call>\n```json\n"):
        assert events_of(text, truncated=True) == [Malformed(text, Reason.TRUNCATED)]


@pytest.mark.parametrize("before", ["", "Sure.", '<tool_call>{"name": "g"}</tool_call>'])
def test_marker_cut_off_within_is_a_truncated_call(before: str) -> None:
    """Where the budget ended within a begin marker, it opened a call; where the model ended, it is text."""
    whole, cut, ended = (read(before), read(before + "<tool_ca", truncated=True), read(before + "<tool_ca"))

    assert [(each.raw, each.reason) for each in cut.malformed] == [("<tool_ca", Reason.TRUNCATED)]
    assert (cut.content, cut.calls) == (whole.content, whole.calls)
    assert (ended.content, ended.calls, ended.malformed) == (whole.content + "<tool_ca", whole.calls, [])


def test_only_the_beginning_of_a_call_s_marker_is_a_truncated_call() -> None:
    """Punctuation may begin anything, no other marker opens a call, and without tools there is none."""
    for text in ("a <", "a </tool_", "a <thin"):
        assert events_of(text, truncated=True) == [Content(text)]
    assert events_of("a <tool_", (), truncated=True) == [Content("a <tool_")]
    assert events_of("a <tool_", truncated=True, opens_reasoning=True) == [Reasoning("a <tool_")]
