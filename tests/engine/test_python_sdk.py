"""The official Python SDK against the running server, as its users write it, on the real engine."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Literal

import openai
import pytest
from openai.lib.streaming.chat import (
    ContentDeltaEvent,
    ContentDoneEvent,
    FunctionToolCallArgumentsDeltaEvent,
    FunctionToolCallArgumentsDoneEvent,
)
from pydantic import BaseModel

from tests.engine.conftest import MODEL, RunningServer

pytestmark = pytest.mark.engine


class Weather(BaseModel):
    """Look at the sky."""

    city: Literal["Oslo", "Paris"]
    unit: Literal["celsius", "fahrenheit"]


class Reply(BaseModel):
    """How somebody feels."""

    mood: Literal["good", "bad"]
    certain: bool


QUESTION: list[Any] = [{"role": "user", "content": "What is the weather in Oslo, in celsius?"}]
TOOL: Any = openai.pydantic_function_tool(Weather, name="get_weather")
CALL: dict[str, Any] = {
    "model": MODEL,
    "messages": QUESTION,
    "tools": [TOOL],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "temperature": 0,
    "max_completion_tokens": 80,
}
ANSWER: dict[str, Any] = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "I love it. How do I feel?"}],
    "response_format": Reply,
    "temperature": 0,
    "max_completion_tokens": 40,
}
TEXT: dict[str, Any] = {"model": MODEL, "messages": QUESTION, "temperature": 0, "max_completion_tokens": 6}

Ask = Callable[..., Awaitable[Any]]
"""Calls a method of `chat.completions` by its name: `await ask("parse", **CALL)`."""


@pytest.fixture(name="blocking", scope="module")
def _blocking(base_url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=base_url, api_key="none", timeout=300, max_retries=0) as client:
        yield client


@pytest.fixture(name="ask", params=["async", "sync"])
def _ask(server: RunningServer, blocking: openai.OpenAI, request: pytest.FixtureRequest) -> Ask:
    async def ask(method: str, **body: Any) -> Any:
        if request.param == "async":
            return await getattr(server.sdk.chat.completions, method)(**body)
        return await asyncio.to_thread(getattr(blocking.chat.completions, method), **body)

    return ask


async def test_create_gives_a_strict_call(ask: Ask) -> None:
    """The README's call: its name is the tool's, and its arguments are what the class takes."""
    answer = await ask("create", **CALL)

    [choice] = answer.choices
    [call] = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert call.id.startswith("call_")
    assert (call.type, call.function.name) == ("function", "get_weather")
    Weather.model_validate_json(call.function.arguments)


async def test_parse_gives_the_arguments_as_the_tools_class(ask: Ask) -> None:
    """The strict schema that the SDK makes of a class is one that the mask holds."""
    answer = await ask("parse", **CALL)

    [call] = answer.choices[0].message.tool_calls
    assert call.function.parsed_arguments == Weather.model_validate_json(call.function.arguments)


async def test_parse_gives_the_answer_as_the_formats_class(ask: Ask) -> None:
    """`response_format` may be a class, and the answer is one of its values."""
    answer = await ask("parse", **ANSWER)

    [choice] = answer.choices
    assert choice.finish_reason == "stop"
    assert choice.message.parsed == Reply.model_validate_json(choice.message.content)


@pytest.mark.parametrize("seed", range(4))
async def test_parse_with_tools_and_a_format_gives_one_of_them(server: RunningServer, seed: int) -> None:
    """Calls that fit the tool, or an answer that fits the format, and never neither."""
    request = {**ANSWER, "tools": [TOOL], "temperature": 1, "seed": seed, "max_completion_tokens": 80}
    request |= {"parallel_tool_calls": False}
    answer = await server.sdk.chat.completions.parse(**request)

    message = answer.choices[0].message
    calls = [call.function.parsed_arguments for call in message.tool_calls or ()]
    assert all(isinstance(each, Weather) for each in calls)
    assert calls or isinstance(message.parsed, Reply)
    assert answer.choices[0].finish_reason == ("tool_calls" if calls else "stop")


async def streamed(server: RunningServer, blocking: openai.OpenAI, kind: str, **body: Any) -> Any:
    """All events of a stream and its final completion, by the one client or the other."""

    def block() -> Any:
        with blocking.chat.completions.stream(**body) as stream:
            return list(stream), stream.get_final_completion()

    if kind == "sync":
        return await asyncio.to_thread(block)
    async with server.sdk.chat.completions.stream(**body) as stream:
        return [event async for event in stream], await stream.get_final_completion()


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_stream_gives_arguments_as_they_grow(
    server: RunningServer, blocking: openai.OpenAI, kind: str
) -> None:
    """Each delta adds to the arguments, `done` comes once with all of them, parsed."""
    events, final = await streamed(server, blocking, kind, **CALL)

    deltas = [event for event in events if isinstance(event, FunctionToolCallArgumentsDeltaEvent)]
    [done] = [event for event in events if isinstance(event, FunctionToolCallArgumentsDoneEvent)]
    [call] = final.choices[0].message.tool_calls
    # How many depends on how fast they are fetched.
    assert len(deltas) > 1
    assert "".join(event.arguments_delta for event in deltas) == done.arguments == call.function.arguments
    assert isinstance(done.parsed_arguments, Weather)
    assert done.parsed_arguments == call.function.parsed_arguments
    assert final.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_stream_gives_the_answer_as_it_grows(
    server: RunningServer, blocking: openai.OpenAI, kind: str
) -> None:
    """Each delta adds to the content, which can be parsed in part, and `done` has the value."""
    events, final = await streamed(server, blocking, kind, **ANSWER)

    deltas = [event for event in events if isinstance(event, ContentDeltaEvent)]
    [done] = [event for event in events if isinstance(event, ContentDoneEvent)]
    # How many depends on how fast they are fetched.
    assert len(deltas) > 1
    assert "".join(event.delta for event in deltas) == done.content == final.choices[0].message.content
    assert all(isinstance(event.parsed, dict) for event in deltas[1:])
    assert done.parsed == final.choices[0].message.parsed == Reply.model_validate_json(done.content)


async def test_a_raw_response_has_the_headers(server: RunningServer) -> None:
    """The id is the client's own if it sent one, and the SDK finds it on the answer."""
    raw = await server.sdk.chat.completions.with_raw_response.create(
        **TEXT, extra_headers={"x-request-id": "my-id-7"}
    )
    own = await server.sdk.chat.completions.with_raw_response.create(**{**TEXT, "stream": True})
    async for _ in own.parse():
        pass

    assert raw.headers["x-request-id"] == "my-id-7" == raw.parse()._request_id
    assert int(raw.headers["openai-processing-ms"]) > 0
    assert own.headers["x-request-id"].startswith("req_")
    assert own.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("method", ["create", "parse", "stream"])
async def test_a_call_its_result_and_an_answer(server: RunningServer, method: str) -> None:
    """What the SDK gives is sent back as it dumps it, with all its extra keys, and the model reads it."""
    completions = server.sdk.chat.completions
    if method == "stream":
        async with completions.stream(**CALL) as stream:
            first: Any = await stream.get_final_completion()
    else:
        first = await getattr(completions, method)(**CALL)
    [call] = first.choices[0].message.tool_calls
    messages = [
        *QUESTION,
        first.choices[0].message.model_dump(),
        {"role": "tool", "tool_call_id": call.id, "content": "It is 12 degrees."},
    ]
    second = await completions.parse(
        **{**ANSWER, "messages": messages, "tools": [TOOL], "tool_choice": "none"}
    )
    asked = {"model": MODEL, "messages": messages, "tools": [TOOL], "tool_choice": "none"}
    tokens = (await server.http.post("/tokenize", content=json.dumps(asked, default=dict))).json()
    prompt = (await server.http.post("/detokenize", json={"tokens": tokens["tokens"]})).json()["prompt"]

    assert isinstance(second.choices[0].message.parsed, Reply)
    assert second.usage is not None
    assert second.usage.prompt_tokens == tokens["count"]
    assert json.loads(call.function.arguments)["city"] in prompt
    assert "It is 12 degrees." in prompt
