"""What holds for every family, by its record alone: written calls, written-down answers, cuts, work."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from parsers.arguments.kinds import kind_of
from parsers.arguments.style import Tools
from parsers.events import Content, Malformed
from parsers.family import Family, MarkedFamily
from parsers.registry import FAMILIES
from parsers.syntax import Envelope, Span
from tests.parsers.reading import Answer, cut, feed, fold, read
from tests.parsers.working import work

DATA = Path(__file__).parents[1] / "data"

by_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)

CASES = [
    (family, json.loads(line))
    for family in FAMILIES
    if (DATA / family.name / "cases.jsonl").exists()
    for line in (DATA / family.name / "cases.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize(("family", "case"), CASES, ids=[case["id"] for _, case in CASES])
def test_answer_is_read_as_its_case_says(family: Family, case: dict[str, Any]) -> None:
    """Content, reasoning and calls of a written-down answer come out whole, in pieces and in characters."""
    expect = case["expect"]
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in case["tools"]}
    answer = read(
        case["raw"], tools, opens_reasoning=case.get("prompt_opens_reasoning", False), family=family
    )

    assert [(name, json.loads(arguments)) for name, arguments in answer.calls] == [
        (call["name"], call["arguments"]) for call in expect["tool_calls"]
    ]
    assert answer.reasoning.strip() == (expect["reasoning"] or "").strip()
    assert bool(answer.malformed) == expect["malformed"]
    assert answer.content.strip() == (expect["content"] or "").strip()


# Calls of any shape, with the marks of every family in their texts.

MARKS = sorted({mark for family in FAMILIES for mark in family.call.landmarks})
NASTY = st.sampled_from(
    [*MARKS, '"', "'", "\\", "{", "}", "[", "]", "(", ")", "```", "\n", " ", "<", "🚀", "null"]
)
TEXT = st.lists(NASTY | st.characters(codec="utf-8"), max_size=6).map("".join)
NAMES = st.from_regex(r"[a-z_][a-zA-Z0-9_]{0,8}", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(st.tuples(NAMES, st.dictionaries(NAMES, VALUES, max_size=3)), min_size=1, max_size=3)

Calls = list[tuple[str, dict[str, Any]]]


def tools_of(calls: Calls) -> Tools:
    """Tools that take such calls: of every argument, the kinds that it comes in."""
    tools: dict[str, Any] = {}
    for name, arguments in calls:
        known = tools.setdefault(name, {"type": "object", "properties": {}})["properties"]
        for key, value in arguments.items():
            known.setdefault(key, {"type": []})["type"].append(kind_of(value))
    return tools


def written(family: Family, calls: Calls) -> str:
    """The calls' text; a style that cannot spell one of them says so."""
    try:
        return family.write_calls(calls)
    except ValueError:
        reject()


@by_family
@settings(max_examples=40)
@given(calls=CALLS, content=st.sampled_from(["", "Sure."]))
def test_what_is_written_is_read_back(family: Family, calls: Calls, content: str) -> None:
    """Names and arguments survive, and the text before them, however the whole is cut."""
    content = content if family.call.begin else ""
    names = [name for name, _ in calls]
    if len(set(names)) < len(names):
        reject()
    text = family.write_text(content, before_calls=True) + written(family, calls)
    answer = read(text, tools_of(calls), family=family)

    assert [(name, json.loads(arguments)) for name, arguments in answer.calls] == calls
    assert (answer.content, answer.reasoning, answer.malformed) == (content, "", [])


@pytest.mark.parametrize(
    ("family", "span"),
    [pytest.param(family, family.reasoning, id=family.name) for family in FAMILIES if family.reasoning],
)
def test_reasoning_comes_before_calls(family: Family, span: Span) -> None:
    """A whole span, as the model writes it, is reasoning, and what follows it is not."""
    calls: Calls = [("f", {"a": "x"}), ("g", {})]
    text = f"Both.{span.end}{span.after}{written(family, calls)}"

    expected = Answer("", "Both.", [("f", '{"a": "x"}'), ("g", "{}")])
    assert read(span.begin + text, tools_of(calls), family=family) == expected
    assert read(text, tools_of(calls), family=family, opens_reasoning=True) == expected


ENVELOPES = [
    pytest.param(family, envelope, id=f"{family.name}-{number}")
    for family in FAMILIES
    if isinstance(family, MarkedFamily)
    for number, envelope in enumerate(family.envelopes)
]


@pytest.mark.parametrize(("family", "envelope"), ENVELOPES)
def test_what_stands_around_the_text_is_no_part_of_it(family: Family, envelope: Envelope) -> None:
    """The user reads the text only, whether a call follows or not, and whether the envelope is closed."""
    calls: Calls = [("f", {"a": "x"})]
    text = f"{envelope.begin}It rains.{envelope.end}"

    assert read(text, family=family) == Answer("It rains.")
    assert read(envelope.begin + "It rains.", family=family).content == "It rains."
    assert read(text, (), family=family).content == "It rains."
    assert read(text + written(family, calls), tools_of(calls), family=family) == Answer(
        "It rains.", "", [("f", '{"a": "x"}')]
    )


# Answers that no one has trained.

TOOLS: Tools = {
    "f": {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}},
    "g": {"type": "object", "properties": {}},
}
GOOD: Calls = [("f", {"a": "x", "n": 1}), ("g", {})]


def bits(family: Family) -> list[str]:
    """What answers of the family are made of, good ones and bad ones."""
    one, other = (family.write_calls([call]) for call in GOOD)
    span = family.reasoning
    spans = [span.begin, span.end] if span else []
    pieces = [one[start : start + 7] for start in range(0, len(one), 7)]
    return [
        one,
        other,
        family.write_calls(GOOD),
        *family.call.landmarks,
        *spans,
        *pieces,
        "x",
        "\n",
        " ",
        '"',
        "}",
    ]


def damaged(family: Family, rng: random.Random) -> str:
    text = "".join(rng.choice(bits(family)) for _ in range(rng.randint(1, 8)))
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(["", "<", "\n", '"', "x"]) + text[at + rng.choice([0, 1, 5]) :]
    return text


@by_family
def test_the_cue_of_a_call_stands_in_every_call(family: Family) -> None:
    """What calls are found by where no marker announces them is a part of what is written."""
    cue = family.call.style.cue("get_zebra")

    assert cue in family.write_calls([("get_zebra", {"a": "b"})])


@by_family
def test_damage_never_crashes_nor_depends_on_the_cut(family: Family) -> None:
    """Whatever the model writes is read in one way, and a call that ends holds one JSON object."""
    for seed in range(100):
        rng = random.Random(seed)
        text = damaged(family, rng)
        for truncated in (False, True):
            whole = feed([text], TOOLS, truncated=truncated, family=family)
            for pieces in (list(text), cut(text, rng)):
                events = feed(pieces, TOOLS, truncated=truncated, family=family)
                assert events == whole, f"seed {seed}: {text!r}"
            for name, arguments in fold(whole).calls:
                assert name in TOOLS
                assert isinstance(json.loads(arguments), dict), f"seed {seed}: {text!r}"


@by_family
def test_text_around_malformed_calls_is_not_lost(family: Family) -> None:
    """Every word of an answer stands in its content, its reasoning, its calls or what was malformed."""
    for seed in range(100):
        rng = random.Random(seed)
        words = [f"w{index}" for index in range(4)]
        text = " ".join(f"{word} {damaged(family, rng)}" for word in words)
        events = feed([text], TOOLS, family=family)
        said = "".join(getattr(event, "text", getattr(event, "raw", "")) for event in events)
        for word in words:
            assert word in said, f"seed {seed}: {text!r}"


@by_family
def test_complete_calls_survive_a_cut_off_one(family: Family) -> None:
    """An answer that ends inside a call has all calls before it, and that one is malformed or text."""
    calls: Calls = [("f", {"a": "x"}), ("f", {"a": "y"}), ("f", {"a": "marked"})]
    text = family.write_calls(calls)
    answer = read(text[: text.index("marked")], TOOLS, family=family, truncated=True)

    assert answer.calls == [("f", '{"a": "x"}'), ("f", '{"a": "y"}')]
    assert len(answer.malformed) == 1
    assert answer.content == ""


@by_family
def test_unknown_tool_costs_its_siblings_nothing(family: Family) -> None:
    """A call to a tool that the request does not have is told as it was written, between good calls."""
    text = family.write_calls([("f", {"a": "x"}), ("unknown", {"a": "y"}), ("g", {})])
    events = feed([text], TOOLS, family=family)

    assert fold(events).calls == [("f", '{"a": "x"}'), ("g", "{}")]
    (lost,) = [event for event in events if isinstance(event, Malformed | Content)]
    assert "unknown" in (lost.raw if isinstance(lost, Malformed) else lost.text)


# Work.


def shapes(family: Family, times: int) -> list[str]:
    """Answers of a length that grows with `times`."""
    almost = "".join(landmark[:4] for landmark in family.call.landmarks) or "</"
    return [
        family.write_calls([("f", {"a": "x y" * 100 * times})]),
        family.write_calls([("f", {"a": almost * 12 * times})]),
        family.write_calls([("f", {"a": "x"})] * 4 * times),
        "".join(family.call.landmarks) * 12 * times,
        (family.call.begin or family.call.lead) + "x" * 300 * times,
    ]


@by_family
def test_work_is_linear_in_every_family(family: Family) -> None:
    """Three times the text is about three times the work, whatever it holds."""
    for small, large in zip(shapes(family, 1), shapes(family, 3), strict=True):
        three, one = (work(family.parser(TOOLS), text, piece=2) for text in (large, small))
        assert three < 3.6 * one, small


@by_family
def test_text_costs_about_the_same_whatever_is_in_it(family: Family) -> None:
    """Line breaks, quotes and tags are in all code, and are no reason to read it slowly."""
    code = '    total += price * count  # "net", <b>not</b> gross\n' * 20
    plain, mixed = (
        work(family.parser(TOOLS), family.write_calls([("f", {"a": text})]), piece=4)
        for text in ("x" * len(code), code)
    )

    assert mixed < 1.4 * plain
