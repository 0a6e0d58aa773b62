"""What the front end costs by itself: a scripted engine emits as fast as it is read, over real HTTP.

    $ python benchmarks/frontend.py --json frontend.json
    workload        streams   tokens/s   CPU s per 1,000 tokens
    prose                 1     21,000                    0.041
    …

The server runs in a process of its own, whose CPU time is what counts; the client only reads bytes.
"""

import argparse
import asyncio
import json
import multiprocessing
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx2
import psutil
import uvicorn

from parsers.families.hermes import HERMES
from parsers.family import write_call
from server.app import create_app
from server.compiling import compile_deadline
from server.context import Context
from server.default_model import prepare
from server.engine.scripted import Asked, Script, ScriptedEngine
from server.family import marker_tokens
from server.metrics import Metrics
from server.schema.plan import SchemaPlanner
from server.settings import Settings, default_cache
from server.template import choose_template
from server.vocabulary import Vocabulary

MODEL = "scripted"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOL = {"type": "function", "function": {"name": "write", "parameters": SCHEMA, "strict": True}}
LONG = "All work and no play makes a long argument. "
TEXTS = {
    "prose": LONG * 20,
    "short call": write_call(HERMES, "write", {"text": "Hello."}),
    "4 KB call": write_call(HERMES, "write", {"text": LONG * 90}),
}
CONCURRENCY = (1, 8, 32)
STREAMS = 64


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. Times are seconds of the server's process."""

    workload: str
    concurrency: int
    tokens: int
    tokens_per_second: float
    cpu_seconds_per_1000_tokens: float


def serve(ready: Connection) -> None:
    """Run the server until it is ended; tell its port and the tokens of each workload."""
    vocabulary = Vocabulary.load(str(prepare(default_cache() / "models", print)))
    scripts = {name: _script(vocabulary, text) for name, text in TEXTS.items()}

    def script_for(asked: Asked) -> Script:
        # The seed says which workload is asked for; it is the only number that passes through the API unread.
        return list(scripts.values())[asked.sampling.seed or 0]

    context = Context(
        settings=Settings(),
        engine=ScriptedEngine(script_for),
        vocabulary=vocabulary,
        template=choose_template(vocabulary.chat_template, HERMES),
        family=HERMES,
        markers=marker_tokens(HERMES, vocabulary),
        planner=SchemaPlanner(),
        deadline=compile_deadline(vocabulary, SchemaPlanner(), seconds=10),
        metrics=Metrics(),
        model_names=(MODEL,),
        created=1,
    )
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        tokens = {name: sum(map(len, script.deltas)) for name, script in scripts.items()}
        ready.send((listener.getsockname()[1], tokens))
        uvicorn.Server(uvicorn.Config(create_app(context), log_level="warning")).run([listener])


def _script(vocabulary: Vocabulary, text: str) -> Script:
    """One token a step, as an engine gives them."""
    return Script([(token_id,) for token_id in (*vocabulary.encode(text), min(vocabulary.end_ids))])


def body(workload: str) -> Mapping[str, Any]:
    tools = {} if workload == "prose" else {"tools": [TOOL], "tool_choice": "required"}
    messages = [{"role": "user", "content": "Go on."}]
    seed = list(TEXTS).index(workload)
    return {"model": MODEL, "messages": messages, "stream": True, "seed": seed, **tools}


async def read_streams(origin: str, workload: str, count: int, concurrency: int) -> None:
    """Read `count` streams to their end, `concurrency` at a time."""
    gate = asyncio.Semaphore(concurrency)
    limits = httpx2.Limits(max_connections=concurrency)
    async with httpx2.AsyncClient(base_url=origin, limits=limits, timeout=60) as client:

        async def read() -> None:
            async with gate, client.stream("POST", "/v1/chat/completions", json=body(workload)) as response:
                last = b""
                async for piece in response.aiter_raw():
                    last = piece
            if not last.endswith(b"data: [DONE]\n\n"):
                raise RuntimeError(f"a stream of '{workload}' did not end: {last[-200:]!r}")

        await asyncio.gather(*(read() for _ in range(count)))


def measure(origin: str, server: psutil.Process, workload: str, concurrency: int, tokens: int) -> Row:
    asyncio.run(read_streams(origin, workload, concurrency, concurrency))  # connections, caches
    wall, cpu = time.perf_counter(), sum(server.cpu_times()[:2])
    asyncio.run(read_streams(origin, workload, STREAMS, concurrency))
    wall, cpu = time.perf_counter() - wall, sum(server.cpu_times()[:2]) - cpu
    total = tokens * STREAMS
    return Row(workload, concurrency, total, round(total / wall), round(cpu / total * 1000, 4))


def print_table(rows: Sequence[Row]) -> None:
    line = "{:<12} {:>8} {:>8} {:>10} {:>24}"
    print(line.format("workload", "streams", "tokens", "tokens/s", "CPU s per 1,000 tokens"))
    for row in rows:
        speed, cost = f"{row.tokens_per_second:,.0f}", f"{row.cpu_seconds_per_1000_tokens:.4f}"
        print(line.format(row.workload, row.concurrency, f"{row.tokens:,}", speed, cost))


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--json", type=Path, help="also write the rows to this file")
    chosen = arguments.parse_args()
    context = multiprocessing.get_context("spawn")
    ready, telling = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(telling,), daemon=True)
    process.start()
    try:
        port, tokens = ready.recv()
        origin, server = f"http://127.0.0.1:{port}", psutil.Process(process.pid)
        rows = [
            measure(origin, server, workload, concurrency, tokens[workload])
            for workload in TEXTS
            for concurrency in CONCURRENCY
        ]
    finally:
        process.terminate()
    print_table(rows)
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
