"""What the front end costs by itself: a scripted engine emits as fast as it is read, over real HTTP.

    $ python benchmarks/frontend.py --json frontend.json
    workload        streams   tokens/s   CPU s per 1,000 tokens
    prose                 1     21,000                    0.041
    …
    1,000 streams, a token each in 250 ms: 0 lost, gaps 251 ms (median), 263 ms (p99)
    …
    worst wait of 8 others beside one request with 1 MB: streamed 4 ms, …

The server runs in a process of its own, whose CPU time is what counts; the client only reads bytes.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reader import Stream, read_stream
from scripted_server import CHECKED, ScriptedServer, Text, scripted_server

from server.bench.compare import median, percentile

LONG = "All work and no play makes a long argument. "
TEXTS = {
    "prose": Text.prose(LONG * 20),
    "short call": Text.write("Hello."),
    "4 KB call": Text.write(LONG * 90),
    "1 MB call": Text.write(LONG * 23_500),
}
MEASURED = ("prose", "short call", "4 KB call")
CONCURRENCY = (1, 8, 32)
STREAMS = 64

STEP_MS = 250
"""What a step of the engine takes with 1,000 streams."""

OTHERS = 8
OTHERS_STEP_MS = 20
"""The streams that one large request may disturb, and how often their tokens come."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One measurement. Times are seconds of the server's process."""

    workload: str
    concurrency: int
    tokens: int
    tokens_per_second: float
    cpu_seconds_per_1000_tokens: float


@dataclass(frozen=True, slots=True)
class Crowd:
    """Many streams at once. Gaps are seconds between chunks; memory is in bytes of the server's process."""

    streams: int
    lost: int
    """Streams that did not end, or not with all of their text."""
    gap_median: float
    gap_p99: float
    memory_per_stream: float
    grown: int
    """How much more memory there is after a second crowd than after the first."""


@dataclass(frozen=True, slots=True)
class Stall:
    """How long, beyond their step, the other streams waited at most beside a request with 1 MB."""

    beside: str
    worst: float


async def read_streams(server: ScriptedServer, workload: str, count: int, concurrency: int) -> list[Stream]:
    """Read `count` streams to their end, `concurrency` at a time."""
    gate = asyncio.Semaphore(concurrency)

    async def read() -> Stream:
        async with gate:
            return await read_stream(server.origin, server.body(workload, stream=True))

    return await asyncio.gather(*(read() for _ in range(count)))


def cost(server: ScriptedServer, workload: str, concurrency: int) -> Cost:
    asyncio.run(read_streams(server, workload, concurrency, concurrency))  # caches
    wall, cpu = time.perf_counter(), server.cpu_seconds()
    streams = asyncio.run(read_streams(server, workload, STREAMS, concurrency))
    wall, cpu = time.perf_counter() - wall, server.cpu_seconds() - cpu
    if not all(stream.complete for stream in streams):
        raise RuntimeError(f"a stream of '{workload}' did not end")
    total = server.tokens[workload] * STREAMS
    return Cost(workload, concurrency, total, round(total / wall), round(cpu / total * 1000, 4))


def crowd(server: ScriptedServer, count: int) -> Crowd:
    """Run two crowds; the first leaves what an allocator keeps, the second must leave no more."""
    before = server.memory()
    streams, peak = asyncio.run(_crowd(server, count))
    first = server.memory()
    again, _ = asyncio.run(_crowd(server, count))
    [alone] = asyncio.run(read_streams(server, "prose", 1, 1))
    gaps = [gap for stream in streams for gap in stream.gaps]
    return Crowd(
        streams=count,
        lost=sum(not stream.complete or stream.events != alone.events for stream in [*streams, *again]),
        gap_median=median(gaps),
        gap_p99=percentile(gaps, 99),
        memory_per_stream=(peak - before) / count,
        grown=server.memory() - first,
    )


async def _crowd(server: ScriptedServer, count: int) -> tuple[list[Stream], int]:
    """The streams of a crowd, and the memory when all of them run."""
    body = server.body("prose", step_ms=STEP_MS, stream=True)
    reading = [asyncio.create_task(read_stream(server.origin, body)) for _ in range(count)]
    await asyncio.sleep(server.tokens["prose"] * STEP_MS / 1000 / 2)
    memory = server.memory()
    return list(await asyncio.gather(*reading)), memory


def stalls(server: ScriptedServer) -> list[Stall]:
    """Put each kind of large request beside streams that have nothing to do with it."""
    history = [
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "tool_calls": [called("1", LONG * 23_500)]},
        {"role": "tool", "tool_call_id": "1", "content": "Done."},
    ]
    # What comes back as one piece has no use for an engine that stops after each token.
    beside = {
        "nothing": server.body("short call", stream=True),
        "1 MB, streamed": server.body("1 MB call", stream=True),
        "1 MB, held and checked": server.body("1 MB call", stream=True, tools=[CHECKED]),
        "1 MB, whole": server.body("1 MB call"),
        "1 MB in the request": server.body("prose", stream=True, messages=history),
    }
    return [Stall(name, asyncio.run(worst_wait(server, body))) for name, body in beside.items()]


def called(id: str, text: str) -> dict[str, Any]:
    function = {"name": "write", "arguments": json.dumps({"text": text})}
    return {"id": id, "type": "function", "function": function}


async def worst_wait(server: ScriptedServer, body: dict[str, Any]) -> float:
    """The longest gap of the others while `body` is answered, less a step."""
    other = server.body("4 KB call", step_ms=OTHERS_STEP_MS, stream=True)
    others = [asyncio.create_task(read_stream(server.origin, other)) for _ in range(OTHERS)]
    await asyncio.sleep(1)
    begun = time.perf_counter()
    answered = await read_stream(server.origin, body)
    ended = time.perf_counter()
    streams = await asyncio.gather(*others)
    if not all(stream.complete for stream in [answered, *streams]):
        raise RuntimeError(f"a stream did not end: {answered.tail!r}")
    return max(stream.longest_gap(begun, ended) for stream in streams) - OTHERS_STEP_MS / 1000


def print_costs(rows: Sequence[Cost]) -> None:
    line = "{:<12} {:>8} {:>8} {:>10} {:>24}"
    print(line.format("workload", "streams", "tokens", "tokens/s", "CPU s per 1,000 tokens"))
    for row in rows:
        speed, spent = f"{row.tokens_per_second:,.0f}", f"{row.cpu_seconds_per_1000_tokens:.4f}"
        print(line.format(row.workload, row.concurrency, f"{row.tokens:,}", speed, spent))


def print_crowd(found: Crowd) -> None:
    print(
        f"{found.streams:,} streams, a token each in {STEP_MS} ms: {found.lost} lost, "
        f"gaps {found.gap_median * 1000:.0f} ms (median), {found.gap_p99 * 1000:.0f} ms (p99), "
        f"{found.memory_per_stream / 1024:.0f} KB per stream, "
        f"{found.grown / 2**20:+.1f} MB after a second time"
    )


def print_stalls(found: Sequence[Stall]) -> None:
    told = ", ".join(f"{row.beside} {row.worst * 1000:.0f} ms" for row in found)
    print(f"worst wait of {OTHERS} others, beyond their {OTHERS_STEP_MS} ms, beside: {told}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments.add_argument("--streams", type=int, default=1000, help="streams at once (1,000)")
    arguments.add_argument("--only", choices=("costs", "crowd", "stalls"), help="measure only this")
    arguments.add_argument("--loop", default="auto", choices=("auto", "asyncio", "uvloop"))
    arguments.add_argument("--http", default="auto", choices=("auto", "h11", "httptools"))
    chosen = arguments.parse_args()
    found: dict[str, Any] = {}
    with scripted_server(TEXTS, loop=chosen.loop, http=chosen.http) as server:
        if chosen.only in (None, "costs"):
            costs = [cost(server, workload, streams) for workload in MEASURED for streams in CONCURRENCY]
            print_costs(costs)
            found["costs"] = [asdict(row) for row in costs]
        if chosen.only in (None, "crowd"):
            print_crowd(many := crowd(server, chosen.streams))
            found["crowd"] = asdict(many)
        if chosen.only in (None, "stalls"):
            print_stalls(waits := stalls(server))
            found["stalls"] = [asdict(row) for row in waits]
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
