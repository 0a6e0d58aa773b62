"""The official Python SDK's `responses` against the whole application: what its users write is what works."""

from typing import Any

import openai
import pytest
from pydantic import BaseModel

from server.engine.protocol import EngineError, Finish
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import always, call, script, serving


class Weather(BaseModel):
    """Look at the sky."""

    city: str
    days: int


FUNCTION: Any = openai.pydantic_function_tool(Weather, name="weather")["function"]
TOOL: Any = {"type": "function", **FUNCTION}
CALL = call("weather", {"city": "Lima", "days": 2})
ASKED: dict[str, Any] = {"model": "smol", "input": "Hi"}


async def test_parse_gives_the_classes_of_arguments_and_answers(vocabulary: Vocabulary) -> None:
    """The SDK's own strict schemas are ones that the server takes."""
    async with serving(vocabulary, [CALL, '{"city": "Lima", "days": 2}']) as server:
        called = await server.sdk.responses.parse(**ASKED, tools=[TOOL])
        answered = await server.sdk.responses.parse(**ASKED, text_format=Weather)

    [item] = called.output
    assert item.type == "function_call"
    assert item.parsed_arguments == {"city": "Lima", "days": 2}
    assert answered.output_parsed == Weather(city="Lima", days=2)


async def test_stream_gives_the_events_of_text_and_call(vocabulary: Vocabulary) -> None:
    """Snapshots grow piece by piece, and the final response has what they grew to."""
    async with (
        serving(vocabulary, [f"<think>Hm.</think>\n\nSure.\n{CALL}"]) as server,
        server.sdk.responses.stream(**ASKED, tools=[TOOL]) as stream,
    ):
        events = [event async for event in stream]
        final = await stream.get_final_response()

    texts = [event.snapshot for event in events if event.type == "response.output_text.delta"]
    arguments = [event.snapshot for event in events if event.type == "response.function_call_arguments.delta"]
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    assert texts[-1] == final.output_text == "Sure."
    assert arguments[-1] == '{"city": "Lima", "days": 2}'
    assert events[-1].type == "response.completed"


async def test_stream_tells_that_an_answer_was_cut(vocabulary: Vocabulary) -> None:
    """The last event is `response.incomplete`, with what there is."""
    cut = script(vocabulary, "Hello the", finish=Finish.LENGTH)
    async with (
        serving(vocabulary, [cut]) as server,
        server.sdk.responses.stream(**ASKED) as stream,
    ):
        events = [event async for event in stream]

    last = events[-1]
    assert last.type == "response.incomplete"
    assert last.response.output_text == "Hello the"


async def test_an_error_in_a_stream_is_raised_where_it_stands(vocabulary: Vocabulary) -> None:
    """What came before it was given; then the SDK raises, with our code."""
    broken = Script([[each] for each in vocabulary.encode("Hello there")], error=EngineError("gone"))
    async with serving(vocabulary, [broken]) as server:
        stream = await server.sdk.responses.create(**ASKED, stream=True)
        text: list[str] = []

        async def read() -> None:
            async for event in stream:
                if event.type == "response.output_text.delta":
                    text.append(event.delta)  # noqa: PERF401 - an error would take a comprehension with it

        with pytest.raises(openai.APIError, match="The engine failed on this request") as caught:
            await read()

    assert "".join(text) == "Hello there"
    assert caught.value.code == "engine_error"


async def test_a_call_goes_back_as_the_sdk_has_it(vocabulary: Vocabulary) -> None:
    """`response.output` is input, as objects of the SDK or as it dumps them."""
    async with serving(vocabulary, [f"Sure.\n{CALL}", "It is 21.", "It is 21."]) as server:
        first = await server.sdk.responses.parse(**ASKED, tools=[TOOL])
        item = first.output[-1]
        assert item.type == "function_call"
        output: Any = {"type": "function_call_output", "call_id": item.call_id, "output": "21 °C"}
        objects: Any = [*first.output, output]
        dumps: Any = [*(each.model_dump() for each in first.output), output]
        for history in (objects, dumps):
            await server.sdk.responses.create(model="smol", input=history, tools=[TOOL])

        prompts = [vocabulary.decode(asked.prompt) for asked in server.engine.asked[1:]]
    assert prompts[0] == prompts[1]
    assert all(text in prompts[0] for text in ("Sure.", '"Lima"', "21 °C"))


async def test_stored_responses_have_their_methods(vocabulary: Vocabulary) -> None:
    """And what is not there is the SDK's own error."""
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        responses = server.sdk.responses
        first = await responses.create(**ASKED)
        again = await responses.retrieve(first.id)
        items = [each async for each in await responses.input_items.list(first.id)]
        counted = await responses.input_tokens.count(**ASKED)
        await responses.delete(first.id)
        with pytest.raises(openai.NotFoundError) as caught:
            await responses.retrieve(first.id)
        with pytest.raises(openai.BadRequestError):
            await responses.create(**ASKED, previous_response_id=first.id)

    assert again.output_text == "Hi."
    assert [each.type for each in items] == ["message"]
    assert first.usage is not None
    assert counted.input_tokens == first.usage.input_tokens
    assert caught.value.code == "response_not_found"


@pytest.mark.parametrize("stream", [False, True])
async def test_refusals_are_the_sdks_own_errors(vocabulary: Vocabulary, *, stream: bool) -> None:
    """With code and param, and before any event."""
    async with serving(vocabulary, []) as server:
        with pytest.raises(openai.BadRequestError) as caught:
            await server.sdk.responses.create(model="smol", input="word " * 9000, stream=stream)

    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "input")
