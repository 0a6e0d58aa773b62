"""Engine steps for each token of a call, with the tokens that the mask forces drafted and without.

    $ python benchmarks/forced_tokens.py --json forced.json
    workload drafts  at once   tokens    steps  steps/token  drafted  accepted  tokens/s
    …
    calls, 1 at once: 50 of 50 answers identical

50 calls of 10 tools (`calls.json`), named and required in turn, greedy. The engine without drafts answers the
same requests, and the answers are compared. Counts do not depend on the machine, times do. It computes in
float32: in bfloat16 two tokens may be equally likely, and which is the first depends on how many tokens a
step reads. Plain chat is measured as well: drafts must not slow down what has none.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from server.app import create_app
from server.config.settings import Settings
from server.context import Context
from server.startup.locate import locate
from server.startup.start import start
from server.telemetry.metrics import Metrics

MODEL = "default"
CALLS = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
COUNTED = {
    "steps": "vllm:iteration_tokens_total_count",
    "drafted": "strictcall_forced_tokens_drafted_total",
    "accepted": "strictcall_forced_tokens_accepted_total",
    "tokens": "vllm:generation_tokens_total",
}

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One workload on one engine. `answers` are what the clients read."""

    workload: str
    drafts: bool
    concurrency: int
    tokens: int
    steps: int
    drafted: int
    accepted: int
    seconds: float
    answers: Sequence[str] = field(repr=False)

    @property
    def steps_per_token(self) -> float:
        return self.steps / self.tokens

    @property
    def accepted_fraction(self) -> float | None:
        return self.accepted / self.drafted if self.drafted else None


def calls() -> list[Body]:
    """The requests: every second one names its tool, the others may choose."""
    prompts = [(name, text) for name, texts in CALLS["prompts"].items() for text in texts]
    named = [{"type": "function", "function": {"name": name}} for name, _ in prompts]
    return [
        {
            "messages": [{"role": "user", "content": text}],
            "tools": CALLS["tools"],
            "tool_choice": named[at] if at % 2 == 0 else "required",
            "parallel_tool_calls": False,
            "temperature": 0,
            "max_tokens": 200,
        }
        for at, (_, text) in enumerate(prompts)
    ]


def chats() -> list[Body]:
    texts = ["Tell me about the sea.", "Why is the sky blue?", "Write a poem about bread.", "Count to fifty."]
    return [
        {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 60}
        for text in texts * 4
    ]


class Bench:
    """A server on one engine."""

    def __init__(self, context: Context, *, drafts: bool) -> None:
        self._metrics = context.metrics
        self._drafts = drafts
        transport = httpx2.ASGITransport(app=create_app(context))
        self._http = httpx2.AsyncClient(transport=transport, base_url="http://bench", timeout=600)

    async def run(self, workload: str, bodies: Sequence[Body], concurrency: int) -> Row:
        gate = asyncio.Semaphore(concurrency)

        async def ask(body: Body) -> str:
            async with gate:
                response = await self._http.post("/v1/chat/completions", json={"model": MODEL, **body})
            return told(response.raise_for_status().json())

        await ask(bodies[0])  # the prefix cache
        before, started = self._counted(), time.perf_counter()
        answers = await asyncio.gather(*map(ask, bodies))
        seconds = time.perf_counter() - started
        after = self._counted()
        grown = {name: round(after[name] - before[name]) for name in COUNTED}
        return Row(workload, self._drafts, concurrency, **grown, seconds=round(seconds, 2), answers=answers)

    def _counted(self) -> dict[str, float]:
        families = list(text_string_to_metric_families(self._metrics.render().decode()))
        samples = [sample for family in families for sample in family.samples]
        return {
            key: sum(sample.value for sample in samples if sample.name == name)
            for key, name in COUNTED.items()
        }


def told(answer: Mapping[str, Any]) -> str:
    """All of an answer but its ids."""
    [choice] = answer["choices"]
    functions = [call["function"] for call in choice["message"].get("tool_calls") or ()]
    return json.dumps([choice["message"]["content"], functions, choice["finish_reason"]])


async def measure(chosen: argparse.Namespace, *, drafts: bool) -> list[Row]:
    dtype = () if chosen.dtype == "auto" else ("--dtype", chosen.dtype)
    settings = Settings(draft_forced_tokens=drafts, served_model_name=(MODEL,), engine_args=dtype)
    context = await start(settings, locate(settings, report=print), Metrics(), report=print)
    try:
        bench = Bench(context, drafts=drafts)
        workloads = {"calls": calls()[: chosen.calls], "chat": chats()}
        return [
            await bench.run(workload, workloads[workload], count)
            for workload in chosen.workload
            for count in chosen.concurrency
        ]
    finally:
        await context.engine.close()


def print_table(rows: Sequence[Row]) -> None:
    line = "{:<8} {:<6} {:>8} {:>8} {:>8} {:>12} {:>8} {:>9} {:>9}"
    names = ("workload", "drafts", "at once", "tokens", "steps", "steps/token", "drafted", "accepted")
    print(line.format(*names, "tokens/s"))
    for row in rows:
        fraction = "" if row.accepted_fraction is None else f"{row.accepted_fraction:.1%}"
        drafts = "on" if row.drafts else "off"
        counts = (row.concurrency, row.tokens, row.steps, f"{row.steps_per_token:.3f}", row.drafted, fraction)
        print(line.format(row.workload, drafts, *counts, f"{row.tokens / row.seconds:.1f}"))


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments.add_argument("--calls", type=int, default=50, help="how many of the calls")
    arguments.add_argument(
        "--workload", nargs="+", default=["calls", "chat"], choices=["calls", "chat"], help="what is asked"
    )
    arguments.add_argument("--concurrency", type=int, nargs="+", default=[1, 8, 32])
    arguments.add_argument("--dtype", default="float32", help="the model's numbers; auto is vLLM's choice")
    chosen = arguments.parse_args()
    drafted = asyncio.run(measure(chosen, drafts=True))
    plain = asyncio.run(measure(chosen, drafts=False))
    pairs = list(zip(drafted, plain, strict=True))
    print_table([row for pair in pairs for row in pair])
    same = [[one == other for one, other in zip(a.answers, b.answers, strict=True)] for a, b in pairs]
    for (row, _), equal in zip(pairs, same, strict=True):
        print(f"{row.workload}, {row.concurrency} at once: {sum(equal)} of {len(equal)} answers identical")
    if chosen.json:
        figures = {
            "steps_per_token": round(drafted[0].steps_per_token, 4),
            "accepted_fraction": round(drafted[0].accepted_fraction or 0, 4),
            "identical": all(same[0]),
            "rows": [asdict(row) for row in (*drafted, *plain)],
        }
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
