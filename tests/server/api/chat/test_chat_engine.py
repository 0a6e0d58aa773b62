"""What a chat request costs the engine, which is nothing if it is refused, and what is told if it fails."""

from typing import Any

import pytest

from server.engine.protocol import EngineError
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import always, fold, serving, tool

BREAKDOWN = EngineError("out of pages")


async def test_an_engine_that_fails_at_once_is_a_status(vocabulary: Vocabulary) -> None:
    """Streamed or not: nothing was sent, so the request can be sent again."""
    async with serving(vocabulary, lambda _: Script([], error=BREAKDOWN)) as server:
        for stream in (False, True):
            response = await server.post(stream=stream)

            assert response.status_code == 500
            assert response.json()["error"]["code"] == "engine_error"
        assert server.metric("strictcall_aborts_total", cause="failure") == 2
        assert server.metric("strictcall_requests_in_flight") == 0


async def test_an_engine_that_fails_later_ends_the_stream_with_an_error(vocabulary: Vocabulary) -> None:
    """The error is the last event before [DONE], and whole answers are a 500 (B218, B224, B240)."""
    broken = Script([[each] for each in vocabulary.encode("Hello there")], error=BREAKDOWN)
    async with serving(vocabulary, lambda _: broken) as server:
        *chunks, last = await server.stream()
        response = await server.post()

        assert fold(chunks)["choices"][0]["message"]["content"] == "Hello there"
        assert (last["error"]["code"], last["error"]["type"]) == ("engine_error", "server_error")
        assert response.status_code == 500
        assert server.metric("strictcall_requests_total", api="chat", status="500") == 2


async def test_an_engine_that_ends_without_a_reason_is_an_error(vocabulary: Vocabulary) -> None:
    """Half an answer is never given as a whole one."""
    async with serving(vocabulary, lambda _: Script([])) as server:
        assert (await server.post()).json()["error"]["code"] == "engine_error"


async def test_a_dead_engine_is_a_503(vocabulary: Vocabulary) -> None:
    """Before it dies there are answers; a stream that it dies in ends with the error."""
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        await server.chat()
        server.engine.dead = True

        for stream in (False, True):
            response = await server.post(stream=stream)
            assert (response.status_code, response.json()["error"]["code"]) == (503, "engine_dead")


LONG = [{"role": "user", "content": "word " * 9000}]
REFUSED: dict[str, tuple[dict[str, Any], int, str | None, str | None]] = {
    "another model": ({"model": "gpt-4o"}, 404, "model_not_found", "model"),
    "too long": ({"messages": LONG}, 400, "context_length_exceeded", "messages"),
    "no messages": ({"messages": []}, 400, "empty_array", "messages"),
    "n": ({"n": 99}, 400, "integer_above_max_value", "n"),
    "an unknown token": ({"logit_bias": {"99999999": 1}}, 400, "invalid_value", "logit_bias"),
    "no such tool": (
        {"tools": [tool("look")], "tool_choice": {"type": "function", "function": {"name": "gone"}}},
        400,
        "invalid_value",
        "tool_choice",
    ),
    "a tool's schema": (
        {"tools": [tool("f", {"type": "objekt"})]},
        400,
        "invalid_function_parameters",
        "tools[0].function.parameters",
    ),
    "a format's schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "o", "schema": {"type": "x"}}}},
        400,
        "invalid_json_schema",
        "response_format.json_schema.schema",
    ),
    "a regex": (
        {"structured_outputs": {"regex": "(a"}},
        400,
        "invalid_value",
        "structured_outputs.regex",
    ),
    "two formats": (
        {"structured_outputs": {"regex": "a"}, "response_format": {"type": "json_object"}},
        400,
        "invalid_value",
        "structured_outputs",
    ),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("body", "status", "code", "param"), REFUSED.values(), ids=REFUSED)
async def test_what_is_refused_never_reaches_the_engine(
    vocabulary: Vocabulary, body: dict[str, Any], status: int, code: str, param: str, *, stream: bool
) -> None:
    """A 4xx costs no model time, whether a stream was asked for or not (B220, B223, B260)."""
    async with serving(vocabulary, []) as server:
        response = await server.post(**body, stream=stream)
        error = response.json()["error"]

        assert (response.status_code, error["code"], error["param"]) == (status, code, param)
        assert server.engine.asked == []
        assert server.metric("strictcall_requests_total", api="chat", status=str(status)) == 1
        assert server.metric("strictcall_tokens_total", kind="prompt") == 0


async def test_a_mistake_of_ours_in_a_stream_is_an_event_too(vocabulary: Vocabulary) -> None:
    """Whatever goes wrong after the first chunk, the client is told and no internals are."""
    ids = vocabulary.encode("Hello there")
    script = Script([ids[:1], (2**40,)])  # a token that no vocabulary has
    async with serving(vocabulary, lambda _: script) as server:
        *_, last = await server.stream()

        assert last["error"]["code"] == "internal_error"
        assert "Traceback" not in last["error"]["message"]
        assert server.metric("strictcall_requests_total", api="chat", status="500") == 1
