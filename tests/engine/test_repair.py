"""A model that repeats itself where it must not is shown its errors, and writes the call again."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from server.engine.protocol import Output
from server.request import SamplingParams
from tests.engine.conftest import RunningServer

pytestmark = pytest.mark.engine

COINS = {
    "type": "object",
    "properties": {
        "coins": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"side": {"type": "integer", "minimum": 1, "maximum": 4}},
                "required": ["side"],
                "additionalProperties": False,
            },
            "uniqueItems": True,
            "minItems": 2,
            "maxItems": 2,
        }
    },
    "required": ["coins"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "toss", "parameters": COINS, "strict": True}}
SEEDS = [range(first, first + 4) for first in range(0, 32, 4)]
"""Four requests at a time, until one call was written again and was right."""


def outcomes(server: RunningServer) -> dict[str, float]:
    names = ("repaired", "failed", "unfinished")
    return {name: server.metric("strictcall_schema_repairs_total", outcome=name) for name in names}


async def toss(server: RunningServer, seed: int) -> int | None:
    """Ask for two coins that differ; return how many attempts it took, None if none was right."""
    response = await server.http.post(
        "/v1/chat/completions",
        json={
            "model": server.context.model_names[0],
            "messages": [{"role": "user", "content": "Toss two coins."}],
            "tools": [TOOL],
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "seed": seed,
            "max_tokens": 60,
            "temperature": 2,
            "strictcall": {"report": True, "on_violation": "retry", "max_attempts": 5},
        },
    )
    body: dict[str, Any] = response.json()
    if response.status_code != 200:
        assert body["error"]["code"] == "schema_violation"
        return None
    message = body["choices"][0]["message"]
    one, other = json.loads(message["tool_calls"][0]["function"]["arguments"])["coins"]
    assert one != other
    return int(message["strictcall"]["attempts"])


@pytest.fixture(name="prompts")
def _prompts(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The prompts that the engine is given, by the names of its requests."""
    given: dict[str, str] = {}
    generate = server.context.engine.generate

    def listening(
        request_id: str, prompt: Sequence[int], sampling: SamplingParams, structural_tag: str | None
    ) -> AsyncGenerator[Output, None]:
        given[request_id] = server.context.vocabulary.decode(prompt)
        return generate(request_id, prompt, sampling, structural_tag)

    monkeypatch.setattr(server.context.engine, "generate", listening)
    return given


async def test_a_model_that_repeats_itself_writes_its_call_again(
    server: RunningServer, prompts: dict[str, str]
) -> None:
    """What is answered fits the schema; the second prompt has the errors, and the metrics what came of it."""
    retries = server.metric("strictcall_schema_retries_total", keyword="uniqueItems")
    before = outcomes(server)
    attempts: list[int | None] = []
    for seeds in SEEDS:
        attempts += await asyncio.gather(*(toss(server, seed) for seed in seeds))
        if any(count is not None and count > 1 for count in attempts):
            break
    # The first attempt of a choice is chatcmpl-…-0, the next ones chatcmpl-…-0-2 and so on.
    again = [prompt for name, prompt in prompts.items() if name.count("-") == 3]
    came = {name: count - before[name] for name, count in outcomes(server).items()}

    assert came["repaired"]
    assert came == {
        "repaired": sum(count is not None and count > 1 for count in attempts),
        "failed": attempts.count(None),
        "unfinished": 0,
    }
    assert all("- $.coins: expected items that all differ" in prompt for prompt in again)
    assert server.metric("strictcall_schema_retries_total", keyword="uniqueItems") - retries == len(again)
