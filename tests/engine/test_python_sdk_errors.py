"""What goes wrong, as a user of the official Python SDK meets it: exception classes, codes and retries."""

import asyncio
from typing import Any, Literal

import openai
import pytest
from openai.lib.streaming.chat import FunctionToolCallArgumentsDeltaEvent, FunctionToolCallArgumentsDoneEvent
from pydantic import BaseModel

from tests.engine.conftest import MODEL, RunningEngine, RunningServer

pytestmark = pytest.mark.engine

END = "2"
"""The token that ends an answer; without it one goes on until its budget ends."""


class Weather(BaseModel):
    """Look at the sky."""

    city: Literal["Oslo", "Paris"]
    unit: Literal["celsius", "fahrenheit"]


TEXT: dict[str, Any] = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
    "temperature": 0,
    "max_completion_tokens": 80,
}
CALL: dict[str, Any] = {
    **TEXT,
    "tools": [openai.pydantic_function_tool(Weather, name="get_weather")],
    "tool_choice": "required",
    "parallel_tool_calls": False,
}


async def test_a_cut_answer_is_the_sdks_length_error(server: RunningServer) -> None:
    """The SDK says that the budget was too small, and does not fail on half a JSON."""
    with pytest.raises(openai.LengthFinishReasonError) as caught:
        await server.sdk.chat.completions.parse(
            **{**TEXT, "response_format": Weather, "max_completion_tokens": 3}
        )

    assert caught.value.completion.usage is not None
    assert caught.value.completion.usage.completion_tokens == 3


async def test_a_cut_call_is_the_sdks_length_error_in_a_stream_too(server: RunningServer) -> None:
    """It is raised where the stream is cut; the arguments, half of them, are not said to be done."""
    seen: list[object] = []

    async def listen() -> None:
        async with server.sdk.chat.completions.stream(**{**CALL, "max_completion_tokens": 20}) as stream:
            async for event in stream:
                seen.append(event)  # noqa: PERF401 - a comprehension would lose what came before the error

    with pytest.raises(openai.LengthFinishReasonError):
        await listen()

    assert any(isinstance(event, FunctionToolCallArgumentsDeltaEvent) for event in seen)
    assert not any(isinstance(event, FunctionToolCallArgumentsDoneEvent) for event in seen)


REFUSED = [
    pytest.param({"model": "gpt-4o"}, openai.NotFoundError, "model_not_found", id="no-such-model"),
    pytest.param({"temperature": 3}, openai.BadRequestError, "decimal_above_max_value", id="too-hot"),
    pytest.param({"n": "two"}, openai.BadRequestError, "invalid_type", id="wrong-type"),
    pytest.param({"tools": []}, openai.BadRequestError, "empty_array", id="no-tools"),
    pytest.param(
        {"messages": [{"role": "user", "content": "word " * 9000}]},
        openai.BadRequestError,
        "context_length_exceeded",
        id="too-long",
    ),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("change", "error", "code"), REFUSED)
async def test_a_refusal_is_the_sdks_own_error(
    server: RunningServer,
    change: dict[str, Any],
    error: type[openai.APIStatusError],
    code: str,
    *,
    stream: bool,
) -> None:
    """Its class, code and param are what programs branch on; nothing refused is tried again."""
    before = server.metric("strictcall_requests_total", api="chat")
    client = server.sdk.with_options(max_retries=2)
    with pytest.raises(error) as caught:
        await client.chat.completions.create(**{**TEXT, "stream": stream, **change})

    assert (caught.value.code, caught.value.param) == (code, next(iter(change)))
    assert caught.value.type == "invalid_request_error"
    assert (caught.value.request_id or "").startswith("req_")
    assert server.metric("strictcall_requests_total", api="chat") == before + 1


async def test_a_prompt_that_is_too_long_names_the_limit(server: RunningServer) -> None:
    """Clients look for this sentence to know that they have to shorten the conversation."""
    with pytest.raises(openai.BadRequestError, match=r"maximum context length is 8192 tokens"):
        await server.sdk.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "word " * 9000}]
        )


async def test_a_client_that_times_out_asks_again_and_each_try_is_given_up(
    server: RunningServer, running: RunningEngine
) -> None:
    """Three tries are three requests; none goes on in the engine when its client has left."""
    before = server.metric("strictcall_requests_total", api="chat", status="499")
    impatient = server.sdk.with_options(max_retries=2, timeout=0.3)
    with pytest.raises(openai.APITimeoutError):
        await impatient.chat.completions.create(
            **{**TEXT, "max_completion_tokens": 2000, "logit_bias": {END: -100}}
        )
    for _ in range(50):
        if running.engine.unfinished == 0:
            break
        await asyncio.sleep(0.02)

    assert server.metric("strictcall_requests_total", api="chat", status="499") == before + 3
    assert running.engine.unfinished == 0


async def test_a_strict_call_outside_its_schema_is_an_error_that_is_not_tried_again(
    server: RunningServer,
) -> None:
    """No mask compares objects; a whole generation for each of the SDK's retries would be for nothing."""
    schema = {
        "type": "object",
        "properties": {
            "tags": {
                "type": "array",
                "items": {"type": "object", "properties": {"x": {"enum": ["a", "b"]}}, "required": ["x"]},
                "minItems": 2,
                "maxItems": 2,
                "uniqueItems": True,
            }
        },
        "required": ["tags"],
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {"name": "tag", "parameters": schema, "strict": True}}
    [letter] = server.context.vocabulary.encode("a")
    before = server.metric("strictcall_requests_total", api="chat")
    with pytest.raises(openai.InternalServerError) as caught:
        await server.sdk.with_options(max_retries=2).chat.completions.create(
            **{**CALL, "tools": [tool], "logit_bias": {str(letter): 100}}
        )

    assert caught.value.code == "schema_violation"
    assert server.metric("strictcall_requests_total", api="chat") == before + 1
