"""Anthropic's Python SDK against the running server, as its users write it, on the real engine."""

from collections.abc import AsyncIterator
from typing import Any, Literal

import anthropic
import pytest
import pytest_asyncio
from pydantic import BaseModel

from tests.engine.conftest import MODEL, RunningServer

pytestmark = pytest.mark.engine


class Weather(BaseModel):
    """Look at the sky."""

    city: Literal["Oslo", "Paris"]
    unit: Literal["celsius", "fahrenheit"]


QUESTION: list[Any] = [{"role": "user", "content": "What is the weather in Oslo, in celsius?"}]
TOOL: Any = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "input_schema": anthropic.transform_schema(Weather),
    "input_examples": [{"city": "Paris", "unit": "celsius"}],
    "strict": True,
}
CALL: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 80,
    "messages": QUESTION,
    "tools": [TOOL],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    # The server takes a temperature, and this SDK has no word for it.
    "extra_body": {"temperature": 0},
}
TEXT: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 6,
    "messages": QUESTION,
    "extra_body": {"temperature": 0},
}


@pytest_asyncio.fixture(name="sdk", loop_scope="session")
async def _sdk(server: RunningServer) -> AsyncIterator[anthropic.AsyncAnthropic]:
    origin = server.base_url.removesuffix("/v1")
    async with anthropic.AsyncAnthropic(
        base_url=origin, api_key="none", timeout=300, max_retries=0
    ) as client:
        yield client


async def test_a_forced_call_goes_round(sdk: anthropic.AsyncAnthropic) -> None:
    """A strict call, its result by the SDK's own blocks, and an answer that stops at the budget."""
    asked = await sdk.messages.create(**CALL)
    [use] = asked.content
    assert (asked.stop_reason, use.type) == ("tool_use", "tool_use")
    assert isinstance(use, anthropic.types.ToolUseBlock)
    Weather.model_validate(use.input)

    result = {"type": "tool_result", "tool_use_id": use.id, "content": "No station.", "is_error": True}
    history = [
        *QUESTION,
        {"role": "assistant", "content": asked.content},
        {"role": "user", "content": [result]},
    ]
    answer = await sdk.messages.create(
        **{**CALL, "messages": history, "tool_choice": {"type": "none"}, "max_tokens": 6}
    )

    assert answer.stop_reason in ("max_tokens", "end_turn")
    assert answer.usage.output_tokens <= 6


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "get_weather"}])
async def test_a_stream_is_the_message(sdk: anthropic.AsyncAnthropic, choice: Any) -> None:
    """The accumulated message is what the same request gives whole."""
    request = {**CALL, "tool_choice": {**choice, "disable_parallel_tool_use": True}}
    whole = await sdk.messages.create(**request)
    async with sdk.messages.stream(**request) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_message()

    [said], [streamed] = whole.content, final.content
    assert isinstance(said, anthropic.types.ToolUseBlock)
    assert isinstance(streamed, anthropic.types.ToolUseBlock)
    assert (streamed.name, streamed.input) == (said.name, said.input)
    assert final.usage.output_tokens == whole.usage.output_tokens
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")


async def test_parse_gives_the_model_of_the_answer(sdk: anthropic.AsyncAnthropic) -> None:
    """`output_config.format` holds the text to the schema."""
    answer = await sdk.messages.parse(**{**TEXT, "max_tokens": 60}, output_format=Weather)

    assert isinstance(answer.parsed_output, Weather)


async def test_count_tokens_is_what_the_message_takes(sdk: anthropic.AsyncAnthropic) -> None:
    """With tools and system, and with what the cache had."""
    body: Any = {"model": MODEL, "messages": QUESTION, "tools": [TOOL], "system": "Be brief."}
    counted = await sdk.messages.count_tokens(**body)
    usage = (await sdk.messages.create(**body, max_tokens=1)).usage

    assert usage.cache_read_input_tokens is not None
    assert counted.input_tokens == usage.input_tokens + usage.cache_read_input_tokens


async def test_a_stop_sequence_is_named(sdk: anthropic.AsyncAnthropic) -> None:
    """What the model writes first is made the sequence that stops it."""
    [block] = (await sdk.messages.create(**TEXT)).content
    assert isinstance(block, anthropic.types.TextBlock)
    stop = block.text[3:8]
    answer = await sdk.messages.create(**TEXT, stop_sequences=["never to be seen", stop])

    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", stop)


@pytest.mark.parametrize(
    ("body", "error", "type_"),
    [
        ({"max_tokens": 0}, anthropic.BadRequestError, "invalid_request_error"),
        ({"model": "gone"}, anthropic.NotFoundError, "not_found_error"),
        (
            {"tools": [{**TOOL, "input_examples": [{"city": "Rome"}]}]},
            anthropic.BadRequestError,
            "invalid_request_error",
        ),
    ],
    ids=["no-budget", "no-model", "wrong-example"],
)
async def test_errors_are_the_sdks_own(
    sdk: anthropic.AsyncAnthropic, body: Any, error: type[anthropic.APIStatusError], type_: str
) -> None:
    """Each has its class, its type and the id of its request."""
    with pytest.raises(error) as caught:
        await sdk.messages.create(**{**CALL, **body})

    assert caught.value.type == type_
    assert caught.value.request_id is not None
