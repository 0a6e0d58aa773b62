"""What the masks of schemas cost: CPU milliseconds to compile them, and to fill them token by token.

    $ python benchmarks/schemas.py --tokenizer models/qwen3 --json schemas.json
    50 tool schemas, 3 outputs of each, a vocabulary of 151,669
    CPU ms                 compile:  p50      p95      p99      max   fill: p50     p95     p99     max  …
    ours, warmed               28.2     79.5    187.3    284.5     0.004   0.033   0.051   0.409
    …

The schemas are those of `tool_schemas.py`. Ours is the whole way from the schema to the compiled mask:
`of these, planned` is the part in Python. XGrammar's is its converter, with the same fixed white space. An
output that a mask blocks is one that its schema allows. The masks are compiled on one thread.

With `--engine` they are made as the engine makes them: within the structural tag of a required call, by a
compiler with vLLM's eight threads and its cache; and by one whose cache is so small that other schemas have
driven out what was compiled first. CPU seconds are those of all threads.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xgrammar
from tokenizers import Tokenizer
from tool_schemas import OUTPUTS, Schema, tools
from transformers import AutoTokenizer

from parsers.families.hermes import HERMES
from parsers.grammar import CallableTool
from server.config.settings import default_cache
from server.mask.forms import compact_tag
from server.schema.plan import Root, SchemaPlanner
from server.schema.warmup import warm_up_schema
from server.startup.default_model import prepare


@dataclass(frozen=True, slots=True)
class Figures:
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Row:
    """CPU milliseconds. `planned`: of the compilation, what is not XGrammar's."""

    name: str
    compile: Figures
    planned: Figures
    fill: Figures
    blocked: int
    grammar_bytes: Figures


NAME = "f"
ENGINE_THREADS = 8
ENGINE_CACHE = 512 * 2**20
"""What vLLM gives its compiler."""
SMALL_CACHE = 32 * 2**20
"""Less than the warm-up takes."""
OTHERS = 100
"""Schemas that are compiled before those that are measured; the first ones of `tools` are left to those."""


def figures(values: Sequence[float]) -> Figures:
    return Figures(*(float(value) for value in np.percentile(values, [50, 95, 99, 100])))


Plan = Callable[[Schema], dict[str, Any]]
"""Makes the format that goes to XGrammar in a structural tag."""


class Masks:
    """One way to make masks, with a compiler of its own."""

    def __init__(
        self, tokens: xgrammar.TokenizerInfo, plan: Plan, *, threads: int = 1, cache_bytes: int = -1
    ) -> None:
        self._compiler = xgrammar.GrammarCompiler(
            tokens, max_threads=threads, cache_enabled=True, cache_limit_bytes=cache_bytes
        )
        self._vocabulary = tokens.vocab_size
        self._plan = plan

    @property
    def cache_bytes(self) -> int:
        return int(self._compiler.get_cache_size_bytes())

    def compile(self, schema: Schema) -> tuple[xgrammar.CompiledGrammar, float, float]:
        """The compiled mask, the milliseconds for all of it, and those before XGrammar's compiler."""
        started = time.process_time()
        tag = compact_tag(self._plan(schema))
        planned = time.process_time()
        compiled = self._compiler.compile_structural_tag(tag)
        return compiled, (time.process_time() - started) * 1_000, (planned - started) * 1_000

    def fill(self, compiled: xgrammar.CompiledGrammar, ids: Sequence[int]) -> tuple[list[float], bool]:
        """The milliseconds of each mask along an output, and whether the output could be written."""
        matcher = xgrammar.GrammarMatcher(compiled)
        mask = xgrammar.allocate_token_bitmask(1, self._vocabulary)
        spent = []
        for id in ids:
            started = time.thread_time_ns()
            matcher.fill_next_token_bitmask(mask)
            spent.append((time.thread_time_ns() - started) / 1e6)
            if not matcher.accept_token(id):
                return spent, False
        return spent, True


def measure(name: str, masks: Masks, made: Sequence[tuple[Schema, list[str]]], tokenizer: Tokenizer) -> Row:
    compiling, planning, filling, sizes = [], [], [], []
    blocked = 0
    for schema, outputs in made:
        compiled, whole, planned = masks.compile(schema)
        compiling.append(whole)
        planning.append(planned)
        sizes.append(float(compiled.memory_size_bytes))
        for output in outputs:
            spent, passed = masks.fill(compiled, tokenizer.encode(output, add_special_tokens=False).ids)
            filling += spent
            blocked += not passed
    return Row(name, figures(compiling), figures(planning), figures(filling), blocked, figures(sizes))


def ours() -> Plan:
    planner = SchemaPlanner()
    return lambda schema: dict(planner.plan(schema, closed=True, root=Root.OBJECT).format)


def in_call() -> Plan:
    """As a server asks for it: the arguments of the one call that the answer must be."""
    plan = ours()

    def planned(schema: Schema) -> dict[str, Any]:
        tools = [CallableTool(NAME, plan(schema))]
        tag = HERMES.structural_tag(tools, at_least=1, at_most=1, answer=None, opens_reasoning=False)
        return dict(tag["format"])

    return planned


def called(made: Sequence[tuple[Schema, list[str]]]) -> list[tuple[Schema, list[str]]]:
    """The outputs as calls."""
    return [
        (schema, [HERMES.write_calls([(NAME, json.loads(output))]) for output in outputs])
        for schema, outputs in made
    ]


def evicted(tokens: xgrammar.TokenizerInfo) -> Masks:
    """A warmed compiler that has compiled more than it can keep."""
    masks = Masks(tokens, in_call(), threads=ENGINE_THREADS, cache_bytes=SMALL_CACHE)
    warm(masks)
    for schema, _ in tools(2 * OTHERS)[OTHERS:]:
        masks.compile(schema)
    return masks


def xgrammars(schema: Schema) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": schema, "any_whitespace": False}


def warm(masks: Masks) -> float:
    """Compile what all masks have in common, as a server does at its start; the seconds it takes."""
    return masks.compile(warm_up_schema())[1] / 1_000


def print_row(row: Row) -> None:
    print(
        f"{row.name:<22}"
        + "".join(f"{value:>9.1f}" for value in asdict(row.compile).values())
        + "  "
        + "".join(f"{value:>8.3f}" for value in asdict(row.fill).values())
        + f"{row.blocked:>9}",
        flush=True,
    )
    print(
        f"{'  of these, planned':<22}" + "".join(f"{value:>9.1f}" for value in asdict(row.planned).values())
    )


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--tokenizer", type=Path, help="a folder; the default model's if not given")
    options.add_argument("--schemas", type=int, default=50)
    options.add_argument("--engine", action="store_true", help="make the masks as the engine makes them")
    options.add_argument("--json", type=Path, help="also write the figures to this file")
    given = options.parse_args()
    folder = given.tokenizer or prepare(default_cache() / "models", print)
    loaded = AutoTokenizer.from_pretrained(folder)
    tokens, tokenizer = xgrammar.TokenizerInfo.from_huggingface(loaded), loaded.backend_tokenizer
    made = tools(given.schemas)
    print(f"{len(made)} tool schemas, {OUTPUTS} outputs of each, a vocabulary of {tokens.vocab_size:,}")
    print(
        f"{'CPU ms':<22}"
        " compile:  p50      p95      p99      max   fill: p50     p95     p99     max  blocked"
    )
    warmed = Masks(tokens, ours())
    seconds, size = warm(warmed), warmed.cache_bytes
    ways = [
        ("ours, warmed", warmed),
        ("ours, not warmed", Masks(tokens, ours())),
        ("XGrammar's converter", Masks(tokens, xgrammars)),
    ]
    if given.engine:
        made = called(made)
        engine = Masks(tokens, in_call(), threads=ENGINE_THREADS, cache_bytes=ENGINE_CACHE)
        warm(engine)
        ways = [("in calls, warmed", engine), ("in calls, evicted", evicted(tokens))]
    rows = []
    for name, masks in ways:
        rows.append(measure(name, masks, made, tokenizer))
        print_row(rows[-1])
    print(f"The warm-up takes {seconds:.1f} CPU s once, and {size / 1e6:.1f} MB of the compiler's cache.")
    if given.json:
        whole = {"warm_up_seconds": seconds, "warm_up_bytes": size, "rows": [asdict(row) for row in rows]}
        given.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
