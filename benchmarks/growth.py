"""How costs grow with the work: tools, messages, the length of an argument, streams; on a scripted engine.

    $ python benchmarks/growth.py --json growth.json
    what                        1        10       100  …  slope
    CPU ms by tools           3.1       4.0      12.9  …   0.45
    …

Each figure is CPU time of the server's process. The slope is that of the logarithms, from the last decade:
1 is linear, 2 quadratic, 0 no growth at all. Where matplotlib is installed, `--png` draws them.
"""

import argparse
import asyncio
import importlib.util
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reader import read_stream
from scripted_server import ScriptedServer, Text, scripted_server, tool

from server.bench.compare import median

LINE = "All work and no play makes a long argument. "
PROSE = "One line of an answer."
SIZES = (1_000, 10_000, 100_000, 1_000_000)
TEXTS = {"prose": Text.prose(PROSE), **{f"{size}": Text.write((LINE * 25_000)[:size]) for size in SIZES}}

REPEATS = 7

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where it is."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
        "kind": {"enum": ["file", "folder", "link"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Growth:
    """What was varied, and CPU milliseconds for each size."""

    what: str
    sizes: tuple[int, ...]
    milliseconds: tuple[float, ...]

    @property
    def slope(self) -> float:
        """Of the logarithms, from the last size that is ten times smaller than the largest, or nearly."""
        largest = self.sizes[-1]
        at = max((i for i, size in enumerate(self.sizes) if size * 8 <= largest), default=0)
        rise = math.log(self.milliseconds[-1] / self.milliseconds[at])
        return rise / math.log(largest / self.sizes[at])


async def ask(server: ScriptedServer, body: Mapping[str, Any], streams: int) -> None:
    answers = await asyncio.gather(*(read_stream(server.origin, body) for _ in range(streams)))
    if bad := next((answer for answer in answers if not answer.complete), None):
        raise RuntimeError(f"no good answer: {bad.tail!r}")


def cost(server: ScriptedServer, body: Mapping[str, Any], *, streams: int = 1) -> float:
    """CPU milliseconds of one round: the median of several, after one that fills the caches."""
    found = []
    for _ in range(REPEATS + 1):
        before = server.cpu_seconds()
        asyncio.run(ask(server, body, streams))
        found.append((server.cpu_seconds() - before) * 1000)
    return max(median(found[1:]), 0.01)


def growth(what: str, sizes: Sequence[int], of: Callable[[int], float]) -> Growth:
    return Growth(what, tuple(sizes), tuple(round(of(size), 1) for size in sizes))


def measure(server: ScriptedServer) -> list[Growth]:
    def by_tools(count: int) -> float:
        tools = [tool(f"tool_{number}", SCHEMA) for number in range(count)]
        return cost(server, server.body("prose", stream=True, tools=tools, tool_choice="auto"))

    def by_messages(count: int) -> float:
        turns = [{"role": ("user", "assistant")[number % 2], "content": LINE * 4} for number in range(count)]
        return cost(server, server.body("prose", stream=True, messages=[*turns, *turns[:1]]))

    def by_argument(size: int) -> float:
        return cost(server, server.body(f"{size}", stream=True))

    def by_streams(count: int) -> float:
        return cost(server, server.body("prose", stream=True), streams=count)

    return [
        growth("tools", (1, 2, 4, 8, 16, 32, 64, 128), by_tools),
        growth("messages", (2, 6, 20, 60, 200), by_messages),
        growth("characters of an argument", SIZES, by_argument),
        growth("streams", (1, 10, 100, 1000), by_streams),
    ]


def print_table(rows: Sequence[Growth]) -> None:
    for row in rows:
        print(f"CPU ms by {row.what}")
        print("  " + "".join(f"{size:>12,}" for size in row.sizes) + f"{'slope':>10}")
        print("  " + "".join(f"{each:>12,.1f}" for each in row.milliseconds) + f"{row.slope:>10.2f}")


def draw(rows: Sequence[Growth], path: Path) -> None:
    """Draw every growth into one picture, with both axes logarithmic."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(rows), figsize=(4 * len(rows), 3.5))
    for row, plot in zip(rows, axes, strict=True):
        plot.loglog(row.sizes, row.milliseconds, marker="o")
        plot.set_xlabel(row.what)
        plot.set_ylabel("CPU ms")
        plot.set_title(f"slope {row.slope:.2f}")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments.add_argument("--png", type=Path, help="draw them, if matplotlib is installed")
    chosen = arguments.parse_args()
    with scripted_server(TEXTS) as server:
        rows = measure(server)
    print_table(rows)
    if chosen.json:
        found = [{**asdict(row), "slope": round(row.slope, 3)} for row in rows]
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if chosen.png and importlib.util.find_spec("matplotlib") is None:
        print("There is no picture: matplotlib is not installed.")
    elif chosen.png:
        draw(rows, chosen.png)


if __name__ == "__main__":
    main()
