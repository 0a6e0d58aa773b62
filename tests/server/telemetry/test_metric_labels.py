"""However much clients make up, they make no time series."""

import json
from typing import Any

from server.config.settings import Settings, ToolMask
from server.engine.scripted import Asked, Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import QUESTION, Server, call, script, serving, tool

ROUNDS = 25


def series(server: Server) -> set[str]:
    """Names and labels of all series there are, ours and those of every library in the process."""
    lines = server.context.metrics.render().decode().splitlines()
    return {line.rpartition(" ")[0] for line in lines if not line.startswith("#")}


def made_up(number: int) -> dict[str, Any]:
    """A body that names nothing which another one does: tools, schemas, users, fields."""
    name = f"tool_{number}"
    schema = {
        "type": "object",
        "properties": {
            f"field_{number}": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
        },
        "required": [f"field_{number}"],
        f"x-keyword-{number}": True,
    }
    return {
        "tools": [tool(name, schema, strict=number % 2 == 0)],
        "tool_choice": "required" if number % 3 else "auto",
        "user": f"user-{number}",
        "metadata": {f"key-{number}": "value"},
        f"unknown_{number}": number,
    }


def written(vocabulary: Vocabulary, asked: Asked) -> Script:
    """Calls of tools that exist and that do not, with values that break their schemas."""
    number = hash(asked.request_id)
    wild = call(f"wild_{number}", {f"key_{number}": number})
    return script(vocabulary, f"{wild}\n{call('tool_1', {f'field_{number}': ['a', 'a']})}")


async def flood(server: Server, start: int) -> None:
    """Everything in which a client may write a name of its own, with names that nobody else uses."""
    for number in range(start, start + ROUNDS):
        key = {"authorization": f"Bearer key-{number}", "x-request-id": f"id-{number}"}
        trace = {"traceparent": f"00-{number + 1:032x}-{number + 1:016x}-01", "tracestate": f"v{number}=1"}
        agent = {"user-agent": f"agent/{number}", "origin": f"http://{number}.test"}
        await server.post(**made_up(number))
        await server.post(model=f"model-{number}")
        await server.http.post(f"/v1/path-{number}", json={}, headers=key | agent)
        await server.http.get(f"/v1/models/model-{number}", headers=trace)
        await server.http.get(f"/v1/responses/resp_{number}", headers=agent)
        await server.http.request(f"METHOD{number}", "/v1/models")
        await server.http.post("/v1/messages", json={"model": f"model-{number}", "messages": QUESTION})
        await server.http.post("/v1/responses", json={"model": f"model-{number}", "input": "Hi"})
        await server.http.post("/v1/completions", json={"model": f"model-{number}", "prompt": "Hi"})
        await server.http.post("/tokenize", content=json.dumps({"model": f"m{number}", "prompt": "a"}))


async def test_what_clients_make_up_makes_no_series(vocabulary: Vocabulary) -> None:
    """Models, tools, schemas, users, keys, ids, paths, methods: after the first nothing grows (B291)."""
    settings = Settings(tool_mask=ToolMask.STRICT, compile_seconds=120)
    async with serving(vocabulary, lambda asked: written(vocabulary, asked), settings) as server:
        await flood(server, 0)
        before = series(server)

        await flood(server, 1000)

        assert series(server) == before
        assert not [each for each in before if "wild" in each or "tool_1" in each or "key-" in each]
        assert server.metric("strictcall_requests_total", api="other", status="404") > 0
        assert server.metric("strictcall_parse_failures_total", family="hermes", reason="unknown_tool") > 0
