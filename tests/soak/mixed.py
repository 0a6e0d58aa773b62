"""Mixed traffic for a while: nothing fails that should not, nothing leaks, and memory stays flat.

    $ python -m tests.soak.mixed --minutes 20 --json mixed.json
    20 minutes, 16 clients: 5,120 requests
    chat 1,830 …
    engine: 0 running, 0 waiting at the end
    …

It starts a server of its own. Each client does one thing after the other, drawn at random: a chat, a strict
call, a schema or body that must be refused, a stream that it leaves, a body that is too large, a prompt over
the context. A status that the kind of request does not allow fails the run, and so does an answer whose
arguments do not fit their schema, a request that the engine still has at the end, or memory that grew.
"""

import argparse
import asyncio
import json
import random
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil  # type: ignore[import-untyped]

from server.config.settings import DEFAULT_MODEL
from tests.soak.engine_kills import TOOL, started, until_ready

CLIENTS = 16
SAMPLE_SECONDS = 20.0
SETTLE_SECONDS = 10.0
MOST_GROWTH = 1.10
"""How much more memory the last third of a run may take, in the median, than the second."""
RUNNING = ("vllm:num_requests_running", "vllm:num_requests_waiting", "strictcall_requests_in_flight")


@dataclass(slots=True)
class Soak:
    """What has happened so far. `memory` are MiB of the server and of its engine's processes."""

    client: httpx2.AsyncClient
    draw: random.Random
    ends: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)
    number: int = 0


def body(soak: Soak, **more: Any) -> dict[str, Any]:
    soak.number += 1
    return {
        "model": DEFAULT_MODEL,
        "messages": [{"role": "user", "content": f"Tell me of the weather in city {soak.number}."}],
        "max_completion_tokens": soak.draw.choice((8, 24, 60)),
        "stream": soak.draw.random() < 0.5,
        **more,
    }


async def post(soak: Soak, asked: Mapping[str, Any]) -> httpx2.Response:
    return await soak.client.post("/v1/chat/completions", json=asked)


def good_stream(text: str) -> bool:
    *events, end = [
        line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")
    ] or [""]
    # Looked for as a member: a model may well write "error".
    return end == "[DONE]" and not any("error" in json.loads(event) for event in events)


async def chat(soak: Soak) -> str:
    asked = body(soak)
    response = await post(soak, asked)
    whole = good_stream(response.text) if asked["stream"] else "choices" in response.json()
    return (
        "200" if response.status_code == 200 and whole else f"{response.status_code} {response.text[-200:]}"
    )


async def strict_call(soak: Soak) -> str:
    """A call whose schema nobody has sent before: a new grammar each time."""
    name = f"city_{soak.number}"
    parameters = {
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": 12}, "days": {"enum": [1, 2, 3]}},
        "required": [name, "days"],
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {**TOOL["function"], "parameters": parameters}}
    asked = body(soak, tools=[tool], tool_choice="required", max_completion_tokens=120, stream=False)
    response = await post(soak, asked)
    if response.status_code != 200:
        return f"{response.status_code} {response.text[-200:]}"
    [choice] = response.json()["choices"]
    if choice["finish_reason"] != "length":
        for each in choice["message"]["tool_calls"]:
            arguments = json.loads(each["function"]["arguments"])
            if set(arguments) != {name, "days"} or arguments["days"] not in (1, 2, 3):
                return f"broken arguments {arguments}"
    return "200"


BAD: tuple[dict[str, Any], ...] = (
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "strnig"}}}},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"$ref": "#/gone"}}}},
    {"structured_outputs": {"regex": "("}},
    {"structured_outputs": {"grammar": "root ::= missing"}},
    {"tools": [], "temperature": 9},
    {"messages": []},
    {"chat_template": "{{ 1 }}"},
)


async def bad_schema(soak: Soak) -> str:
    return await refused(soak, body(soak, **soak.draw.choice(BAD)), 400)


async def over_the_context(soak: Soak) -> str:
    return await refused(soak, body(soak, messages=[{"role": "user", "content": "word " * 40_000}]), 400)


async def oversize(soak: Soak) -> str:
    return await refused(soak, body(soak, messages=[{"role": "user", "content": "a" * 9 * 2**20}]), 413)


async def refused(soak: Soak, asked: Mapping[str, Any], status: int) -> str:
    response = await post(soak, asked)
    code = response.json()["error"]["code"]
    return str(status) if response.status_code == status else f"{response.status_code} {code}"


async def leave(soak: Soak) -> str:
    """Go away before the first event, or after some."""
    asked = body(soak, stream=True, max_completion_tokens=200)
    stay = soak.draw.choice((0.02, 0.3, 1.5))
    try:
        async with asyncio.timeout(stay):
            async with soak.client.stream("POST", "/v1/chat/completions", json=asked) as response:
                async for _ in response.aiter_bytes():
                    pass
                return str(response.status_code)
    except TimeoutError:
        return "left"


KINDS: Mapping[str, tuple[int, Callable[[Soak], Awaitable[str]], frozenset[str]]] = {
    "chat": (8, chat, frozenset({"200"})),
    "strict call": (6, strict_call, frozenset({"200"})),
    "bad schema": (4, bad_schema, frozenset({"400"})),
    "leave": (4, leave, frozenset({"left", "200"})),
    "over the context": (1, over_the_context, frozenset({"400"})),
    "oversize": (1, oversize, frozenset({"413"})),
}
"""How often each kind is drawn, what does it, and how it may end."""


async def keep_doing(soak: Soak) -> None:
    weights = [weight for weight, _, _ in KINDS.values()]
    while True:
        [kind] = soak.draw.choices(list(KINDS), weights)
        _, do, allowed = KINDS[kind]
        try:
            end = await do(soak)
        except (httpx2.HTTPError, ValueError, KeyError) as error:
            end = f"{type(error).__name__}: {error}"
        soak.ends[f"{kind}: {end[:40]}"] += 1
        if end not in allowed:
            soak.faults.append(f"{kind}: {end}")


async def measure(soak: Soak, server: psutil.Process) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        engine = sum(child.memory_info().rss for child in server.children(recursive=True))
        soak.memory.append((server.memory_info().rss // 2**20, engine // 2**20))
        print(
            f"{time.monotonic() - began:.0f} s: MiB {soak.memory[-1]}, {soak.ends.total()} requests",
            flush=True,
        )


async def left_over(client: httpx2.AsyncClient) -> dict[str, float]:
    """What the server and its engine are still doing."""
    lines = (await client.get("/metrics")).text.splitlines()
    return {
        name: sum(
            float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{"))
        )
        for name in RUNNING
    }


def grown(memory: list[tuple[int, int]]) -> list[float]:
    """How many times the memory of the second third the last one is, of the server and of the engine."""
    third = max(1, len(memory) // 3)
    return [
        statistics.median(each[which] for each in memory[-third:])
        / statistics.median(each[which] for each in memory[-2 * third : -third] or memory)
        for which in (0, 1)
    ]


async def main(minutes: float, log: Path, seed: int) -> tuple[Soak, dict[str, float]]:
    limits = httpx2.Limits(max_connections=CLIENTS + 2)
    async with (
        started(log) as run,
        httpx2.AsyncClient(base_url=run.url, timeout=300, limits=limits) as client,
    ):
        await until_ready(client, run)
        soak = Soak(client, random.Random(seed))
        tasks = [asyncio.create_task(keep_doing(soak)) for _ in range(CLIENTS)]
        tasks.append(asyncio.create_task(measure(soak, run.process)))
        ended, _ = await asyncio.wait(tasks, timeout=minutes * 60)
        soak.faults += [repr(task.exception()) for task in ended]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(SETTLE_SECONDS)
        return soak, await left_over(client)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--log", type=Path, default=Path("mixed.log"), help="what the server writes")
    options.add_argument("--json", type=Path, help="also write the figures to this file")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or the server would stay behind
    done, left = asyncio.run(main(given.minutes, given.log, given.seed))
    growth = grown(done.memory)
    print(f"{given.minutes:g} minutes, {CLIENTS} clients: {done.ends.total():,} requests")
    print(*(f"{end} {count:,}" for end, count in sorted(done.ends.items())), sep="\n")
    print("left over:", left)
    print("MiB of server and engine:", *done.memory)
    print("the last third against the second:", *(f"{each:.2f}" for each in growth))
    print(*done.faults[:50], sep="\n")
    if given.json:
        figures = {"ends": done.ends, "memory": done.memory, "left": left, "faults": done.faults}
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    sys.exit(bool(done.faults) or any(left.values()) or max(growth) > MOST_GROWTH)
