"""Requests over HTTP: who runs, who waits, who is refused, and whose time ends. The engine is scripted."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from starlette.routing import Route

from server.app import create_app
from server.config.settings import Settings
from server.engine.scripted import Asked, Ending, Script
from server.http.exchange import CLIENT_LEFT, GENERATING
from server.tokens.vocabulary import Vocabulary
from tests.server.http.test_disconnect import asking, endings, listening, slow, until
from tests.server.scripted import QUESTION, script, serving, tool
from tests.server.shell import make_context

FREE = {
    "/tokenize",
    "/detokenize",
    "/v1/messages/count_tokens",
    "/v1/responses/input_tokens",
    "/v1/responses/{response_id}/cancel",
}
"""What takes a POST and spends no model time."""


def small(**more: Any) -> Settings:
    """Settings of a server that runs one request, lets one wait, and refuses the third."""
    counts = {"max_concurrent_requests": 1, "max_queued_requests": 1}
    return Settings(compile_seconds=120, **{**counts, **more})


def on_demand(vocabulary: Vocabulary) -> tuple[asyncio.Event, Callable[[Asked], Script]]:
    """A model that answers when the event is set."""
    gate = asyncio.Event()
    ids = [[each] for each in [*vocabulary.encode("Hi there"), min(vocabulary.end_ids)]]
    return gate, lambda _: Script(ids, gate=gate)


def test_every_endpoint_that_spends_model_time_is_bounded() -> None:
    """The application's own routes are walked: a new one is one or the other."""
    posts = {
        route.path
        for route in create_app(make_context()).routes
        if isinstance(route, Route) and "POST" in (route.methods or ())
    }

    assert posts - FREE <= GENERATING
    assert not FREE & GENERATING


async def test_a_request_too_many_is_refused_before_any_work(vocabulary: Vocabulary) -> None:
    """429 with its id and a time to come back; the body is not even looked at. Others are not affected."""
    gate, scripts = on_demand(vocabulary)
    async with serving(vocabulary, scripts, small()) as server:
        taken = [asyncio.create_task(server.post()) for _ in range(2)]
        await until(lambda: server.metric("strictcall_requests_waiting") == len(server.engine.asked) == 1)
        refused = await server.http.post(
            "/v1/chat/completions", content=b"{ not JSON", headers={"x-request-id": "mine"}
        )
        others = [
            await server.http.get("/v1/models"),
            await server.http.post("/tokenize", json={"prompt": "a"}),
        ]
        asked = len(server.engine.asked)
        gate.set()
        answers = await asyncio.gather(*taken)

    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["type"]) == (429, "rate_limit_exceeded", "requests")
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["x-request-id"] == "mine"
    assert asked == 1
    assert [each.status_code for each in (*others, *answers)] == [200] * 4
    assert server.metric("strictcall_requests_refused_total", reason="queue_full") == 1


async def test_the_sdk_comes_back_by_itself(vocabulary: Vocabulary) -> None:
    """The official client takes the refusal for what it is, waits as it is told, and is answered."""
    gate, scripts = on_demand(vocabulary)
    async with serving(vocabulary, scripts, small(max_queued_requests=0)) as server:
        taken = asyncio.create_task(server.post())
        await until(lambda: len(server.engine.asked) == 1)
        question: Any = {"model": "smol", "messages": QUESTION}
        with pytest.raises(openai.RateLimitError) as refusal:
            await server.sdk.chat.completions.create(**question)
        retrying = server.sdk.with_options(max_retries=1).chat.completions.create(**question)
        again = asyncio.create_task(retrying)
        await until(lambda: server.metric("strictcall_requests_refused_total", reason="queue_full") == 2)
        gate.set()
        await taken

        assert (await again).choices[0].message.content == "Hi there"
        assert refusal.value.code == "rate_limit_exceeded"


async def test_a_refused_request_with_a_wrong_key_hears_of_the_key(vocabulary: Vocabulary) -> None:
    """Strangers learn nothing of how busy a server is, and take no place."""
    _, scripts = on_demand(vocabulary)
    async with serving(vocabulary, scripts, small(api_key=("k",), max_queued_requests=0)) as server:
        responses = [await server.post() for _ in range(3)]

    assert [each.status_code for each in responses] == [401] * 3


async def test_a_client_that_leaves_while_it_waits_frees_its_place(vocabulary: Vocabulary) -> None:
    """Its request never reaches the engine, and is counted as 499; the next one has its place (B275)."""
    async with (
        serving(vocabulary, slow(vocabulary, "Once", steps=0), small()) as server,
        listening(server) as port,
    ):
        async with asking(port, stream=True):
            await until(lambda: len(server.engine.asked) == 1)
            for _ in range(3):
                async with asking(port, stream=True):
                    await until(lambda: server.metric("strictcall_requests_waiting") == 1)
                await until(lambda: server.metric("strictcall_requests_waiting") == 0)
        await until(lambda: endings(server) == {Ending.CLOSED})
        await until(lambda: server.metric("strictcall_requests_in_flight") == 0)

        assert len(server.engine.asked) == 1
        assert server.metric("strictcall_requests_total", api="chat", status=str(CLIENT_LEFT)) == 4
        assert server.metric("strictcall_requests_refused_total", reason="queue_full") == 0


async def test_who_sends_slowly_keeps_nobody_from_the_engine(vocabulary: Vocabulary) -> None:
    """A turn begins when the body is there."""
    async with (
        serving(vocabulary, lambda _: script(vocabulary, "Hi"), small()) as server,
        listening(server) as port,
    ):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
        await until(lambda: server.metric("strictcall_requests_in_flight") == 1)

        for _ in range(3):
            assert (await server.post()).status_code == 200
        writer.close()


async def test_short_requests_run_past_long_ones(vocabulary: Vocabulary) -> None:
    """Long answers hold a turn each and not the server: 20 short ones come and go while 3 long ones run."""
    async with serving(
        vocabulary,
        lambda asked: (
            slow(vocabulary, "Once upon", steps=1)(asked)
            if asked.sampling.seed == 1
            else script(vocabulary, "Hi")
        ),
        small(max_concurrent_requests=4),
    ) as server:
        long = [asyncio.create_task(server.post(seed=1)) for _ in range(3)]
        await until(lambda: len(server.engine.asked) == 3)
        short = [(await server.post(seed=2)).status_code for _ in range(20)]
        still = [task.done() for task in long]
        for task in long:
            task.cancel()

    assert short == [200] * 20
    assert still == [False] * 3


async def test_a_whole_answer_whose_time_ends_is_an_error(vocabulary: Vocabulary) -> None:
    """504, which SDKs do not send again; the engine is told at once, and the metrics why."""
    async with serving(vocabulary, slow(vocabulary, "Once upon", steps=1)) as server:
        response = await server.http.post(
            "/v1/chat/completions",
            json={"model": "smol", "messages": QUESTION, "n": 2},
            headers={"x-request-timeout": "1"},
        )

        assert (response.status_code, response.json()["error"]["code"]) == (504, "request_timeout")
        assert response.headers["x-should-retry"] == "false"
        assert endings(server) == {Ending.CLOSED}
        assert server.metric("strictcall_aborts_total", cause="timeout") == 2
        assert server.metric("strictcall_aborts_total", cause="disconnect") == 0
        assert server.metric("strictcall_requests_total", api="chat", status="504") == 1


async def test_a_stream_whose_time_ends_says_so_last(vocabulary: Vocabulary) -> None:
    """What was written stays, and the error is an event as any other error of a stream (B218)."""
    async with serving(vocabulary, slow(vocabulary, "Once upon", steps=1)) as server:
        response = await server.http.post(
            "/v1/chat/completions",
            json={"model": "smol", "messages": QUESTION, "stream": True, "tools": [tool("f")]},
            headers={"x-request-timeout": "1"},
        )
        *chunks, error, done = response.text.strip().split("\n\n")

        assert response.status_code == 200
        assert "Once" in "".join(chunks)
        assert json.loads(error.removeprefix("data: "))["error"]["code"] == "request_timeout"
        assert done == "data: [DONE]"
        assert endings(server) == {Ending.CLOSED}
        assert server.metric("strictcall_requests_total", api="chat", status="504") == 1


async def test_the_time_of_a_request_counts_while_it_waits(vocabulary: Vocabulary) -> None:
    """It has not reached the engine when it ends, and another waits in its place."""
    gate, scripts = on_demand(vocabulary)
    async with serving(vocabulary, scripts, small()) as server:
        running = asyncio.create_task(server.post())
        await until(lambda: len(server.engine.asked) == 1)
        response = await server.http.post(
            "/v1/chat/completions",
            json={"model": "smol", "messages": QUESTION},
            headers={"x-request-timeout": "0.05"},
        )
        gate.set()
        await running

        assert response.status_code == 504
        assert len(server.engine.asked) == 1


@pytest.mark.parametrize("value", ["", "0", "-1", "soon", "nan", "inf", "1e999", "20s"])
async def test_a_time_that_is_none_is_refused(vocabulary: Vocabulary, value: str) -> None:
    """The header is named, as a field would be."""
    async with serving(vocabulary, []) as server:
        response: httpx2.Response = await server.http.post(
            "/v1/chat/completions", json={}, headers={"x-request-timeout": value}
        )

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (
        400,
        "invalid_value",
        "x-request-timeout",
    )
