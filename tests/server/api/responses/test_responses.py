"""`/v1/responses` over HTTP, on a scripted engine: what only this API has."""

import json
from typing import Any

import pytest
from openai.types.responses import Response

from server.config.settings import Settings
from server.engine.protocol import EngineError, Finish, TokenLogprob
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.response_events import events_of, response_of
from tests.server.scripted import Server, always, call, serving

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
UNIQUE = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
    "additionalProperties": False,
}
LOOK = {"type": "function", "name": "look", "parameters": CITY}
PING = {"type": "function", "name": "ping"}
SEARCH = {"type": "web_search_2025_08_26", "search_context_size": "low"}
CALL = call("look", {"city": "Lima"})


async def post(server: Server, **body: Any) -> Any:
    """Send a request with a model and a question unless `body` has its own."""
    return await server.http.post("/v1/responses", json={"model": "smol", "input": "Hi", **body})


async def answer(server: Server, **body: Any) -> dict[str, Any]:
    """The body of a good answer, which the SDK's own type takes."""
    response = await post(server, **body)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    Response.model_validate(told)
    return told


async def streamed(server: Server, **body: Any) -> dict[str, Any]:
    """The response that a stream ends with."""
    response = await post(server, stream=True, **body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return response_of(response.text)


async def error(server: Server, **body: Any) -> dict[str, Any]:
    """The error of a request that is refused before the engine is asked."""
    response = await post(server, **body)
    assert response.status_code in (400, 404), response.text
    assert server.engine.asked == []
    told: dict[str, Any] = response.json()["error"]
    return told


async def test_an_answer_repeats_its_request_and_has_what_it_used(vocabulary: Vocabulary) -> None:
    """Every key that OpenAI's schema requires, with the defaults that were taken."""
    async with serving(vocabulary, ["Hello."]) as server:
        told = await answer(
            server, instructions="Be brief.", temperature=0.5, metadata={"a": "b"}, tools=[LOOK], store=False
        )

        [asked] = server.engine.asked
        prompt = vocabulary.decode(asked.prompt)
    assert told["id"].startswith("resp_")
    assert (told["object"], told["status"], told["error"], told["model"]) == (
        "response",
        "completed",
        None,
        "smol",
    )
    assert (told["instructions"], told["temperature"], told["metadata"]) == ("Be brief.", 0.5, {"a": "b"})
    assert (told["tools"], told["tool_choice"]) == ([{**LOOK, "strict": True}], "auto")
    assert (told["store"], told["parallel_tool_calls"], told["truncation"]) == (False, True, "disabled")
    assert told["text"] == {"format": {"type": "text"}}
    assert told["usage"]["input_tokens"] == len(asked.prompt)
    assert told["usage"]["total_tokens"] == len(asked.prompt) + told["usage"]["output_tokens"]
    assert prompt.index("Be brief.") < prompt.index("Hi")
    [item] = told["output"]
    assert item["content"] == [{"type": "output_text", "text": "Hello.", "annotations": [], "logprobs": []}]
    assert "strictcall" not in told


async def test_a_stream_ends_with_the_answer_of_the_whole(vocabulary: Vocabulary) -> None:
    """The same items but for their ids, and the same usage."""
    text = f"<think>Hm.</think>\n\nSure.\n{CALL}\n{call('ping', {})}"
    async with serving(vocabulary, always(vocabulary, text)) as server:
        whole = await answer(server, tools=[LOOK, PING])
        stream = await streamed(server, tools=[LOOK, PING])

    def same(told: dict[str, Any]) -> Any:
        fresh = ("id", "call_id", "created_at", "completed_at")
        items = [{key: item[key] for key in item if key not in fresh} for item in told["output"]]
        return {**{key: told[key] for key in told if key not in fresh}, "output": items}

    assert same(stream) == same(whole)
    assert [item["type"] for item in whole["output"]] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
    ]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_events_keep_their_order_however_many_tokens_a_step_has(
    vocabulary: Vocabulary, size: int
) -> None:
    """One step may end an item, hold another, and begin a third."""
    text = f"<think>Hm.</think>\n\nSure.\n{CALL}\n{CALL}"
    async with serving(vocabulary, always(vocabulary, text, size=size)) as server:
        told = await streamed(server, tools=[LOOK])

    assert [item["status"] for item in told["output"]] == ["completed"] * 4


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Hello the", ["message"]),
        ("<think>It mu", ["reasoning"]),
        (CALL[:-25], ["function_call"]),
    ],
)
async def test_an_answer_that_was_cut_is_incomplete(
    vocabulary: Vocabulary, text: str, kinds: list[str]
) -> None:
    """Itself and its last item; no other item is made up for it."""
    async with serving(vocabulary, always(vocabulary, text, finish=Finish.LENGTH)) as server:
        whole = await answer(server, tools=[LOOK])
        stream = await streamed(server, tools=[LOOK])

    for told in (whole, stream):
        assert told["status"] == "incomplete"
        assert told["incomplete_details"] == {"reason": "max_output_tokens"}
        assert [(item["type"], item["status"]) for item in told["output"]] == [
            (kind, "incomplete") for kind in kinds
        ]


@pytest.mark.parametrize("text", ["", "<think>Hm.</think>\n\n"])
async def test_an_empty_answer_is_an_empty_message(vocabulary: Vocabulary, text: str) -> None:
    """Agents end with a message; without one they would ask again."""
    async with serving(vocabulary, always(vocabulary, text)) as server:
        whole, stream = await answer(server), await streamed(server)

    for told in (whole, stream):
        assert told["output"][-1]["type"] == "message"
        assert told["output"][-1]["content"][0]["text"] == ""


async def test_an_error_in_a_stream_is_told_twice(vocabulary: Vocabulary) -> None:
    """As an event that SDKs raise, and in the failed response, with the items as far as they came."""
    broken = Script([[each] for each in vocabulary.encode("Hello there")], error=EngineError("gone"))
    async with serving(vocabulary, [broken]) as server:
        response = await post(server, stream=True)
        failed = response_of(response.text)
        *_, alone, _ = events_of(response.text)
        counted = server.metric("strictcall_requests_total", api="responses", status="500")
        gone = await server.http.get(f"/v1/responses/{failed['id']}")

    assert failed["status"] == "failed"
    assert failed["error"]["code"] == "server_error"
    assert failed["output"][0]["content"][0]["text"] == "Hello there"
    assert (failed["store"], gone.status_code) == (False, 404)
    assert (alone["type"], alone["code"]) == ("error", "engine_error")
    assert alone["error"]["message"] == alone["message"] == failed["error"]["message"]
    assert counted == 1


async def test_an_engine_that_refuses_gives_a_status(vocabulary: Vocabulary) -> None:
    """Where no event was sent, an error is an HTTP error, streamed or not."""
    async with serving(vocabulary, lambda _: Script([], error=EngineError("no"))) as server:
        for stream in (False, True):
            response = await post(server, stream=stream)

            assert response.status_code == 500
            assert response.json()["error"]["code"] == "engine_error"


async def test_tools_are_strict_unless_they_say_otherwise(vocabulary: Vocabulary) -> None:
    """As OpenAI has it in this API."""
    loose = {**LOOK, "name": "loose", "strict": False}
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        told = await answer(server, tools=[LOOK, loose])

        strict = server.metric(
            "strictcall_tool_calls_total", choice="auto", constraint="schema", family="hermes"
        )
    assert [tool["strict"] for tool in told["tools"]] == [True, False]
    assert strict == 1


async def test_a_strict_call_outside_its_schema_is_written_again(vocabulary: Vocabulary) -> None:
    """Nothing of the wrong one is told, and the answer says what was wrong with it where it is asked to."""
    wrong, right = (call("tag", {"tags": tags}) for tags in (["a", "a"], ["a", "b"]))
    tag = {"type": "function", "name": "tag", "parameters": UNIQUE}
    async with serving(vocabulary, [wrong, right, wrong, right]) as server:
        whole = await answer(server, tools=[tag], strictcall={"report": True})
        stream = await streamed(server, tools=[tag], strictcall={"report": True})

    for told in (whole, stream):
        assert [item["arguments"] for item in told["output"]] == ['{"tags": ["a", "b"]}']
        assert told["strictcall"]["attempts"] == 2
        assert told["strictcall"]["violations"][0]["keyword"] == "uniqueItems"


async def test_hosted_tools_are_skipped_with_a_warning(
    vocabulary: Vocabulary, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log and in the answer; the model is not told of them (clients send them unasked)."""
    with caplog.at_level("WARNING"):
        async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
            told = await answer(server, tools=[SEARCH, LOOK])
            alone = await answer(server, tools=[SEARCH], tool_choice="auto")

            prompt = vocabulary.decode(server.engine.asked[0].prompt)
    assert told["tools"][0] == SEARCH
    assert [warning.split(":")[0] for warning in told["strictcall"]["warnings"]] == ["tools[0]"]
    assert "web_search" not in prompt
    assert "tools[0]: 'web_search_2025_08_26'" in caplog.text
    assert alone["status"] == "completed"


async def test_a_warning_is_one_line_of_the_log(
    vocabulary: Vocabulary, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever a client calls the tool that is skipped."""
    tool = {"type": "mcp_\n2026-01-01 ERROR made up" + "x" * 500}
    with caplog.at_level("WARNING"):
        async with serving(vocabulary, ["Hi."]) as server:
            response = await post(server, tools=[tool])

    [record] = caplog.records
    assert response.status_code == 200
    assert record.getMessage().isprintable()
    assert len(record.getMessage()) < 200


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        ("required", "tool_choice"),
        ({"type": "web_search"}, "tool_choice.type"),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]},
            "tool_choice.tools",
        ),
    ],
    ids=json.dumps,
)
async def test_a_hosted_tool_cannot_be_forced(vocabulary: Vocabulary, choice: Any, param: str) -> None:
    """What cannot happen is refused, and not done otherwise."""
    async with serving(vocabulary, []) as server:
        told = await error(server, tools=[SEARCH], tool_choice=choice)

    assert told["param"] == param


async def test_allowed_hosted_tools_are_skipped_beside_functions(vocabulary: Vocabulary) -> None:
    """One of the rest may be called, and only of the rest."""
    allowed = [{"type": "web_search"}, {"type": "function", "name": "look"}]
    choice = {"type": "allowed_tools", "mode": "required", "tools": allowed}
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        told = await answer(server, tools=[LOOK, PING, SEARCH], tool_choice=choice)

        [asked] = server.engine.asked
    assert told["tool_choice"] == choice
    assert len(told["strictcall"]["warnings"]) == 2
    assert "ping" not in (asked.structural_tag or "")


async def test_a_namespace_is_flattened_for_the_model_and_given_back(vocabulary: Vocabulary) -> None:
    """Calls say name and namespace apart, and are understood when they come back so."""
    crm = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [LOOK]}
    text = call("crm__look", {"city": "Lima"})
    async with serving(vocabulary, always(vocabulary, text)) as server:
        first = await answer(server, tools=[crm, LOOK])
        stream = await streamed(server, tools=[crm, LOOK])
        [made] = first["output"]
        result = {"type": "function_call_output", "call_id": made["call_id"], "output": "21"}
        named = {"type": "function", "name": "look", "namespace": "crm"}
        again = await answer(server, input=[made, result], tools=[crm, LOOK], tool_choice=named)

        prompt = vocabulary.decode(server.engine.asked[-1].prompt)
    for item in (made, stream["output"][0], again["output"][0]):
        assert (item["name"], item["namespace"]) == ("look", "crm")
    assert prompt.count('"crm__look"') == 2
    assert '"name": "look"' in (server.engine.asked[0].structural_tag or "").replace("\\", "")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            {"format": {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}},
            '{"city": "X"}',
        ),
        ({"format": {"type": "json_object"}}, "{}"),
        ({"format": {"type": "text"}, "verbosity": "low"}, "Hi."),
    ],
)
async def test_text_has_a_format(vocabulary: Vocabulary, text: Any, written: str) -> None:
    """The same formats as chat's, spelled flat, and told back."""
    async with serving(vocabulary, always(vocabulary, written)) as server:
        whole = await answer(server, text=text)
        await streamed(server, text=text)

        masked = [asked.structural_tag is not None for asked in server.engine.asked]
    assert whole["text"] == text
    assert masked == [text["format"]["type"] != "text"] * 2


async def test_logprobs_are_those_of_the_text(vocabulary: Vocabulary) -> None:
    """Asked for by `include` or `top_logprobs`: one for each token of it, none for those of a call."""
    ids = [*vocabulary.encode(f"Hello there.\n{CALL}"), min(vocabulary.end_ids)]
    entries = [TokenLogprob(token_id, -0.5, ((token_id, -0.5),)) for token_id in ids]
    scripted = Script([[each] for each in ids], logprobs=entries)
    async with serving(vocabulary, lambda _: scripted) as server:
        whole = await answer(server, tools=[LOOK], include=["message.output_text.logprobs"])
        stream = await streamed(server, tools=[LOOK], top_logprobs=3)
        without = await answer(server, tools=[LOOK])

        asked = [each.sampling.logprobs for each in server.engine.asked]
    assert asked == [0, 3, None]
    for told in (whole, stream):
        tokens = [entry["token"] for entry in told["output"][0]["content"][0]["logprobs"]]
        assert "".join(tokens) == "Hello there."
    assert without["output"][0]["content"][0]["logprobs"] == []


async def test_sampling_is_passed_on(vocabulary: Vocabulary) -> None:
    """As chat's."""
    async with serving(vocabulary, ["Hi."]) as server:
        await answer(server, temperature=0.25, top_p=0.5, max_output_tokens=9, seed=4, top_k=3)

        sampling = server.engine.asked[0].sampling
    assert (sampling.temperature, sampling.top_p, sampling.max_tokens) == (0.25, 0.5, 9)
    assert (sampling.seed, sampling.top_k) == (4, 3)


async def test_what_clients_send_besides_is_ignored_and_logged(
    vocabulary: Vocabulary, caplog: pytest.LogCaptureFixture
) -> None:
    """Codex's own fields, at the top and in items (otari#362)."""
    item = {"role": "user", "content": "Hi", "internal_chat_message_metadata_passthrough": {"a": 1}}
    with caplog.at_level("INFO"):
        async with serving(vocabulary, ["Hi."]) as server:
            await answer(
                server, input=[item], client_metadata={"x": 1}, prompt_cache_key="k", service_tier="auto"
            )

    assert "client_metadata, input[].internal_chat_message_metadata_passthrough" in caplog.text


async def test_a_stateless_server_says_so(vocabulary: Vocabulary) -> None:
    """`store` may be sent, as clients do unasked; to go on from a response may not."""
    async with serving(vocabulary, ["Hi."], Settings(compile_seconds=120, response_store="off")) as server:
        refused = await error(server, previous_response_id="resp_1")
        told = await answer(server, store=True)

        gone = await server.http.get(f"/v1/responses/{told['id']}")
    assert (refused["code"], refused["param"]) == ("unsupported_parameter", "previous_response_id")
    assert "--response-store" in refused["message"]
    assert (told["store"], gone.status_code) == (False, 404)


async def test_tokens_of_a_request_can_be_counted(vocabulary: Vocabulary) -> None:
    """As many as the same request would use."""
    body = {"instructions": "Be brief.", "tools": [LOOK], "tool_choice": "required"}
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        told = await answer(server, **body)
        counted = await server.http.post(
            "/v1/responses/input_tokens", json={"model": "smol", "input": "Hi", **body}
        )

    assert counted.json() == {
        "object": "response.input_tokens",
        "input_tokens": told["usage"]["input_tokens"],
    }
