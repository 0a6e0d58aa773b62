"""Streams of the real engine as they stand on the wire, by the rules that the SDKs' accumulators rely on.

Each rule is checked on every kind of stream: text, calls, an answer in a schema, with one choice and two.
"""

import collections
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pydantic_core
import pytest
import pytest_asyncio
from openai.types.chat import ChatCompletionChunk

from tests.engine.conftest import MODEL, RunningServer

pytestmark = pytest.mark.engine


def function(name: str, **properties: list[str]) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {key: {"enum": values} for key, values in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters, "strict": True}}


TOOLS = [function("get_weather", city=["Oslo", "Paris"]), function("get_time", zone=["UTC", "CET"])]
MOOD = {"name": "mood", "schema": {"enum": ["good", "bad", {"mixed": ["good", "bad"]}]}, "strict": True}
USAGE = {"stream_options": {"include_usage": True}}
REQUESTS: dict[str, dict[str, Any]] = {
    "text": {"max_tokens": 8},
    "text-of-two": {"max_tokens": 8, "n": 2, "logprobs": True, "top_logprobs": 1, **USAGE},
    "auto": {"tools": TOOLS, "max_tokens": 40, "n": 2, **USAGE},
    "calls": {"tools": TOOLS, "tool_choice": "required", "max_tokens": 90, "n": 2, **USAGE},
    "one-call": {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 60},
    "schema": {"response_format": {"type": "json_schema", "json_schema": MOOD}, "max_tokens": 40, "n": 2},
    "cut-call": {"tools": TOOLS, "tool_choice": "required", "max_tokens": 12},
}


@dataclass(frozen=True, slots=True)
class Stream:
    """One streamed answer: what was asked, the response's headers, its lines, and its parsed chunks."""

    asked: dict[str, Any]
    content_type: str
    lines: list[str]

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [json.loads(line.removeprefix("data: ")) for line in self.lines if line.startswith("data: {")]

    @property
    def choices(self) -> dict[int, list[dict[str, Any]]]:
        """The choices of all chunks, in order, by their index."""
        found = collections.defaultdict(list)
        for chunk in self.chunks:
            for choice in chunk["choices"]:
                found[choice["index"]].append(choice)
        return found

    @property
    def calls(self) -> dict[int, list[dict[str, Any]]]:
        """The pieces of calls, in order, by the index of their choice."""
        return {
            index: [call for choice in choices for call in choice["delta"].get("tool_calls", [])]
            for index, choices in self.choices.items()
        }

    @property
    def arguments(self) -> list[list[str]]:
        """The pieces of arguments of each call, over all choices."""
        found: dict[tuple[int, int], list[str]] = collections.defaultdict(list)
        for index, pieces in self.calls.items():
            for piece in pieces:
                found[index, piece["index"]].append(piece["function"]["arguments"])
        return list(found.values())


@pytest_asyncio.fixture(name="stream", scope="module", params=REQUESTS)
async def _stream(server: RunningServer, request: pytest.FixtureRequest) -> AsyncIterator[Stream]:
    asked = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "What is the weather in Oslo, and what time is it?"}],
        "temperature": 1,
        "seed": 5,
        "stream": True,
        **REQUESTS[request.param],
    }
    async with server.http.stream("POST", "/v1/chat/completions", json=asked) as response:
        lines = [line async for line in response.aiter_lines()]
        yield Stream(asked, response.headers["content-type"], lines)


async def test_the_stream_is_data_lines_and_ends_with_done(stream: Stream) -> None:
    """No `id:`, `event:` or empty `data:`: with any of them some client fails."""
    assert stream.content_type.startswith("text/event-stream")
    assert all(line.startswith("data: {") for line in stream.lines[:-2:2])
    assert all(line == "" for line in stream.lines[1::2])
    assert [line for line in stream.lines if line][-1] == "data: [DONE]"


async def test_every_chunk_is_one_of_the_same_answer(stream: Stream) -> None:
    """One id, time and model, the object that the SDK does not skip, and a list of choices."""
    heads = {(chunk["id"], chunk["created"], chunk["model"], chunk["object"]) for chunk in stream.chunks}

    [(id_, _, model, kind)] = heads
    assert id_.startswith("chatcmpl-")
    assert (model, kind) == (MODEL, "chat.completion.chunk")
    assert all(isinstance(chunk["choices"], list) for chunk in stream.chunks)
    assert all(ChatCompletionChunk.model_validate(chunk, strict=True) for chunk in stream.chunks)


async def test_choices_open_in_order_and_say_their_role_once(stream: Stream) -> None:
    """The first chunk of a choice has the role, none after it; accumulators append it otherwise."""
    opened = [choice["index"] for chunk in stream.chunks for choice in chunk["choices"]][
        : len(stream.choices)
    ]

    assert opened == list(range(stream.asked.get("n", 1)))
    for choices in stream.choices.values():
        assert choices[0]["delta"] == {"role": "assistant", "content": ""}
        assert not any("role" in choice["delta"] for choice in choices[1:])


async def test_a_call_opens_with_all_it_needs_and_goes_on_with_arguments_alone(stream: Stream) -> None:
    """Indices count from 0 without a gap; id, type and the whole name come first and never again."""
    for pieces in stream.calls.values():
        seen = 0
        for piece in pieces:
            if piece["index"] == seen:
                assert piece.keys() == {"index", "id", "type", "function"}
                assert piece["id"].startswith("call_")
                assert piece["type"] == "function"
                assert piece["function"]["name"] in ("get_weather", "get_time")
                assert piece["function"]["arguments"] == ""
                seen += 1
            else:
                assert piece["index"] == seen - 1
                assert piece.keys() == {"index", "function"}
                assert piece["function"].keys() == {"arguments"}


async def test_arguments_and_answers_in_a_schema_are_json_from_their_first_character(stream: Stream) -> None:
    """The SDK parses what has come at every chunk; a word around the JSON ends its stream."""
    texts = stream.arguments
    if "response_format" in stream.asked:
        texts += [
            [choice["delta"].get("content", "") for choice in choices] for choices in stream.choices.values()
        ]
    for pieces in texts:
        said = ""
        for piece in pieces:
            said += piece
            assert not said or pydantic_core.from_json(said, allow_partial="trailing-strings") is not None
        if "length" not in finish_reasons(stream):
            assert json.loads(said) is not None


def finish_reasons(stream: Stream) -> list[str]:
    """The finish reason of each choice, which stands in its last chunk and there only."""
    reasons = []
    for _, choices in sorted(stream.choices.items()):
        *before, last = choices
        assert not any(choice["finish_reason"] for choice in before)
        assert last["delta"] == {}
        reasons.append(last["finish_reason"])
    return reasons


async def test_each_choice_finishes_once_and_with_nothing_after_it(stream: Stream) -> None:
    """The reason says whether to run calls, and whether the answer was cut."""
    reasons = finish_reasons(stream)

    assert len(reasons) == stream.asked.get("n", 1)
    for index, reason in enumerate(reasons):
        assert reason in ("stop", "length", "tool_calls")
        assert (reason == "tool_calls") <= bool(stream.calls[index])
        assert (reason == "stop") <= (not stream.calls[index])


async def test_usage_is_the_last_chunk_and_only_where_it_was_asked_for(stream: Stream) -> None:
    """A chunk without choices that nobody asked for breaks naive clients."""
    if "stream_options" not in stream.asked:
        assert all(len(chunk["choices"]) == 1 and "usage" not in chunk for chunk in stream.chunks)
        return
    *before, last = stream.chunks
    assert all(len(chunk["choices"]) == 1 and chunk["usage"] is None for chunk in before)
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens"] > 0
    assert 0 < last["usage"]["completion_tokens"] <= stream.asked["max_tokens"] * stream.asked.get("n", 1)


async def test_a_delta_has_only_what_accumulators_know(stream: Stream) -> None:
    """They sum numbers and refuse lists whose entries have no index."""
    deltas = [choice["delta"] for choices in stream.choices.values() for choice in choices]

    assert set().union(*deltas) <= {"role", "content", "tool_calls"}
    assert all(isinstance(delta.get("content", ""), str) for delta in deltas)


async def test_text_comes_before_calls(stream: Stream) -> None:
    """The SDK ends the content at the first call; no text comes after that."""
    for choices in stream.choices.values():
        kinds = [
            "tool_calls" in c["delta"]
            for c in choices
            if c["delta"].get("content") or "tool_calls" in c["delta"]
        ]
        assert kinds == sorted(kinds)


async def test_logprobs_stand_with_the_tokens_they_are_of(stream: Stream) -> None:
    """Where they were asked for they are all there, and else they are null."""
    for choices in stream.choices.values():
        entries = [entry for choice in choices for entry in (choice["logprobs"] or {}).get("content", [])]
        said = "".join(choice["delta"].get("content") or "" for choice in choices)
        if stream.asked.get("logprobs"):
            assert "".join(entry["token"] for entry in entries).strip() == said.strip()
        else:
            assert entries == []
