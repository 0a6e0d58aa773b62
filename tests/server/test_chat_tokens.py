"""A chat answer token by token: stop sequences, logprobs, usage, and a stream that is the whole answer."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.engine.protocol import Finish, TokenLogprob
from server.engine.scripted import Script
from server.request import SamplingParams
from server.settings import Settings, ToolMask
from server.vocabulary import Vocabulary
from tests.server.scripted import Told, always, call, fold, script, serving, told, tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
LIMA = ("look", '{"city": "Lima"}')
CALL = call("look", {"city": "Lima"})
TOOLS = [tool("look", CITY), tool("ping")]


@pytest.mark.parametrize("text", ["Hello 東🍋.", f"Sure.\n{CALL}", f"<think>Hm.</think>{CALL}"])
@pytest.mark.parametrize("size", [1, 3])
async def test_logprobs_are_those_of_every_visible_token(
    vocabulary: Vocabulary, text: str, size: int
) -> None:
    """Also of those a call is made of, in their order, streamed or not; the end token has none."""
    ids = vocabulary.encode(text)
    known = [TokenLogprob(id, -0.25 * at, ((id, -0.25 * at), (5, -9.0))) for at, id in enumerate([*ids, 2])]
    steps = [[*ids, 2][at : at + size] for at in range(0, len(ids) + 1, size)]
    async with serving(vocabulary, lambda _: Script(steps, logprobs=known)) as server:
        [answer] = await server.answers(tools=TOOLS, logprobs=True, top_logprobs=2)
        raw = (await server.chat(tools=TOOLS, logprobs=True, top_logprobs=2))["choices"][0]["logprobs"]

    expected = tuple((vocabulary.token_text(id), -0.25 * at) for at, id in enumerate(ids))
    assert answer.logprobs == expected
    assert b"".join(bytes(entry["bytes"]) for entry in raw["content"]).decode() == text
    assert [len(entry["top_logprobs"]) for entry in raw["content"]] == [2] * len(ids)


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("END", Told("One ")),
        (["two", "END"], Told("One ")),
        (["three"], Told("One END two")),
    ],
)
@pytest.mark.parametrize("size", [1, 50])
async def test_a_stop_sequence_ends_the_answer_and_the_generation(
    vocabulary: Vocabulary, stop: Any, expected: Told, size: int
) -> None:
    """The engine is not asked to go on, and usage does not depend on how its tokens came."""
    async with serving(vocabulary, always(vocabulary, "One END two", size=size)) as server:
        assert await server.answers(stop=stop) == [expected]
        usage = (await server.chat(stop=stop))["usage"]

    said = "One END" if expected.content == "One " else "One END two"
    ended = expected.content != "One "
    assert usage["completion_tokens"] == len(vocabulary.encode(said)) + ended


async def test_a_stop_sequence_inside_a_call_does_not_stop_it(vocabulary: Vocabulary) -> None:
    """The arguments may spell it; the text before the call may not."""
    async with serving(vocabulary, always(vocabulary, f"Lim{CALL}")) as server:
        [answer] = await server.answers(tools=TOOLS, stop=["Lima", "tool_call", '"'])

    assert answer == Told("Lim", calls=(LIMA,), finish="tool_calls")


async def test_sampling_reaches_the_engine_as_it_was_asked(vocabulary: Vocabulary) -> None:
    """Every field, the budget as a cap."""
    sampling = {
        "temperature": 0.5,
        "top_p": 0.25,
        "top_k": 7,
        "min_p": 0.125,
        "frequency_penalty": 1.0,
        "presence_penalty": -1.0,
        "repetition_penalty": 1.5,
        "seed": 3,
    }
    async with serving(vocabulary, ["Hi."]) as server:
        await server.chat(**sampling, logit_bias={"5": -100}, max_completion_tokens=9, max_tokens=8)

        expected: dict[str, Any] = {**sampling, "logit_bias": {5: -100.0}, "max_tokens": 9}
        assert server.engine.asked[0].sampling == SamplingParams(**expected)


@pytest.mark.parametrize(
    ("options", "has_usage"), [({}, False), ({"include_usage": True}, True), (None, False)]
)
async def test_a_stream_tells_its_usage_only_when_asked(
    vocabulary: Vocabulary, options: dict[str, Any] | None, *, has_usage: bool
) -> None:
    """A chunk without choices comes last, or not at all (fault B206)."""
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        whole = await server.chat()
        chunks = await server.stream(stream_options=options)

    usages = [chunk["usage"] for chunk in chunks if chunk.get("usage")]
    assert usages == ([whole["usage"]] if has_usage else [])
    assert all(chunk["choices"] for chunk in chunks[:-1])


ARGUMENTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5) | st.none(), max_size=2)
PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["<tool_call>", "</tool_call>", "<think>", "</think>", "\n", "{", "}", '"', "東🍋", "END", "EN"]
    ),
    st.sampled_from(
        ["<tool_call>\n{", '<tool_call>\n{"name": "look"', call("gone", {}), "<tool_call>[]</tool_call>"]
    ),
    st.builds(call, st.sampled_from(["look", "ping"]), ARGUMENTS),
    st.builds("<think>{}</think>".format, st.text(max_size=8)),
)


@pytest.mark.parametrize("mask", ToolMask)
@given(
    pieces=st.lists(PIECES, max_size=6),
    size=st.integers(1, 9),
    finish=st.sampled_from(Finish),
    stop=st.sampled_from([None, ["END"], ["\n", "}"]]),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_stream_folds_to_the_answer_that_is_not_streamed(
    vocabulary: Vocabulary, mask: ToolMask, pieces: list[str], size: int, finish: Finish, stop: Any
) -> None:
    """Whatever a model writes and however its tokens come, the SDK's accumulator makes the same message."""
    text = "".join(pieces) or "a"
    sizes = [size, size, 1]
    scripts = [script(vocabulary, text, finish=finish, size=each) for each in sizes]
    async with serving(vocabulary, scripts, Settings(tool_mask=mask)) as server:
        whole = await server.chat(tools=TOOLS, stop=stop)
        streamed = fold(await server.stream(tools=TOOLS, stop=stop))
        slow = await server.chat(tools=TOOLS, stop=stop)

    assert told(streamed) == told(whole) == told(slow)
    assert slow["usage"] == whole["usage"]
