"""The official Python SDK against the whole application: what its users write is what works."""

import json
from typing import Any

import openai
import pytest
from openai.lib.streaming.chat import (
    ContentDeltaEvent,
    FunctionToolCallArgumentsDeltaEvent,
    FunctionToolCallArgumentsDoneEvent,
)
from openai.types.chat import ChatCompletionChunk
from pydantic import BaseModel

from server.engine.protocol import EngineError, Finish
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import QUESTION, always, call, script, serving, tool

MESSAGES: Any = QUESTION
UNIQUE = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
    "additionalProperties": False,
}


class Weather(BaseModel):
    """Look at the sky."""

    city: str
    days: int


WEATHER: Any = openai.pydantic_function_tool(Weather, name="weather")
CALL = call("weather", {"city": "Lima", "days": 2})


async def test_create_gives_a_call_that_parses(vocabulary: Vocabulary) -> None:
    """The call of the README."""
    async with serving(vocabulary, ["Sure.\n" + CALL]) as server:
        answer = await server.sdk.chat.completions.create(model="smol", messages=MESSAGES, tools=[WEATHER])

    message = answer.choices[0].message
    assert message.content == "Sure."
    assert message.tool_calls is not None
    [each] = message.tool_calls
    assert each.type == "function"
    assert json.loads(each.function.arguments) == {"city": "Lima", "days": 2}


async def test_parse_gives_the_model_of_the_arguments(vocabulary: Vocabulary) -> None:
    """The SDK's own strict schema is one that the server takes."""
    async with serving(vocabulary, [CALL]) as server:
        answer = await server.sdk.chat.completions.parse(model="smol", messages=MESSAGES, tools=[WEATHER])

        assert (
            server.metric("strictcall_tool_calls_total", choice="auto", constraint="schema", family="hermes")
            == 1
        )

    calls = answer.choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].function.parsed_arguments == Weather(city="Lima", days=2)


async def test_parse_gives_the_model_of_the_answer(vocabulary: Vocabulary) -> None:
    """`response_format` may be a pydantic class."""
    async with serving(vocabulary, ['{"city": "Lima", "days": 2}']) as server:
        answer = await server.sdk.chat.completions.parse(
            model="smol", messages=MESSAGES, response_format=Weather
        )

    assert answer.choices[0].message.parsed == Weather(city="Lima", days=2)


async def test_parse_says_that_an_answer_was_cut(vocabulary: Vocabulary) -> None:
    """`length` is what the SDK tells it by, instead of failing on half a JSON."""
    async with serving(vocabulary, [script(vocabulary, '{"city": "Li', finish=Finish.LENGTH)]) as server:
        with pytest.raises(openai.LengthFinishReasonError):
            await server.sdk.chat.completions.parse(model="smol", messages=MESSAGES, response_format=Weather)


async def test_stream_gives_the_events_of_a_call(vocabulary: Vocabulary) -> None:
    """Arguments grow piece by piece, are done once, and the final completion has them parsed."""
    async with (
        serving(vocabulary, ["Sure.\n" + CALL]) as server,
        server.sdk.chat.completions.stream(model="smol", messages=MESSAGES, tools=[WEATHER]) as stream,
    ):
        events = [event async for event in stream]
        final = await stream.get_final_completion()

    text = "".join(event.delta for event in events if isinstance(event, ContentDeltaEvent))
    deltas = [event for event in events if isinstance(event, FunctionToolCallArgumentsDeltaEvent)]
    done = [event for event in events if isinstance(event, FunctionToolCallArgumentsDoneEvent)]
    assert text == "Sure."
    assert len(deltas) > 3
    assert deltas[-1].arguments == '{"city": "Lima", "days": 2}'
    assert [event.parsed_arguments for event in done] == [Weather(city="Lima", days=2)]
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.choices[0].message.tool_calls is not None
    assert final.choices[0].message.tool_calls[0].function.parsed_arguments == Weather(city="Lima", days=2)


async def test_stream_keeps_choices_and_calls_apart(vocabulary: Vocabulary) -> None:
    """Two choices of two calls each, written side by side: the accumulator mixes none of them up."""
    other = call("ping", {"n": 1})
    tools = [WEATHER, tool("ping")]
    scripts = [script(vocabulary, f"{CALL}\n{other}"), script(vocabulary, f"{other}\n{CALL}", size=3)]
    async with serving(vocabulary, lambda asked: scripts[int(asked.request_id[-1])]) as server:
        request: Any = {"model": "smol", "messages": MESSAGES, "tools": tools, "n": 2}
        async with server.sdk.chat.completions.stream(**request) as stream:
            final = await stream.get_final_completion()

    names = [[each.function.name for each in choice.message.tool_calls or ()] for choice in final.choices]
    ids = {each.id for choice in final.choices for each in choice.message.tool_calls or ()}
    assert names == [["weather", "ping"], ["ping", "weather"]]
    assert len(ids) == 4


async def test_raw_responses_have_the_headers(vocabulary: Vocabulary) -> None:
    """The id of the request is what a user reports; the same client sees the body as it was sent."""
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        raw = await server.sdk.chat.completions.with_raw_response.create(model="smol", messages=MESSAGES)
        async with server.sdk.chat.completions.with_streaming_response.create(
            model="smol", messages=MESSAGES, stream=True
        ) as streamed:
            lines = [line async for line in streamed.iter_lines() if line]

    assert raw.headers["x-request-id"] == raw.parse()._request_id
    assert int(raw.headers["openai-processing-ms"]) >= 0
    assert json.loads(raw.http_response.text)["object"] == "chat.completion"
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"model": "gpt-4o"}, openai.NotFoundError),
        ({"n": 0}, openai.BadRequestError),
        ({"messages": [{"role": "user", "content": "word " * 9000}]}, openai.BadRequestError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_refusals_are_the_sdks_own_errors(
    vocabulary: Vocabulary, body: dict[str, Any], error: type[openai.APIStatusError], *, stream: bool
) -> None:
    """With code and param, which programs branch on, and the id of the request."""
    request: Any = {"model": "smol", "messages": MESSAGES, "stream": stream, **body}
    async with serving(vocabulary, []) as server:
        with pytest.raises(error) as caught:
            await server.sdk.chat.completions.create(**request)

    assert caught.value.param == next(iter(body))
    assert caught.value.code
    assert (caught.value.request_id or "").startswith("req_")


async def test_a_strict_call_outside_its_schema_is_not_tried_again_unasked(vocabulary: Vocabulary) -> None:
    """The server has tried its two times; `x-should-retry` tells the SDK to leave it at that."""
    tags: Any = [tool("tag", UNIQUE, strict=True)]
    async with serving(vocabulary, always(vocabulary, call("tag", {"tags": ["a", "a"]}))) as server:
        with pytest.raises(openai.InternalServerError) as caught:
            await server.sdk.with_options(max_retries=3).chat.completions.create(
                model="smol", messages=MESSAGES, tools=tags
            )

        assert caught.value.code == "schema_violation"
        assert [asked.request_id[-2:] for asked in server.engine.asked] == ["-0", "-2"]


async def test_a_failure_of_the_engine_is_tried_again(vocabulary: Vocabulary) -> None:
    """It may go well the next time, and the user sees only that."""
    scripts = [Script([], error=EngineError("out of pages")), script(vocabulary, "Hi.")]
    async with serving(vocabulary, scripts) as server:
        raw = await server.sdk.with_options(max_retries=1).chat.completions.with_raw_response.create(
            model="smol", messages=MESSAGES
        )

        assert raw.retries_taken == 1
        assert raw.parse().choices[0].message.content == "Hi."
        assert len(server.engine.asked) == 2


async def test_an_error_in_a_stream_is_raised_where_it_stands(vocabulary: Vocabulary) -> None:
    """What came before it was given; then the SDK raises."""
    broken = Script([[each] for each in vocabulary.encode("Hello there")], error=EngineError("gone"))
    async with serving(vocabulary, [broken]) as server:
        stream = await server.sdk.chat.completions.create(model="smol", messages=MESSAGES, stream=True)
        chunks: list[ChatCompletionChunk] = []

        async def read() -> None:
            async for chunk in stream:
                chunks.append(chunk)  # noqa: PERF401 - a comprehension would lose them with the error

        with pytest.raises(openai.APIError, match="The engine failed on this request") as caught:
            await read()

    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello there"
    assert caught.value.code == "engine_error"


async def test_a_dead_engine_is_an_internal_server_error(vocabulary: Vocabulary) -> None:
    """503 is one that the SDK would try again, by then perhaps at another server."""
    async with serving(vocabulary, []) as server:
        server.engine.dead = True
        with pytest.raises(openai.InternalServerError) as caught:
            await server.sdk.chat.completions.create(model="smol", messages=MESSAGES)

    assert (caught.value.status_code, caught.value.code) == (503, "engine_dead")
