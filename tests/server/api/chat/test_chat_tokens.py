"""A chat answer token by token: stop sequences, logprobs, usage, and a stream that is the whole answer."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.config.settings import Settings, ToolMask
from server.engine.protocol import Finish, TokenLogprob
from server.engine.scripted import Asked, Script
from server.policy import OnViolation
from server.request import SamplingParams
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import Server, Told, always, call, chunks_of, fold, script, serving, told, tool

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
        asked = server.engine.asked[0].sampling
        assert replace(asked, stream_interval=1) == SamplingParams(**expected)


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


TAGS = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
}
MIXED = [tool("look", CITY, strict=True), tool("tag", TAGS, strict=True), tool("ping")]
TAGGED = {"type": "json_schema", "json_schema": {"name": "out", "schema": TAGS, "strict": True}}
NAMED = {"type": "function", "function": {"name": "tag"}}
ARGUMENTS = st.dictionaries(
    st.sampled_from(["city", "n"]), st.integers() | st.text(max_size=5) | st.none(), max_size=2
)
PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["<tool_call>", "</tool_call>", "<think>", "</think>", "\n", "{", "}", "東🍋", "END", "EN"]
    ),
    st.sampled_from(['<tool_call>\n{"name": "look"', call("gone", {}), "<tool_call>[]</tool_call>"]),
    st.sampled_from([json.dumps({"tags": tags}) for tags in (["a"], ["a", "a"])]),
    st.sampled_from([call("tag", {"tags": tags}) for tags in (["a"], ["a", "a"])]),
    st.builds(call, st.sampled_from(["look", "ping"]), ARGUMENTS),
    st.builds("<think>{}</think>".format, st.text(max_size=8)),
)
BODIES = st.fixed_dictionaries(
    {
        "tool_choice": st.sampled_from(["auto", "required", "none", NAMED]),
        "response_format": st.sampled_from([None, {"type": "json_object"}, TAGGED]),
        "stop": st.sampled_from([None, ["END"], ["\n", "}"]]),
        "max_tokens": st.sampled_from([None, None, 5, 20]),
        "logprobs": st.booleans(),
        "strictcall": st.sampled_from([None, *({"on_violation": then} for then in OnViolation)]),
    }
)


def outcome(response: httpx2.Response) -> list[Told] | str:
    """What a client makes of a response, streamed or not: choices, or the code of an error."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        body = response.json()
        return told(body) if response.status_code == 200 else str(body["error"]["code"])
    *chunks, last = chunks_of(response)
    return str(last["error"]["code"]) if "error" in last else told(fold([*chunks, last]))


@pytest.fixture(name="replaying", params=ToolMask)
async def _replaying(
    vocabulary: Vocabulary, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[Server, list[Script]]]:
    """A server that replays the scripts in the list beside it."""
    scripts: list[Script] = []
    current: list[Script] = []

    def replay(asked: Asked) -> Script:
        # Another attempt of a request (chatcmpl-…-0-2) writes what the first one (chatcmpl-…-0) did.
        if asked.request_id.count("-") == 2:
            current[:] = [scripts.pop(0)]
        return current[0]

    async with serving(vocabulary, replay, Settings(tool_mask=request.param)) as server:
        yield server, scripts


@given(
    pieces=st.lists(PIECES, max_size=6),
    size=st.integers(2, 9),
    finish=st.sampled_from(Finish),
    body=BODIES,
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_stream_folds_to_the_answer_that_is_not_streamed(
    vocabulary: Vocabulary,
    replaying: tuple[Server, list[Script]],
    pieces: list[str],
    size: int,
    finish: Finish,
    body: dict[str, Any],
) -> None:
    """Whatever a model writes and however its tokens come, the SDK makes the same answer or error of it."""
    server, scripts = replaying
    steps = script(vocabulary, "".join(pieces) or "a", finish=finish).deltas
    ids = [token_id for step in steps for token_id in step]
    logprobs = [TokenLogprob(token_id, -float(at)) for at, token_id in enumerate(ids)]
    grouped = [ids[at : at + size] for at in range(0, len(ids), size)]
    scripts[:] = [Script(each, finish, logprobs=logprobs) for each in (grouped, grouped, steps, steps)]
    responses = [await server.post(tools=MIXED, stream=stream, **body) for stream in (False, True) * 2]

    whole, *others = map(outcome, responses)
    assert scripts == []
    assert others == [whole] * 3
    if not isinstance(whole, str):
        assert responses[0].json()["usage"] == responses[2].json()["usage"]
