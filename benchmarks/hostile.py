"""What hostile schemas cost others: how soon each is answered, and how long a stream beside it has to wait.

    $ python benchmarks/hostile.py --json hostile.json
    request                                    status   answered   longest gap of the stream beside it
    50 patternProperties, answer                  200     1.91 s       0.12 s
    …
    406 answered: slowest …; 289 refused: slowest …; longest gap 0.21 s, with nothing beside it 0.09 s

All requests of `hostile_schemas.py` are sent to the real server, one after the other, while it streams to
another client. A refusal costs no model time; what is answered has three tokens, of a model that also writes
for the stream. `--only 'WORD|WORD'` takes those that have one of the words in their names.

The stream has no tokens of white space: that is passed on with what follows it, and would look like a wait.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.hostile_schemas import COMMON, Row, rows
from benchmarks.reader import Stream, read_stream
from benchmarks.serve import Server, running

SHOWN = 25
ALONE_SECONDS = 10.0
STREAM: dict[str, Any] = {
    **COMMON,
    "messages": [{"role": "user", "content": "Tell me a long story."}],
    "max_tokens": 1_500,
    "stream": True,
}
END = 2
"""The token that ends an answer of the default model."""
BLANKS = tuple(letter * count for letter in " \n\t" for count in range(1, 9))


@dataclass(frozen=True, slots=True)
class Figure:
    """Times are seconds."""

    name: str
    status: int
    answered: float
    gap: float
    message: str = ""


class Beside:
    """One stream after the other, whose chunks are timed."""

    def __init__(self, origin: str, *, without: Sequence[int]) -> None:
        """`without`: the tokens that the streams must not have."""
        self._origin = origin
        self._body = {**STREAM, "logit_bias": dict.fromkeys(map(str, without), -100)}
        self._streams = [Stream()]

    async def run(self) -> None:
        while True:
            self._streams.append(Stream())
            await read_stream(self._origin, self._body, self._streams[-1])
            if not self._streams[-1].complete:
                sys.exit("The stream beside the requests has broken.")

    async def flows(self) -> None:
        """Wait until another chunk has come."""
        seen = self._chunks
        while self._chunks == seen:  # noqa: ASYNC110 - the clock of a stream tells nobody
            await asyncio.sleep(0.005)

    @property
    def _chunks(self) -> int:
        return sum(len(stream.times) for stream in self._streams)

    def longest_gap(self, begun: float, ended: float) -> float:
        return max(stream.longest_gap(begun, ended) for stream in self._streams[-3:])


async def blank_tokens(http: httpx2.AsyncClient) -> list[int]:
    """Tokens of white space alone."""
    found = []
    for text in BLANKS:
        response = await http.post("/tokenize", json={"prompt": text, "add_special_tokens": False})
        tokens = response.raise_for_status().json()["tokens"]
        found += tokens if len(tokens) == 1 else []
    return found


async def figures(origin: str, asked: Sequence[Row]) -> tuple[list[Figure], float]:
    """Send all requests in turn; also the longest gap of the stream with nothing beside it."""
    async with httpx2.AsyncClient(base_url=origin, timeout=60) as http:
        beside = Beside(origin, without=[END, *await blank_tokens(http)])
    streaming = asyncio.create_task(beside.run())
    await beside.flows()
    begun = time.perf_counter()
    await asyncio.sleep(ALONE_SECONDS)
    alone = beside.longest_gap(begun, time.perf_counter())
    async with httpx2.AsyncClient(base_url=origin, timeout=600) as http:
        found = [await figure(http, beside, row) for row in asked]
    streaming.cancel()
    return found, alone


async def figure(http: httpx2.AsyncClient, beside: Beside, row: Row) -> Figure:
    await beside.flows()
    begun = time.perf_counter()
    headers = {"content-type": "application/json"}
    response = await http.post("/v1/chat/completions", content=row.content, headers=headers)
    ended = time.perf_counter()
    await beside.flows()
    error = response.json().get("error", {}).get("message", "")
    return Figure(row.name, response.status_code, ended - begun, beside.longest_gap(begun, ended), error)


def print_table(found: Sequence[Figure], alone: float) -> None:
    print(f"{'request':<45}{'status':>8}{'answered':>12}   longest gap of the stream beside it")
    slowest = sorted(found, key=lambda each: -max(each.answered, 2 * each.gap))
    for each in slowest[:SHOWN]:
        print(f"{each.name:<45}{each.status:>8}{each.answered:>10.2f} s{each.gap:>10.2f} s")
    for word, kept in (
        ("answered", range(200, 300)),
        ("refused", range(400, 500)),
        ("failed", range(500, 600)),
    ):
        some = [each.answered for each in found if each.status in kept]
        if some:
            late = sum(seconds > 1 for seconds in some)
            print(f"{len(some)} {word}: slowest {max(some):.2f} s, {late} after more than 1 s")
    longest = max(each.gap for each in found)
    long = sum(each.gap > 0.5 for each in found)
    print(f"longest gap {longest:.2f} s, {long} of more than 0.5 s; with nothing beside it {alone:.2f} s")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument(
        "--only", metavar="WORD|…", default="", help="requests with one of these in the name"
    )
    options.add_argument(
        "--url", help="a server that runs, such as http://127.0.0.1:8000; else one is started"
    )
    options.add_argument("--json", type=Path, help="also write the figures to this file")
    given = options.parse_args()
    asked = [row for row in rows() if any(word in row.name for word in given.only.split("|"))]
    if given.url:
        found, alone = asyncio.run(figures(given.url, asked))
    else:
        server = Server("strictcall", [sys.executable, "-m", "server", "serve"], "/health")
        with tempfile.TemporaryDirectory() as folder, running(server, Path(folder) / "log") as endpoint:
            found, alone = asyncio.run(figures(endpoint.url.removesuffix("/v1/"), asked))
    print_table(found, alone)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if given.json:
        whole = {"alone": alone, "load": os.getloadavg(), "requests": [asdict(each) for each in found]}
        given.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
