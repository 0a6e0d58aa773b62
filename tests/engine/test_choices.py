"""The table: every tool_choice, strict or not, streamed or not, one choice or two, parallel or not."""

import itertools
import json
from typing import Any

import pytest

from tests.engine.conftest import RunningServer

pytestmark = pytest.mark.engine

UNITS = {"enum": ["celsius", "fahrenheit"]}
TOOLS = {
    "get_weather": {
        "type": "object",
        "properties": {"city": {"enum": ["Oslo", "Paris"]}, "unit": UNITS},
        "required": ["city", "unit"],
        "additionalProperties": False,
    },
    "get_time": {
        "type": "object",
        "properties": {"zone": {"enum": ["UTC", "CET"]}},
        "required": ["zone"],
        "additionalProperties": False,
    },
}
NAMED = {"type": "function", "function": {"name": "get_time"}}


def allowed(mode: str) -> dict[str, Any]:
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [NAMED]}}


CHOICES: dict[str, Any] = {
    "none": "none",
    "auto": "auto",
    "required": "required",
    "named": NAMED,
    "allowed_auto": allowed("auto"),
    "allowed_required": allowed("required"),
}
CALLABLE = {"none": [], "named": ["get_time"], "allowed_auto": ["get_time"], "allowed_required": ["get_time"]}
FORCED = ("required", "named", "allowed_required")
MAX_CALLS = 16

ROWS = list(itertools.product(CHOICES, ("strict", "loose"), (1, 2), ("parallel", "single")))


def body(choice: str, strictness: str, n: int, calls: str) -> dict[str, Any]:
    functions = [
        {"name": name, "parameters": schema, "strict": strictness == "strict"}
        for name, schema in TOOLS.items()
    ]
    return {
        "messages": [{"role": "user", "content": "What is the weather in Oslo, and what time is it there?"}],
        "tools": [{"type": "function", "function": function} for function in functions],
        "tool_choice": CHOICES[choice],
        "parallel_tool_calls": calls == "parallel",
        "n": n,
        "seed": 7,
        "temperature": 0.8,
        "max_tokens": 60,
    }


def without_ids(choice: dict[str, Any]) -> dict[str, Any]:
    """The choice as far as it does not differ by chance."""
    functions = [call["function"] for call in choice["message"].get("tool_calls") or []]
    calls = [(function["name"], function["arguments"]) for function in functions]
    return {
        "content": choice["message"]["content"] or "",
        "calls": calls,
        "finish_reason": choice["finish_reason"],
    }


def check_choice(choice: dict[str, Any], row: tuple[str, str, int, str]) -> None:
    kind, strictness, _, parallel = row
    message, finish = choice["message"], choice["finish_reason"]
    calls = message.get("tool_calls") or []
    whole = calls if finish != "length" else calls[:-1]

    assert len(calls) <= (1 if parallel == "single" or kind == "named" else MAX_CALLS)
    assert all(call["function"]["name"] in CALLABLE.get(kind, list(TOOLS)) for call in calls)
    if kind in FORCED:
        assert not message["content"] or finish == "length"
        assert calls or finish == "length"
    if finish != "length":
        assert finish == ("tool_calls" if calls else "stop")
    for call in whole:
        arguments = json.loads(call["function"]["arguments"])
        assert isinstance(arguments, dict)
        if strictness == "strict":
            properties = TOOLS[call["function"]["name"]]["properties"]
            assert isinstance(properties, dict)
            assert arguments.keys() == properties.keys()
            assert all(arguments[key] in allowed["enum"] for key, allowed in properties.items())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row)))
async def test_the_choice_is_held_and_streaming_changes_nothing(
    server: RunningServer, row: tuple[str, str, int, str]
) -> None:
    """Whatever is asked: the mask holds it, the finish reason says it, and a stream says the same."""
    request = body(*row)
    whole = await server.chat(**request)
    streamed = await server.stream(**request)

    for answer in (whole, streamed):
        assert len(answer["choices"]) == row[2]
        for choice in answer["choices"]:
            check_choice(choice, row)
    # Two choices are two of the engine's requests, whose arithmetic depends on who shares a step with them.
    if row[2] == 1:
        assert list(map(without_ids, streamed["choices"])) == list(map(without_ids, whole["choices"]))
        assert streamed["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]
