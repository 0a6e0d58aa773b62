"""The Messages API through the whole path: the same answers as by Chat Completions, in Anthropic's form."""

import json
from typing import Any

import pytest

from server.api.messages.encode import LARGEST, UNREADABLE, input_of
from server.api.messages.response import MessageBody
from server.config.settings import NamedFinish, Settings
from server.engine.protocol import EngineError, Finish
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.server.messaging import answers, message, post, stream
from tests.server.scripted import QUESTION, always, call, serving

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOL = {"name": "weather", "description": "Look.", "input_schema": SCHEMA, "strict": True}
CALL = call("weather", {"city": "Lima", "days": 2})


async def test_text_is_one_block(vocabulary: Vocabulary) -> None:
    """A plain answer, whole and streamed, with what it used."""
    async with serving(vocabulary, always(vocabulary, "Hello there.")) as server:
        answer = await answers(server)

    assert MessageBody.model_validate(answer).content[0].model_dump() == {
        "type": "text",
        "text": "Hello there.",
    }
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("end_turn", None)
    assert answer["id"].startswith("msg_")
    assert answer["usage"]["input_tokens"] > 0
    assert answer["usage"]["output_tokens"] > 2


async def test_calls_are_blocks_behind_the_text(vocabulary: Vocabulary) -> None:
    """Each call is a block of its own, its input an object, and `tool_use` says that there are some."""
    two = f"Sure.\n{CALL}\n{call('weather', {'city': 'Cusco', 'days': 1})}"
    async with serving(vocabulary, always(vocabulary, two)) as server:
        answer = await answers(server, tools=[TOOL])

    text, first, second = answer["content"]
    assert text == {"type": "text", "text": "Sure."}
    assert (first["name"], first["input"]) == ("weather", {"city": "Lima", "days": 2})
    assert (second["type"], second["input"]["city"]) == ("tool_use", "Cusco")
    assert first["id"] != second["id"]
    assert answer["stop_reason"] == "tool_use"


async def test_events_come_in_anthropics_order(vocabulary: Vocabulary) -> None:
    """Blocks begin and stop one after the other, numbered without gaps, and the stream says its end."""
    async with serving(vocabulary, always(vocabulary, f"<think>Hm.</think>Sure.\n{CALL}")) as server:
        events = await stream(server, tools=[TOOL])

    kinds = [event["type"] for event in events]
    steps = [
        (event["type"].removeprefix("content_block_"), event["index"])
        for event in events
        if event["type"] in ("content_block_start", "content_block_stop")
    ]
    assert kinds[0] == "message_start"
    assert events[0]["message"]["type"] == "message"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert steps == [(step, index) for index in range(len(steps) // 2) for step in ("start", "stop")]


async def test_the_same_model_is_held_to_the_same_mask(vocabulary: Vocabulary) -> None:
    """What the engine is asked for a message is what it is asked for the chat that says the same."""
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        function = {"name": "weather", "description": "Look.", "parameters": SCHEMA, "strict": True}
        await message(server, tools=[TOOL], tool_choice={"type": "any"}, system="Be brief.")
        await server.chat(
            messages=[{"role": "system", "content": "Be brief."}, *QUESTION],
            tools=[{"type": "function", "function": function}],
            tool_choice="required",
            max_tokens=500,
        )
        one, other = server.engine.asked

    assert (one.prompt, one.structural_tag) == (other.prompt, other.structural_tag)
    assert one.sampling == other.sampling


@pytest.mark.parametrize(
    ("choice", "chat"),
    [
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "auto", "disable_parallel_tool_use": True}, {"parallel_tool_calls": False}),
        (
            {"type": "any", "disable_parallel_tool_use": True},
            {"tool_choice": "required", "parallel_tool_calls": False},
        ),
        (
            {"type": "tool", "name": "weather"},
            {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
        ),
        ({"type": "none"}, {"tool_choice": "none"}),
    ],
    ids=["auto", "auto-one", "any-one", "tool", "none"],
)
async def test_choices_are_enforced_as_by_chat(
    vocabulary: Vocabulary, choice: dict[str, Any], chat: dict[str, Any]
) -> None:
    """Each form of `tool_choice` gives the mask of the one that says the same in a chat request."""
    function = {"name": "weather", "description": "Look.", "parameters": SCHEMA, "strict": True}
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        await message(server, tools=[TOOL], tool_choice=choice)
        await server.chat(tools=[{"type": "function", "function": function}], max_tokens=500, **chat)
        one, other = server.engine.asked

    assert (one.prompt, one.structural_tag) == (other.prompt, other.structural_tag)


async def test_a_named_call_is_a_tool_use_whatever_chat_says(vocabulary: Vocabulary) -> None:
    """`--named-finish-reason` is about OpenAI's word; here clients go on only after `tool_use`."""
    settings = Settings(named_finish_reason=NamedFinish.STOP, compile_seconds=120)
    async with serving(vocabulary, always(vocabulary, CALL), settings) as server:
        answer = await answers(server, tools=[TOOL], tool_choice={"type": "tool", "name": "weather"})

    assert answer["stop_reason"] == "tool_use"


async def test_the_stop_sequence_is_named(vocabulary: Vocabulary) -> None:
    """An answer that a stop sequence ended says which."""
    async with serving(vocabulary, always(vocabulary, "One, two, END of it")) as server:
        answer = await answers(server, stop_sequences=["never", "END"])

    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "END")
    assert answer["content"][0]["text"] == "One, two, "


async def test_an_input_that_was_cut_is_there_as_far_as_it_was_written(vocabulary: Vocabulary) -> None:
    """The budget ends inside a call: `max_tokens`, and the same input as the SDK's stream has it."""
    cut = CALL[: CALL.index(', "days"') + 9]
    async with serving(vocabulary, always(vocabulary, cut, finish=Finish.LENGTH)) as server:
        answer = await answers(server, tools=[TOOL])

    assert answer["stop_reason"] == "max_tokens"
    assert answer["content"][0]["input"] == {"city": "Lima"}


@pytest.mark.parametrize(
    ("text", "input_"),
    [
        ("", {}),
        ('{"a": 1, "b": "x', {"a": 1}),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"n": [1e999, -1e999]}', {"n": [LARGEST, -LARGEST]}),
        ('{"n": ' + "9" * 5000 + "}", None),
        ('{"n": ' + "[" * 400 + "]" * 400 + "}", None),
        ("[1]", None),
    ],
    ids=["empty", "cut-string", "cut-array", "infinite", "digits", "deep", "no-object"],
)
def test_an_input_is_an_object_that_json_can_hold(text: str, input_: dict[str, Any] | None) -> None:
    """What no object can be made of is there as text, under the key that Anthropic has for it."""
    made = input_of(text)

    assert made == ({UNREADABLE: text} if input_ is None else input_)
    assert json.dumps(made, allow_nan=False)


async def test_thoughts_are_blocks_with_a_signature(vocabulary: Vocabulary) -> None:
    """Clients send back only thoughts that are signed."""
    async with serving(vocabulary, always(vocabulary, "<think>Hm, well.</think>Yes.")) as server:
        answer = await answers(server)
        omitted = await answers(server, thinking={"type": "adaptive", "display": "omitted"})

    thought, text = answer["content"]
    assert (thought["thinking"], text["text"]) == ("Hm, well.", "Yes.")
    assert thought["signature"]
    assert omitted["content"][0]["thinking"] == ""


async def test_a_format_is_always_strict(vocabulary: Vocabulary) -> None:
    """`output_config.format` constrains the answer as a strict `response_format` does."""
    text = '{"city": "Lima", "days": 2}'
    async with serving(vocabulary, always(vocabulary, text)) as server:
        answer = await answers(server, output_config={"format": {"type": "json_schema", "schema": SCHEMA}})
        form = {"name": "format", "schema": SCHEMA, "strict": True}
        await server.chat(response_format={"type": "json_schema", "json_schema": form}, max_tokens=500)

    assert json.loads(answer["content"][0]["text"]) == {"city": "Lima", "days": 2}
    assert server.engine.asked[0].structural_tag == server.engine.asked[-1].structural_tag


async def test_an_answer_goes_on_where_the_last_turn_ends(vocabulary: Vocabulary) -> None:
    """A turn of the assistant at the end is the beginning of the answer."""
    begun = [*QUESTION, {"role": "assistant", "content": "The answer is"}]
    async with serving(vocabulary, always(vocabulary, " 42.")) as server:
        answer = await answers(server, messages=begun)
        prompt = vocabulary.decode(server.engine.asked[0].prompt)

    assert answer["content"][0]["text"] == " 42."
    assert prompt.endswith("The answer is")


async def test_count_tokens_is_what_the_answer_says(vocabulary: Vocabulary) -> None:
    """Clients compact their history by this number, so it has tools and system too, and asks no model."""
    body = {"tools": [TOOL], "system": [{"type": "text", "text": "Be brief."}]}
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        counted = await server.http.post(
            "/v1/messages/count_tokens", json={"model": "smol", "messages": QUESTION, **body}
        )
        assert server.engine.asked == []
        answer = await message(server, **body)

    assert counted.json() == {"input_tokens": answer["usage"]["input_tokens"]}


async def test_a_wrong_call_is_written_again(vocabulary: Vocabulary) -> None:
    """Repair, report and their metrics are the path's, and so are the same here."""
    unique = {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
        "required": ["tags"],
        "additionalProperties": False,
    }
    texts = [call("tag", {"tags": ["a", "a"]}), call("tag", {"tags": ["a", "b"]})]
    tool = {"name": "tag", "input_schema": unique, "strict": True}
    async with serving(vocabulary, texts * 2) as server:
        answer = await answers(server, tools=[tool], strictcall={"report": True})
        assert server.metric("strictcall_schema_retries_total", keyword="uniqueItems") == 2

    assert answer["content"][0]["input"] == {"tags": ["a", "b"]}
    assert answer["strictcall"]["attempts"] == 2


async def test_a_call_that_may_not_pass_is_an_api_error(vocabulary: Vocabulary) -> None:
    """Before the first block it is a status, after it the last event; both in Anthropic's form."""
    unique = {
        "type": "object",
        "properties": {"t": {"type": "array", "uniqueItems": True}},
        "required": ["t"],
    }
    body: dict[str, Any] = {
        "tools": [{"name": "tag", "input_schema": unique, "strict": True}],
        "strictcall": {"on_violation": "error"},
    }
    async with serving(vocabulary, always(vocabulary, "So." + call("tag", {"t": [1, 1]}))) as server:
        whole = await post(server, **body)
        streamed = await stream(server, **body)

    assert whole.status_code == 500
    assert whole.json()["error"]["type"] == "api_error"
    assert streamed[-1]["type"] == "error"
    assert streamed[-1]["error"] == whole.json()["error"]


async def test_an_engine_that_fails_midway_ends_the_stream_with_an_error(vocabulary: Vocabulary) -> None:
    """The SDK raises on this event; nothing comes after it."""
    broken = Script([vocabulary.encode("Hel"), []], error=EngineError("lost"))
    async with serving(vocabulary, [broken]) as server:
        events = await stream(server)
        errors = server.metric("strictcall_requests_total", api="messages", status="500")

    assert [event["type"] for event in events][-1] == "error"
    assert events[-1]["error"]["type"] == "api_error"
    assert events[-1]["request_id"].startswith("req_")
    assert errors == 1


async def test_requests_are_counted_by_their_api(vocabulary: Vocabulary) -> None:
    """`messages` is the label of good and of refused requests."""
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        await message(server)
        await post(server, max_tokens=0)

        assert server.metric("strictcall_requests_total", api="messages", status="200") == 1
        assert server.metric("strictcall_requests_total", api="messages", status="400") == 1
