"""Kills the engine under load, again and again: what becomes of the requests, the service and the memory.

    $ python -m tests.soak.engine_kills --kills 20 --json kills.json
    20 kills, 20 recoveries (median 14.2 s); 812 answers, 214 typed errors, 0 without either
    …

It starts a server of its own. 16 clients ask it all the time, half of them streamed, half of them for strict
calls. An answer is right if it came to its end; a typed error has a `code`, in a response of 503 or as the
last event of a stream. Anything else, such as a stream that breaks off, fails the run.
"""

import argparse
import asyncio
import json
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil  # type: ignore[import-untyped]

from server.config.settings import DEFAULT_MODEL

CLIENTS = 16
START_SECONDS = 600
ANSWERS = 8
"""How many a new engine must give before it is killed."""

MOST_WAIT_SECONDS = 5.0
"""Clients come again when they are told to, but not so late that the new engine is killed without work."""

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 40}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


@dataclass(slots=True)
class Run:
    """What has happened so far."""

    url: str
    process: psutil.Process
    ends: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)


def body(number: int) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "model": DEFAULT_MODEL,
        "messages": [{"role": "user", "content": f"What is the weather in city {number}?"}],
        "max_completion_tokens": 60,
        "stream": number % 2 == 0,
    }
    if number % 4 < 2:
        asked |= {"tools": [TOOL], "tool_choice": "required"}
    return asked


def verdict(status: int, text: str, *, streamed: bool) -> str:
    """What a response is: an answer, a typed error, or something that no client can read."""
    if status == 503:
        return "typed error" if json.loads(text)["error"]["code"] else "error without a code"
    if status != 200:
        return f"status {status}"
    if not streamed:
        return "answer" if json.loads(text)["choices"][0]["finish_reason"] else "unfinished"
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    events = [json.loads(line) for line in lines if line != "[DONE]"]
    # An error too is followed by the end of the stream.
    if events and "error" in events[-1]:
        return "typed error" if events[-1]["error"]["code"] else "error without a code"
    finished = any(choice["finish_reason"] for event in events for choice in event["choices"])
    return "answer" if finished and lines[-1] == "[DONE]" else "broken stream"


async def ask(client: httpx2.AsyncClient, run: Run, number: int) -> None:
    asked = body(number)
    wait = 0.5
    try:
        response = await client.post("/v1/chat/completions", json=asked)
        end = verdict(response.status_code, response.text, streamed=asked["stream"])
        wait = min(float(response.headers.get("retry-after", wait)), MOST_WAIT_SECONDS)
    except (httpx2.HTTPError, ValueError, KeyError) as error:
        end = f"{type(error).__name__}: {error}"
    run.ends[end] += 1
    if end not in ("answer", "typed error"):
        run.faults.append(end)
    if end != "answer":
        await asyncio.sleep(wait)


async def keep_asking(client: httpx2.AsyncClient, run: Run, number: int) -> None:
    while True:
        await ask(client, run, number)
        number += CLIENTS


async def until_ready(client: httpx2.AsyncClient, run: Run) -> None:
    async with asyncio.timeout(START_SECONDS):
        while True:
            if not run.process.is_running() or run.process.status() == psutil.STATUS_ZOMBIE:
                sys.exit("The server has ended.")
            try:
                if (await client.get("/ready")).status_code == 200:
                    return
            except httpx2.HTTPError:
                pass
            await asyncio.sleep(0.2)


async def until_answered(run: Run) -> None:
    wanted = run.ends["answer"] + ANSWERS
    async with asyncio.timeout(START_SECONDS):
        while run.ends["answer"] < wanted:  # noqa: ASYNC110 - clients count, and tell nobody
            await asyncio.sleep(0.1)


async def kill(client: httpx2.AsyncClient, run: Run) -> None:
    [engine] = [child for child in run.process.children(recursive=True) if "EngineCore" in child.name()]
    engine.kill()
    began = time.monotonic()
    while (await client.get("/ready")).status_code == 200:  # noqa: ASYNC110 - it is another process's state
        await asyncio.sleep(0.05)
    await until_ready(client, run)
    run.recoveries.append(time.monotonic() - began)
    await until_answered(run)
    run.memory.append(run.process.memory_info().rss)
    print(
        f"kill {len(run.recoveries)}: back after {run.recoveries[-1]:.1f} s, "
        f"server {run.memory[-1] / 2**20:,.0f} MiB, {dict(run.ends)}",
        flush=True,
    )


@asynccontextmanager
async def started(log: Path) -> AsyncIterator[Run]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "server", "serve", "--port", str(port)]
    with log.open("wb") as output:
        # A subprocess of asyncio's would be waited for by the loop, and psutil could not see it end.
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)  # noqa: ASYNC220
    try:
        yield Run(f"http://127.0.0.1:{port}", psutil.Process(process.pid))
    finally:
        process.terminate()
        code = process.wait()
        print(f"The server ended with exit code {code}.")


async def main(kills: int, log: Path) -> Run:
    async with started(log) as run, httpx2.AsyncClient(base_url=run.url, timeout=300) as client:
        await until_ready(client, run)
        clients = [asyncio.create_task(keep_asking(client, run, number)) for number in range(CLIENTS)]
        await until_answered(run)
        for _ in range(kills):
            await kill(client, run)
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
    return run


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--kills", type=int, default=20)
    log = Path(tempfile.gettempdir(), "strictcall-engine-kills.log")
    options.add_argument("--log", type=Path, default=log, help=f"what the server writes ({log})")
    options.add_argument("--json", type=Path, help="also write the figures to this file")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or the server would stay behind
    done = asyncio.run(main(given.kills, given.log))
    print(
        f"{given.kills} kills, {len(done.recoveries)} recoveries (median "
        f"{statistics.median(done.recoveries):.1f} s); {done.ends['answer']} answers, "
        f"{done.ends['typed error']} typed errors, {len(done.faults)} without either"
    )
    print("MiB of the server after each:", *(f"{size / 2**20:.0f}" for size in done.memory))
    print(*done.faults, sep="\n")
    if given.json:
        figures = {"ends": done.ends, "recoveries": done.recoveries, "memory": done.memory}
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    sys.exit(bool(done.faults))
