"""Harmony: messages, their headers in any order, and what becomes of those that are none."""

import json
from typing import Any

import numpy as np
import pytest
import xgrammar as xgr

from parsers.arguments.style import CallableTool
from parsers.events import (
    CallArguments,
    CallBegin,
    CallEnd,
    Content,
    Event,
    Malformed,
    Reason,
    Reasoning,
    merge,
)
from parsers.families.gpt_oss import GPT_OSS
from parsers.harmony import HarmonyFamily
from parsers.harmony_header import LONGEST_HEADER, Header, read_header
from parsers.harmony_marks import MARKS
from tests.parsers.reading import events_of, read

HEADER = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
NEXT = "<|start|>assistant"


def events(text: str, *, truncated: bool = False) -> list[Event]:
    return events_of(text, truncated=truncated, family=GPT_OSS)


@pytest.mark.parametrize(
    "header",
    [
        "<|channel|>commentary to=functions.f <|constrain|>json",
        "<|start|>assistant to=functions.f<|channel|>commentary json",
        " to=functions.f<|channel|>commentary<|constrain|>json",
        "<|channel|>commentary code to=functions.f",
        "<|channel|>commentary<|channel|>commentary to=functions.f",
        "<|channel|>commentary to=functions.f<|channel|>final",
    ],
)
def test_a_header_has_its_parts_in_any_order(header: str) -> None:
    """Whoever is called, and on which channel, is found wherever it stands (row 107)."""
    assert read_header(header, MARKS) == Header("commentary", "functions.f")


@pytest.mark.parametrize("channel", ["commentary", "analysis", "final"])
def test_a_message_for_a_tool_is_a_call_on_any_channel(channel: str) -> None:
    """A call needs no thought in front of it (row 106), and its end may have been taken away (row 108)."""
    text = f'<|channel|>{channel} to=functions.f <|constrain|>json<|message|>{{"a": 1}}'
    expected = [CallBegin(0, "f"), CallArguments(0, '{"a": 1}'), CallEnd(0)]

    assert events(text) == expected
    assert events(text + "<|call|>") == expected
    assert events(text + "<|end|>") == expected


def test_a_call_is_complete_with_its_json() -> None:
    """Nothing has to come behind it, and a stray brace that does is no text."""
    parser = GPT_OSS.parser(["f"])

    assert parser.feed(HEADER + "{}") == [CallBegin(0, "f"), CallArguments(0, "{}"), CallEnd(0)]
    assert parser.feed("}\n<|call|>") + parser.finish() == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1', Reason.UNCLOSED),
        ('{"a": x}<|call|>', Reason.BAD_JSON),
        ("print(1)<|call|>", Reason.BAD_JSON),
        ("[1]<|call|>", Reason.NOT_AN_OBJECT),
        ('"[1]"<|call|>', Reason.NOT_AN_OBJECT),
        ('"{"<|call|>', Reason.BAD_JSON),
        ('"\n"<|end|>', Reason.BAD_JSON),
        ('"{}', Reason.UNCLOSED),
        ("{x", Reason.BAD_JSON),
        ("<|ca", Reason.UNCLOSED),
    ],
)
def test_arguments_that_are_no_object_are_malformed(text: str, reason: Reason) -> None:
    """The call is told with all that was written of it."""
    *_, failure = events(HEADER + text)

    assert failure == Malformed(HEADER + text, reason, 0)


@pytest.mark.parametrize("end", ["", "<|call|>"])
def test_a_call_without_arguments_has_none(end: str) -> None:
    """A model may leave them out for a tool that takes none."""
    assert events(HEADER + end) == [CallBegin(0, "f"), CallArguments(0, "{}"), CallEnd(0)]


@pytest.mark.parametrize("body", ["", "{", '{"a": "<|call|>'])
def test_a_call_that_the_budget_cut_is_truncated(body: str) -> None:
    """However little of its arguments there is."""
    assert events(HEADER + body, truncated=True)[-1] == Malformed(HEADER + body, Reason.TRUNCATED, 0)


@pytest.mark.parametrize("recipient", ["python", "browser.search", "functions.unknown", "functions."])
@pytest.mark.parametrize("body", ['{"a": "<|call|>"}', "print(1)", ""])
def test_a_message_for_no_tool_of_the_request_is_malformed(recipient: str, body: str) -> None:
    """Nor do the format's own tools exist here; the calls beside it are not lost (B216)."""
    text = f"<|channel|>commentary to={recipient} code<|message|>{body}<|call|>"

    expected = [Malformed(text, Reason.UNKNOWN_TOOL), CallBegin(0, "f"), CallArguments(0, "{}"), CallEnd(0)]
    assert events(text + NEXT + HEADER + "{}<|call|>") == expected


def test_without_tools_no_call_can_be_made() -> None:
    """What is written as one is told as malformed, once there is a body; a header alone is text."""
    whole = HEADER + "{}<|call|>"

    assert events_of(whole, (), family=GPT_OSS) == [Malformed(whole, Reason.UNKNOWN_TOOL)]
    assert read("Write " + HEADER[:-11], (), family=GPT_OSS).content == "Write " + HEADER[:-11]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello", [Content("Hello")]),
        (" assistance", [Content(" assistance")]),
        ("assistant is a word", [Content("assistant is a word")]),
        ("to=f you", [Content("to=f you")]),
        ("<|message|>Hi", [Content("Hi")]),
        ("<|channel|>x<|message|>Hi<|end|>", [Content("<|channel|>x<|message|>Hi")]),
        ("<|channel|>final x<|message|>Hi", [Content("x\nHi")]),
        ("<|channel|>final <|constrain|><|end|>Hi", [Content("<|channel|>final <|constrain|>Hi")]),
        ("<|start|>user<|message|>Hi", [Content("<|start|>user<|message|>Hi")]),
        ("<|channel|>final<|message|>a<|message|>b", [Content("a<|message|>b")]),
        ("<|channel|>final<|message|>a<|channel|>b", [Content("a<|channel|>b")]),
        ("<|channel|>" + "x" * LONGEST_HEADER, [Content("<|channel|>" + "x" * LONGEST_HEADER)]),
        ("<|channel|>analysis<|message|>a<|channel|>b c", [Reasoning("a<|channel|>b c")]),
    ],
)
def test_what_is_no_header_is_text(text: str, expected: list[Event]) -> None:
    """Nothing that a model writes is lost because its markers are wrong (row 109)."""
    assert events(text) == expected


@pytest.mark.parametrize("text", ["", "\n", "<|end|>", NEXT, "<|channel|>ana", "<|channel|>commentary t"])
def test_a_header_that_nothing_follows_says_nothing(text: str) -> None:
    """An answer that ends there has no text to show."""
    assert events(text, truncated=True) == []


def test_a_header_that_calls_and_ends_is_malformed() -> None:
    """A call was meant, and its name is all there is of it."""
    assert events("<|channel|>commentary to=functions.f") == [
        Malformed("<|channel|>commentary to=functions.f", Reason.UNCLOSED)
    ]


def test_messages_of_one_kind_stand_on_lines_of_their_own() -> None:
    """What two messages say is not run together, and whitespace around a thought is no part of it."""
    thought = "<|channel|>analysis<|message|> a \n<|end|>"
    text = "<|channel|>final<|message|>b\n<|end|>"

    assert events(thought + NEXT + thought + NEXT + text + NEXT + text) == [
        Reasoning(" a\n a"),
        Content("b\n\nb\n"),
    ]


def test_an_end_that_was_forgotten_ends_a_message_all_the_same() -> None:
    """A whole header begins the next one, with or without its start."""
    call = [CallBegin(0, "f"), CallArguments(0, "{}"), CallEnd(0)]
    for start in ("", NEXT):
        text = "<|channel|>analysis<|message|>Hm." + start + HEADER + "{}"

        assert events(text) == [Reasoning("Hm."), *call]


def test_a_string_that_hides_the_end_of_its_call_costs_no_other() -> None:
    """Once the JSON breaks, the call ends where its message did."""
    broken = HEADER + '{"a": "x<|call|>'
    answer = read(broken + NEXT + HEADER + '{"a": "y"}<|call|>', family=GPT_OSS)

    assert answer.calls == [("f", '{"a": "y"}')]
    assert answer.malformed == [Malformed(broken, Reason.BAD_JSON, 0)]


def test_it_is_known_where_reasoning_ends() -> None:
    """Tokens of reasoning are counted while they come."""
    parser = GPT_OSS.parser([])
    seen = []
    for piece in (
        "<|channel|>analysis<|message|>",
        "Hm",
        "<|end|>",
        NEXT,
        "<|channel|>final<|message|>",
        "Hi",
    ):
        parser.feed(piece)
        seen.append(parser.in_reasoning)

    assert seen == [True, True, False, False, False, False]


def test_text_that_spells_control_tokens_is_text() -> None:
    """Where they are tokens of the vocabulary, only those divide an answer."""
    parser = GPT_OSS.parser(["f"], tokens=MARKS.all)
    said = [*parser.feed_marker("<|channel|>"), *parser.feed("final"), *parser.feed_marker("<|message|>")]
    said += parser.feed("It ends in <|end|>" + NEXT + HEADER + "{}.")
    said += [*parser.feed_marker("<|return|>"), *parser.finish()]

    assert merge(said) == [Content("It ends in <|end|>" + NEXT + HEADER + "{}.")]


def test_control_tokens_divide_an_answer() -> None:
    """The same messages as in text."""
    parser = GPT_OSS.parser(["f"], tokens=MARKS.all)
    said: list[Event] = []
    for piece in ("<|channel|>", "commentary to=functions.f ", "<|constrain|>", "json", "<|message|>", "{}"):
        said += parser.feed_marker(piece) if piece in MARKS.all else parser.feed(piece)

    assert said == [CallBegin(0, "f"), CallArguments(0, "{}"), CallEnd(0)]
    assert parser.feed_marker("<|call|>") + parser.finish() == []


def test_a_marker_reads_like_its_text_where_no_tokens_are_told_apart() -> None:
    """Whoever feeds an answer need not know."""
    parser = GPT_OSS.parser(["f"])

    assert parser.feed_marker("<|message|>") + parser.feed("Hi") == [Content("Hi")]


# The mask over a vocabulary with control tokens, of which two end the model's turn, as vLLM tells XGrammar.

VOCABULARY = [*(bytes([byte]) for byte in range(128)), *(mark.encode() for mark in MARKS.all)]
CALL, RETURN = VOCABULARY.index(b"<|call|>"), VOCABULARY.index(b"<|return|>")


def matcher(family: HarmonyFamily = GPT_OSS, **wanted: Any) -> Any:
    tokens = xgr.TokenizerInfo(VOCABULARY, vocab_type=xgr.VocabType.RAW, stop_token_ids=[RETURN])
    tag = family.structural_tag(
        [CallableTool("f", {"type": "json_schema", "json_schema": {"type": "object"}})],
        **{"at_least": 0, "at_most": 2, "answer": None, "opens_reasoning": False, **wanted},
    )
    compiled = xgr.GrammarCompiler(tokens, max_threads=1).compile_structural_tag(json.dumps(tag))
    return xgr.GrammarMatcher(compiled, override_stop_tokens=[RETURN, CALL])


def allowed(matcher: Any) -> set[int]:
    bitmask = xgr.allocate_token_bitmask(1, len(VOCABULARY))
    matcher.fill_next_token_bitmask(bitmask)
    bits = np.unpackbits(bitmask.numpy().view(np.uint8), bitorder="little")
    return set(map(int, np.flatnonzero(bits[: len(VOCABULARY)])))


def test_a_call_ends_by_the_token_that_ends_the_turn() -> None:
    """XGrammar takes a stop token at the end of a mask only, so the mask may end with the call's JSON."""
    required = matcher(at_least=1)

    assert required.accept_string(HEADER + '{"a": ')
    assert not {CALL, RETURN} & allowed(required)
    assert required.accept_string("1}")
    assert CALL in allowed(required)
    assert required.accept_token(CALL)
    assert required.is_terminated()


@pytest.mark.parametrize(
    ("text", "may_end"),
    [
        ("", False),
        ("<|channel|>analysis<|message|>Hm.", False),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant", False),
        ("<|channel|>final<|message|>Hi", True),
        ("<|channel|>commentary<|message|>Hi", False),
        (HEADER, False),
    ],
)
def test_the_turn_ends_with_an_answer_or_a_call_only(text: str, may_end: bool) -> None:
    """A thought is followed by something for the user, and a preamble by a call."""
    free = matcher()

    assert free.accept_string(text)
    assert (RETURN in allowed(free)) is may_end


def test_a_model_that_was_not_trained_to_reason_is_not_offered_thoughts() -> None:
    """It begins with its answer."""
    assert matcher().accept_string("<|channel|>analysis")
    assert not matcher(GPT_OSS.without_reasoning()).accept_string("<|channel|>analysis")
