"""Clients that leave before their answer is complete, over real connections, on the real engine."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.engine.conftest import MODEL, RunningEngine, RunningServer

pytestmark = pytest.mark.engine

ENDLESS = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Tell me a story."}],
    "max_tokens": 4000,
    "logit_bias": {"2": -100},
}
"""An answer that the model cannot end: without an abort it runs for minutes."""

CLIENT = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], sys.argv[2].encode(), {"content-type": "application/json"})
with urllib.request.urlopen(request) as response:
    for line in response:
        print(line.decode(), flush=True)
"""
"""A client of its own process, which can be killed."""


async def scrape(server: RunningServer, name: str, **labels: str) -> float:
    """The sum of a metric's samples as `GET /metrics` gives them."""
    text = (await server.http.get("/metrics")).raise_for_status().text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


async def scrapes_as(server: RunningServer, name: str, value: float, **labels: str) -> bool:
    """Whether `GET /metrics` gives a value, long before an endless answer would be at its end."""
    for _ in range(1500):
        if await scrape(server, name, **labels) == value:
            return True
        await asyncio.sleep(0.02)
    return False


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is true; fail after half a minute."""
    for _ in range(1500):
        if condition():
            return
        await asyncio.sleep(0.02)
    pytest.fail("this did not come true within half a minute")


@contextlib.asynccontextmanager
async def connection(server: RunningServer, **body: Any) -> AsyncGenerator[asyncio.StreamReader]:
    """A request over a connection of its own, which is cut off when the block ends."""
    url = server.http.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    text = json.dumps({**ENDLESS, **body}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {url.host}\r\ncontent-length: {len(text)}\r\n\r\n"
    writer.write(head.encode() + text)
    try:
        yield reader
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def open_files() -> int:
    """How many files and sockets this process, the server's, has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_client_that_is_killed_stops_its_generation_within_a_second(server: RunningServer) -> None:
    """The operator sees it in the metrics: nothing runs, and one more disconnect."""
    aborts = await scrape(server, "strictcall_aborts_total", cause="disconnect")
    body = json.dumps({**ENDLESS, "stream": True})
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CLIENT, f"{server.base_url}/chat/completions", body),
        stdout=asyncio.subprocess.PIPE,
    )
    assert client.stdout is not None
    await client.stdout.readuntil(b'"content": "')
    await client.stdout.readuntil(b'"content": "')
    assert await scrapes_as(server, "vllm:num_requests_running", 1)
    client.kill()
    await client.wait()

    assert await scrapes_as(server, "vllm:num_requests_running", 0)
    assert await scrape(server, "strictcall_aborts_total", cause="disconnect") == aborts + 1
    assert await scrape(server, "strictcall_requests_in_flight") == 0


@pytest.mark.parametrize("n", [1, 3])
async def test_a_client_that_leaves_while_it_waits_for_a_whole_answer_stops_it_too(
    server: RunningServer, n: int
) -> None:
    """Nothing has been sent yet, and still every choice ends, which would go on for minutes."""
    aborts = await scrape(server, "strictcall_aborts_total", cause="disconnect")
    left = await scrape(server, "strictcall_requests_total", api="chat", status="499")
    async with connection(server, n=n):
        assert await scrapes_as(server, "vllm:num_requests_running", n)

    assert await scrapes_as(server, "vllm:num_requests_running", 0)
    assert await scrape(server, "strictcall_aborts_total", cause="disconnect") == aborts + n
    assert await scrape(server, "strictcall_requests_total", api="chat", status="499") == left + 1
    assert await scrape(server, "strictcall_requests_in_flight") == 0


async def test_who_stays_is_answered_while_another_leaves(
    server: RunningServer, running: RunningEngine
) -> None:
    """An abort ends one request of a running batch, and no other (B263)."""
    question = [{"role": "user", "content": "What is the capital of France?"}]
    alone = await server.chat(messages=question, temperature=0, max_tokens=12)
    async with connection(server, stream=True) as leaving:
        await leaving.readuntil(b'"content": "')
        staying = asyncio.create_task(server.chat(messages=question, temperature=0, max_tokens=12))
        await until(lambda: running.engine.unfinished == 2)

    assert (await staying)["choices"][0]["message"] == alone["choices"][0]["message"]


async def test_two_hundred_aborted_streams_leave_nothing_behind(
    server: RunningServer, running: RunningEngine
) -> None:
    """No request in the engine, none in flight, no task and no open file; and the server goes on.

    Faults B263, B279.
    """
    async with connection(server, stream=True) as reader:
        await reader.readuntil(b'"role"')
    await until(lambda: running.engine.unfinished == 0)
    tasks, files = len(asyncio.all_tasks()), open_files()
    aborts = server.metric("strictcall_aborts_total", cause="disconnect")
    left = server.metric("strictcall_requests_total", api="chat", status="499")

    for _ in range(5):
        async with contextlib.AsyncExitStack() as batch:
            readers = [await batch.enter_async_context(connection(server, stream=True)) for _ in range(40)]
            # More than the engine runs at once: some leave mid-stream, some while they wait for their turn.
            await until(lambda: running.engine.unfinished == 40)
            await asyncio.gather(*(reader.readuntil(b'"role"') for reader in readers[:20]))
        await until(lambda: running.engine.unfinished == 0)

    await until(lambda: server.metric("strictcall_requests_in_flight") == 0)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    await until(lambda: open_files() <= files)
    assert server.metric("strictcall_requests_total", api="chat", status="499") == left + 200
    assert server.metric("strictcall_aborts_total", cause="disconnect") == aborts + 200
    assert (await server.http.get("/health")).status_code == 200
    answer = await server.chat(messages=[{"role": "user", "content": "Hi"}], max_tokens=2)
    assert answer["usage"]["completion_tokens"] == 2
