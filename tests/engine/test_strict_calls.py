"""Strict calls under a model that writes almost anything: temperature 1.5, 135 million parameters."""

import asyncio
import collections
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.engine.conftest import RunningServer

pytestmark = pytest.mark.engine

TOOLS = json.loads((Path(__file__).parents[1] / "data" / "engine" / "strict_tools.json").read_text("utf-8"))
CALLS_PER_TOOL = 10


async def ask(server: RunningServer, tool: dict[str, Any]) -> list[dict[str, Any]]:
    function = {"name": tool["name"], "parameters": tool["parameters"], "strict": True}
    answer = await server.chat(
        messages=[{"role": "user", "content": tool["prompt"]}],
        tools=[{"type": "function", "function": function}],
        tool_choice="required",
        parallel_tool_calls=False,
        n=CALLS_PER_TOOL,
        temperature=1.5,
        max_tokens=160,
        seed=11,
    )
    choices: list[dict[str, Any]] = answer["choices"]
    return choices


async def test_every_finished_strict_call_is_valid_and_a_cut_one_says_so(server: RunningServer) -> None:
    """Of 300 calls over 30 schemas none is half right: it fits its schema, or it ends with `length`.

    Fault B257.
    """
    gate = asyncio.Semaphore(3)

    async def ask_in_turn(tool: dict[str, Any]) -> list[dict[str, Any]]:
        async with gate:
            return await ask(server, tool)

    cut_before = server.metric("strictcall_parse_failures_total", reason="truncated")
    answers = await asyncio.gather(*map(ask_in_turn, TOOLS))

    outcomes = collections.Counter[str]()
    for tool, choices in zip(TOOLS, answers, strict=True):
        validator = jsonschema_rs.Draft202012Validator(tool["parameters"], validate_formats=True)
        for choice in choices:
            outcomes[choice["finish_reason"]] += 1
            calls = choice["message"].get("tool_calls") or []
            if choice["finish_reason"] == "length":
                continue
            [call] = calls
            assert call["function"]["name"] == tool["name"]
            arguments = json.loads(call["function"]["arguments"])
            assert validator.is_valid(arguments), (tool["name"], arguments)

    cut = server.metric("strictcall_parse_failures_total", reason="truncated") - cut_before
    assert outcomes.keys() <= {"tool_calls", "length"}
    assert outcomes.total() == CALLS_PER_TOOL * len(TOOLS)
    assert outcomes["tool_calls"] >= 0.8 * outcomes.total()
    assert cut == outcomes["length"]
