"""More than the engine has time for, on the real engine: who is served, and whose time ends."""

import asyncio
from typing import Any

import pytest

from tests.engine.conftest import RunningServer
from tests.engine.test_aborts import ENDLESS, scrape, scrapes_as

pytestmark = pytest.mark.engine

SHORT = {**ENDLESS, "max_tokens": 8}
LONG_PROMPT = {**ENDLESS, "messages": [{"role": "user", "content": "Tell me a story. " * 300}]}


@pytest.mark.parametrize("long", [ENDLESS, LONG_PROMPT], ids=["answers", "prompts"])
async def test_short_requests_are_served_while_long_ones_run(
    server: RunningServer, long: dict[str, Any]
) -> None:
    """Sixteen short ones come behind eight long ones; all end before any of the long ones does."""

    async def ask(body: dict[str, Any]) -> int:
        return (await server.http.post("/v1/chat/completions", json=body)).status_code

    running = [asyncio.create_task(ask(long)) for _ in range(8)]
    try:
        assert await scrapes_as(server, "strictcall_requests_running", 8)
        short = await asyncio.gather(*(ask(SHORT) for _ in range(16)))
        ended = [task.done() for task in running]
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    assert short == [200] * 16
    assert not any(ended)
    assert await scrapes_as(server, "vllm:num_requests_running", 0)


async def test_a_request_whose_time_has_ended_runs_no_more(server: RunningServer) -> None:
    """The engine drops it at once, and whoever asked is told with 504."""
    before = await scrape(server, "strictcall_aborts_total", cause="timeout")
    response = await server.http.post(
        "/v1/chat/completions", json=ENDLESS, headers={"x-request-timeout": "1"}
    )

    assert (response.status_code, response.json()["error"]["code"]) == (504, "request_timeout")
    assert await scrapes_as(server, "vllm:num_requests_running", 0)
    assert await scrape(server, "strictcall_aborts_total", cause="timeout") == before + 1
