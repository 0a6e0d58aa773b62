"""The official Python SDK's `responses` against the running server, as users write it, on the real engine."""

import re
from typing import Any, Literal

import openai
import pytest
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


TOOL: Any = openai.pydantic_function_tool(Weather, name="get_weather")
FLAT: Any = {"type": "function", **TOOL["function"]}
CALL: dict[str, Any] = {
    "model": MODEL,
    "input": "What is the weather in Oslo, in celsius?",
    "tools": [FLAT],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "temperature": 0,
    "max_output_tokens": 80,
}
ANSWER: dict[str, Any] = {
    "model": MODEL,
    "input": "I love it. How do I feel?",
    "temperature": 0,
    "max_output_tokens": 40,
}


async def test_create_gives_a_strict_call(server: RunningServer) -> None:
    """Its name is the tool's, and its arguments are what the class takes."""
    response = await server.sdk.responses.create(**CALL)

    [call] = response.output
    assert call.type == "function_call"
    assert (call.name, call.status, response.status) == ("get_weather", "completed", "completed")
    Weather.model_validate_json(call.arguments)


async def test_parse_gives_arguments_and_answers_as_classes(server: RunningServer) -> None:
    """The schemas that the SDK makes of classes are ones that the mask holds."""
    called = await server.sdk.responses.parse(**CALL)
    answered = await server.sdk.responses.parse(**ANSWER, text_format=Reply)

    [call] = called.output
    assert call.type == "function_call"
    assert call.parsed_arguments == Weather.model_validate_json(call.arguments).model_dump()
    assert answered.output_parsed == Reply.model_validate_json(answered.output_text)


async def test_stream_gives_a_call_as_it_grows(server: RunningServer) -> None:
    """The accumulator takes every event, and the final response has the call that they told of."""
    async with server.sdk.responses.stream(**CALL) as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()

    deltas = [event for event in events if event.type == "response.function_call_arguments.delta"]
    [done] = [event for event in events if event.type == "response.function_call_arguments.done"]
    [call] = final.output
    assert call.type == "function_call"
    assert "".join(event.delta for event in deltas) == done.arguments == call.arguments
    assert deltas[-1].snapshot == call.arguments


async def test_stream_gives_an_answer_in_its_format(server: RunningServer) -> None:
    """`text_format` may be a class; the text is parsed when it is done."""
    async with server.sdk.responses.stream(**ANSWER, text_format=Reply) as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()

    [done] = [event for event in events if event.type == "response.output_text.done"]
    assert done.parsed == final.output_parsed == Reply.model_validate_json(final.output_text)


@pytest.mark.parametrize("way", ["items", "previous_response_id"])
async def test_a_call_its_output_and_an_answer(server: RunningServer, way: str) -> None:
    """The items go back as the SDK has them, or stay where they are; the model reads the same."""
    first = await server.sdk.responses.parse(**CALL)
    [call] = first.output
    assert call.type == "function_call"
    output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "It is 12 degrees."}
    before: Any = [{"role": "user", "content": CALL["input"]}, *first.output]
    onward: dict[str, Any] = {"input": [*before, output]}
    if way == "previous_response_id":
        onward = {"input": [output], "previous_response_id": first.id}
    request = {**ANSWER, "tools": [FLAT], "tool_choice": "none", **onward}
    second = await server.sdk.responses.parse(**request, text_format=Reply)
    counted = await server.sdk.responses.input_tokens.count(
        **{key: request[key] for key in ("model", "tools", "tool_choice", *onward)}
    )

    assert isinstance(second.output_parsed, Reply)
    assert second.usage is not None
    assert second.usage.input_tokens == counted.input_tokens


async def test_what_is_stored_can_be_asked_for(server: RunningServer) -> None:
    """Every method of the SDK for it."""
    responses = server.sdk.responses
    first = await responses.create(**ANSWER)
    again = await responses.retrieve(first.id)
    items = [item async for item in await responses.input_items.list(first.id, limit=1)]
    await responses.delete(first.id)

    assert again.output_text == first.output_text
    assert [item.type for item in items] == ["message"]
    with pytest.raises(openai.NotFoundError):
        await responses.retrieve(first.id)
    with pytest.raises(openai.BadRequestError) as caught:
        await responses.create(**{**ANSWER, "previous_response_id": first.id})
    assert caught.value.code == "previous_response_not_found"


SQL = r"(SELECT|DELETE) [a-z]{2,8};"
SQL_IN_LARK = """
start: verb " " NAME ";"
verb: "SELECT" | "DELETE"
NAME: /[a-z]{2,8}/
"""


@pytest.mark.parametrize(
    ("syntax", "definition"), [("regex", SQL), ("lark", SQL_IN_LARK)], ids=["regex", "lark"]
)
async def test_a_custom_tool_is_called_with_text_that_matches(
    server: RunningServer, syntax: str, definition: str
) -> None:
    """The whole input matches the grammar, under the mask, streamed and not; and the call goes back."""
    grammar = {"type": "grammar", "syntax": syntax, "definition": definition}
    tool: Any = {"type": "custom", "name": "sql", "description": "Runs SQL.", "format": grammar}
    asked: dict[str, Any] = {**CALL, "tools": [tool], "input": "Delete the users."}
    first = await server.sdk.responses.create(**asked)
    async with server.sdk.responses.stream(**asked) as stream:
        final = await stream.get_final_response()
    [call] = first.output
    [same] = final.output
    assert call.type == same.type == "custom_tool_call"
    output = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "Done."}
    second = await server.sdk.responses.create(
        **{**asked, "input": [call.model_dump(), output], "tool_choice": {"type": "custom", "name": "sql"}}
    )

    assert call.input == same.input
    for item in (call, second.output[0]):
        assert item.type == "custom_tool_call"
        assert re.fullmatch(SQL, item.input)


async def test_an_agent_replays_everything_for_26_turns(server: RunningServer) -> None:
    """In the manner of Codex: stateless, streamed, each turn with all items of the turns before, verbatim."""
    history: list[Any] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    ]
    request: dict[str, Any] = {
        "model": MODEL,
        "instructions": "You look at the sky.",
        "tools": [{**FLAT, "strict": False}, {"type": "web_search"}],
        "parallel_tool_calls": False,
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "prompt_cache_key": "a-thread",
        "temperature": 0,
        "max_output_tokens": 60,
        "extra_body": {"client_metadata": {"x": "y"}},
    }
    tokens = []
    for turn in range(26):
        wanted = "required" if turn % 2 == 0 else "none"
        got: list[Any] = []
        asked = {**request, "input": history, "stream": True, "tool_choice": wanted}
        stream: Any = await server.sdk.responses.create(**asked)
        async for event in stream:
            if event.type == "response.output_item.done":
                got.append(event.item.model_dump(exclude_none=True))
            if event.type in ("response.completed", "response.incomplete"):
                assert [item.model_dump(exclude_none=True) for item in event.response.output] == got
                assert event.response.usage is not None
                tokens.append(event.response.usage.input_tokens)
        thought = {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": "gAAA"}
        calls = [item for item in got if item["type"] == "function_call"]
        outputs = [
            {"type": "function_call_output", "call_id": call["call_id"], "output": f"{turn} degrees"}
            for call in calls
        ]
        history += [thought, *got, *outputs, {"role": "user", "content": f"And turn {turn}?"}]
        assert bool(calls) == (wanted == "required")

    asked = {**{key: request[key] for key in ("model", "instructions", "tools")}, "input": history}
    counted = await server.http.post("/v1/responses/input_tokens", json=asked)
    assert counted.json()["input_tokens"] > max(tokens)
    # Where no tool may be called, none is in the prompt.
    for each in (tokens[::2], tokens[1::2]):
        assert each == sorted(set(each))


async def test_errors_are_the_sdks_own(server: RunningServer) -> None:
    """With code and param, as this API names them."""
    with pytest.raises(openai.BadRequestError) as caught:
        await server.sdk.responses.create(**{**ANSWER, "input": "word " * 20_000})

    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "input")
