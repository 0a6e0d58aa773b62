"""The real engine's process is killed under load: nobody waits for ever, and the server goes on."""

import asyncio
import json
import multiprocessing
from multiprocessing.process import BaseProcess
from typing import Any

import httpx2
import openai
import pytest

from tests.engine.conftest import MODEL, RunningEngine, RunningServer

pytestmark = [pytest.mark.engine, pytest.mark.in_process]

STORY = {"model": MODEL, "messages": [{"role": "user", "content": "Tell me a long story."}]}
ENDLESS = {**STORY, "max_completion_tokens": 4000, "logit_bias": {"2": -100}}
"""An answer that the model may not end."""


def engine_processes() -> list[BaseProcess]:
    return [child for child in multiprocessing.active_children() if "EngineCore" in child.name]


async def until_ready(server: RunningServer) -> None:
    async with asyncio.timeout(300):
        while (await ready(server)).status_code != 200:  # noqa: ASYNC110 - asked over HTTP, as a probe does
            await asyncio.sleep(0.2)


async def streamed(server: RunningServer, begun: asyncio.Event) -> list[dict[str, Any]]:
    """The data of all events, `[DONE]` aside; sets `begun` with the first."""
    events = []
    async with server.http.stream("POST", "/v1/chat/completions", json={**ENDLESS, "stream": True}) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                events.append(json.loads(line.removeprefix("data: ")))
                begun.set()
    return events


async def ready(server: RunningServer) -> httpx2.Response:
    return await server.http.get("/ready")


async def test_a_killed_engine_costs_what_ran_in_it_and_comes_back(
    server: RunningServer, running: RunningEngine
) -> None:
    """Streams end with an error event, others with 503; later the server answers as before (B285)."""
    question = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "temperature": 0}
    before = await server.chat(**question, max_tokens=12)
    restarts = server.metric("strictcall_engine_restarts_total", outcome="started")
    begun = asyncio.Event()
    stream = asyncio.create_task(streamed(server, begun))
    whole = asyncio.create_task(server.http.post("/v1/chat/completions", json=ENDLESS))
    await begun.wait()
    [process] = engine_processes()
    process.kill()

    events, response = await asyncio.gather(stream, whole)
    refused = await server.http.post("/v1/chat/completions", json=STORY)
    is_ready, is_alive = await ready(server), await server.http.get("/health")
    await until_ready(server)

    assert events[-1]["error"]["code"] == "engine_restarting"
    assert all(event["choices"] for event in events[:-1])
    for answer in (response, refused, is_ready):
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "engine_restarting"
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert is_alive.status_code == 200
    after = await server.chat(**question, max_tokens=12)
    assert after["choices"] == before["choices"]
    assert server.metric("strictcall_engine_restarts_total", outcome="started") == restarts + 1
    assert running.engine.unfinished == 0
    assert not process.is_alive()


async def test_an_sdk_that_retries_does_not_notice_a_killed_engine(server: RunningServer) -> None:
    """It is told when to come again, and the request that had said nothing yet is answered after all."""
    patient = openai.AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=100)
    [process] = engine_processes()
    process.kill()
    asked = patient.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "Hi"}], max_tokens=4
    )

    async with asyncio.timeout(300):
        answer = await asked

    assert answer.choices[0].finish_reason == "length"
    await patient.close()
