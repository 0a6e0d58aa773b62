"""Anthropic's Python SDK against the whole application: what its users write is what works."""

from typing import Any

import anthropic
import pytest
from pydantic import BaseModel

from server.engine.protocol import EngineError
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.server.messaging import sdk_of
from tests.server.scripted import QUESTION, call, serving

ASKED: Any = {"model": "smol", "max_tokens": 500, "messages": QUESTION}


class Weather(BaseModel):
    city: str
    days: int


TOOL: Any = {"name": "weather", "input_schema": anthropic.transform_schema(Weather), "strict": True}
CALL = call("weather", {"city": "Lima", "days": 2})


async def test_create_gives_a_call_whose_result_is_taken(vocabulary: Vocabulary) -> None:
    """The round of an agent: a call, its result, an answer. The SDK's own schema is taken as strict."""
    async with serving(vocabulary, ["Sure.\n" + CALL, "It is fine."]) as server, sdk_of(server) as sdk:
        answer = await sdk.messages.create(**ASKED, tools=[TOOL])
        use = answer.content[1]
        assert use.type == "tool_use"
        result = {"type": "tool_result", "tool_use_id": use.id, "content": "fine", "is_error": False}
        history = [
            *QUESTION,
            {"role": "assistant", "content": answer.content},
            {"role": "user", "content": [result]},
        ]
        final = await sdk.messages.create(**{**ASKED, "messages": history}, tools=[TOOL])

    assert (answer.stop_reason, use.input) == ("tool_use", {"city": "Lima", "days": 2})
    assert final.content[0].type == "text"
    assert final.content[0].text == "It is fine."
    assert answer._request_id is not None


async def test_stream_gives_pieces_and_the_final_message(vocabulary: Vocabulary) -> None:
    """Text and inputs grow piece by piece; the final message has the usage."""
    async with (
        serving(vocabulary, ["Sure.\n" + CALL]) as server,
        sdk_of(server) as sdk,
        sdk.messages.stream(**ASKED, tools=[TOOL]) as stream,
    ):
        events = [event async for event in stream]
        final = await stream.get_final_message()

    pieces = [event.partial_json for event in events if event.type == "input_json"]
    assert "".join(event.text for event in events if event.type == "text") == "Sure."
    assert "".join(pieces) == '{"city": "Lima", "days": 2}'
    assert len(pieces) > 3
    assert final.stop_reason == "tool_use"
    assert final.usage.output_tokens > 10


async def test_parse_gives_the_model_of_the_answer(vocabulary: Vocabulary) -> None:
    """`output_format` of the SDK is `output_config.format` on the wire."""
    async with serving(vocabulary, ['{"city": "Lima", "days": 2}']) as server, sdk_of(server) as sdk:
        answer = await sdk.messages.parse(**ASKED, output_format=Weather)

    assert answer.parsed_output == Weather(city="Lima", days=2)


async def test_count_tokens_asks_no_model(vocabulary: Vocabulary) -> None:
    """Tools make the prompt longer."""
    async with serving(vocabulary, []) as server, sdk_of(server) as sdk:
        plain = await sdk.messages.count_tokens(model="smol", messages=ASKED["messages"])
        tools = await sdk.messages.count_tokens(model="smol", messages=ASKED["messages"], tools=[TOOL])

    assert 0 < plain.input_tokens < tools.input_tokens


@pytest.mark.parametrize(
    ("body", "error", "type_"),
    [
        ({"max_tokens": 0}, anthropic.BadRequestError, "invalid_request_error"),
        ({"model": "gone"}, anthropic.NotFoundError, "not_found_error"),
        (
            {"tools": [{**TOOL, "input_schema": {"type": "strin"}}]},
            anthropic.BadRequestError,
            "invalid_request_error",
        ),
    ],
)
async def test_errors_are_the_sdks_own(
    vocabulary: Vocabulary, body: dict[str, Any], error: type[anthropic.APIStatusError], type_: str
) -> None:
    """Each has its class, its type and the id of its request."""
    async with serving(vocabulary, []) as server, sdk_of(server) as sdk:
        with pytest.raises(error) as caught:
            await sdk.messages.create(**{**ASKED, **body})

    assert caught.value.type == type_
    assert caught.value.request_id is not None


async def test_an_error_in_a_stream_is_raised(vocabulary: Vocabulary) -> None:
    """The status has been sent; the event is what is left to tell it by."""
    broken = Script([vocabulary.encode("Hel"), []], error=EngineError("lost"))
    async with serving(vocabulary, [broken]) as server, sdk_of(server) as sdk:
        stream = await sdk.messages.create(**ASKED, stream=True)
        with pytest.raises(anthropic.APIStatusError, match="engine failed"):
            [event async for event in stream]
