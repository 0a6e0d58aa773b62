"""Schemas, grammars and forms that are meant to hurt: each is answered, and none harms the stream beside it.

How long that takes is measured by `benchmarks/hostile.py`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from benchmarks.hostile_schemas import Row, rows, tool_sets
from tests.engine.conftest import MODEL, RunningEngine, RunningServer

pytestmark = pytest.mark.engine

TOKENS = 40
BESIDE: dict[str, Any] = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Tell me a long story."}],
    "temperature": 0,
    "max_tokens": TOKENS,
    "logit_bias": {"2": -100},
    "stream": True,
    "stream_options": {"include_usage": True},
}
"""A stream that cannot end before its budget."""
LONG_PROMPTS = range(5_000, 30_000)
"""Bytes of requests whose tools make prompts of thousands of tokens, each of which takes a minute to read.

Their schemas are sent as answer formats too, and `benchmarks/hostile.py` sends all. Longer ones are refused.
"""
GROUPS = 20
"""All requests in so many tests: one after the other in a group, each beside the stream."""


@dataclass(slots=True)
class Beside:
    """Plain streams, one after the other, for as long as something else goes on."""

    http: httpx2.AsyncClient
    chunks: asyncio.Event = field(default_factory=asyncio.Event)
    whole: int = 0
    going: bool = True

    async def run(self) -> None:
        while self.going:
            await self._one()
            self.whole += 1

    async def _one(self) -> None:
        async with self.http.stream("POST", "/v1/chat/completions", json=BESIDE) as response:
            lines = [line async for line in self._told(response) if line.startswith("data: ")]
        assert (response.status_code, lines[-1]) == (200, "data: [DONE]")
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
        reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]
        assert (reasons[-1], chunks[-1]["usage"]["completion_tokens"]) == ("length", TOKENS)

    async def _told(self, response: httpx2.Response) -> AsyncIterator[str]:
        async for line in response.aiter_lines():
            self.chunks.set()
            yield line

    async def goes_on(self) -> None:
        """Wait for a piece of a stream that comes from now on."""
        self.chunks.clear()
        await self.chunks.wait()


@pytest_asyncio.fixture(name="beside")
async def _beside(server: RunningServer) -> AsyncIterator[Beside]:
    beside = Beside(server.http)
    running = asyncio.create_task(beside.run())
    await beside.goes_on()
    yield beside
    beside.going = False
    await running
    assert beside.whole


def fault_of(response: httpx2.Response) -> str | None:
    """What is wrong with an answer: neither a good one, nor a refusal that a client can act on."""
    if response.status_code == 200:
        found = {choice["finish_reason"] for choice in response.json()["choices"]}
        return None if found <= {"stop", "length", "tool_calls"} else f"finished with {found}"
    if response.status_code not in (400, 413):
        return f"{response.status_code}: {response.text[:300]}"
    error = response.json()["error"]
    if error.keys() != {"message", "type", "param", "code"} or error["type"] != "invalid_request_error":
        return f"not OpenAI's form of an error: {error}"
    is_about_all = error["code"] in (None, "request_too_large")
    if not (error["param"] or is_about_all) or len(error["message"]) < 20:
        return f"says neither where nor what: {error}"
    return None


@pytest.mark.parametrize("group", range(GROUPS))
async def test_whatever_is_asked_is_answered_and_no_stream_breaks(
    server: RunningServer, running: RunningEngine, beside: Beside, group: int
) -> None:
    """200, or 4xx that names the field; the stream beside it goes on, to its last token; the engine lives."""
    faults = {}
    for row in asked()[group::GROUPS]:
        faults[row.name] = fault_of(await ask(server, row))
        await beside.goes_on()
    await running.engine.check()

    assert {name: fault for name, fault in faults.items() if fault} == {}


def asked() -> list[Row]:
    return [row for row in rows() if not (row.name.endswith(", tool") and len(row.content) in LONG_PROMPTS)]


async def ask(server: RunningServer, row: Row) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return await server.http.post("/v1/chat/completions", content=row.content, headers=headers)


async def test_many_at_once_are_answered(
    server: RunningServer, running: RunningEngine, beside: Beside
) -> None:
    """Eight sets of ten heavy tools; one that has to wait too long for its masks is told to come again.

    Fault B276.
    """
    found = await asyncio.gather(*(ask(server, row) for row in tool_sets(8)))
    await beside.goes_on()
    await running.engine.check()

    busy = [response for response in found if response.status_code == 503]
    assert [fault for response in found if response not in busy and (fault := fault_of(response))] == []
    assert all("retry-after" in response.headers for response in busy)
