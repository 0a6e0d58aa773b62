"""What reading calls costs: CPU seconds for one long argument and for many calls, for every family.

    $ python benchmarks/parser.py --families hermes,qwen3_coder --json parser.json
    one argument             10 KB     20 KB    100 KB      1 MB   ns per byte
    hermes                   0.015     0.029     0.154     1.793     1,441   1,386   1,457   1,698
    …

All texts come in pieces of 4 characters, about a token each. A reader that is linear shows the same
nanoseconds per byte whatever the size. Where vLLM is installed, its streaming parsers read the same text,
up to the size that would take them more than `--budget` seconds. With `--markdown`, what is printed is the
tables of docs/performance.md.
"""

import argparse
import gc
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from parsers.events import CallArguments, CallEnd
from parsers.family import Family
from parsers.registry import FAMILIES, find

PIECE = 4
REPEATS = 5
"""The quickest counts: what is slower was disturbed. What takes long is disturbed less, and runs once."""
LONG = 1.0
LINE = '    total += price * count  # "net", <b>not</b> gross\n'
KB = 1_000
LENGTHS = {"10 KB": 10 * KB, "20 KB": 20 * KB, "100 KB": 100 * KB, "1 MB": 1_000 * KB}
COUNTS = {"10": 10, "100": 100, "1,000": 1_000}

TOOL = "write"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
VLLM = {"hermes": "hermes", "qwen3_coder": "qwen3_coder"}
"""vLLM's names of the parsers that are run beside ours, and the families whose text they read."""
VLLM_TOKENS = {"<tool_call>": 1, "</tool_call>": 2}
"""The markers of both are tokens, by which vLLM knows them. No ids come with other text."""

Read = Callable[[Sequence[str]], list[list[str]]]
"""Reads an answer from its pieces, and returns the arguments of each call, in pieces."""


@dataclass(frozen=True, slots=True)
class StreamingParser:
    """A parser to be measured, the family whose text it reads, and how that is cut for it."""

    name: str
    family: Family
    read: Read
    cut: Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: CPU seconds to read an answer of so many bytes, or None where it was not run."""

    parser: str
    workload: str
    size: str
    bytes: int
    cpu_seconds: float | None


@dataclass(frozen=True, slots=True)
class Workload:
    """Answers that grow: by size, the arguments of their calls."""

    name: str
    answers: Mapping[str, Sequence[str]]


def workloads(*, quick: bool) -> list[Workload]:
    lengths, counts = list(LENGTHS.items()), list(COUNTS.items())
    if quick:
        lengths.pop()
        counts.pop()
    return [
        Workload("one argument", {size: [text_of(length)] for size, length in lengths}),
        Workload("many calls", {size: [text_of(40)] * count for size, count in counts}),
    ]


def text_of(length: int) -> str:
    """What a model might write into a file."""
    return (LINE * (length // len(LINE) + 1))[:length]


def cut(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def cut_at_tokens(text: str) -> list[str]:
    """Pieces in which vLLM's tokens stay whole."""
    for token in VLLM_TOKENS:
        text = text.replace(token, f"\0{token}\0")
    return [piece for part in text.split("\0") for piece in ([part] if part in VLLM_TOKENS else cut(part))]


def reader(family: Family) -> Read:
    def read(pieces: Sequence[str]) -> list[list[str]]:
        parser = family.parser({TOOL: SCHEMA})
        calls: list[list[str]] = [[]]
        for piece in pieces:
            for event in parser.feed(piece):
                if isinstance(event, CallArguments):
                    calls[-1].append(event.text)
                elif isinstance(event, CallEnd):
                    calls.append([])
        calls += [[] for event in parser.finish() if isinstance(event, CallEnd)]
        return calls[:-1]

    return read


class Tokens:
    """As much of a tokenizer as vLLM's parsers ask for."""

    def get_vocab(self) -> Mapping[str, int]:
        return VLLM_TOKENS

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(token for token, own_id in VLLM_TOKENS.items() if own_id in ids)


def vllms(name: str) -> Read:
    """A streaming parser of vLLM, driven as its server does: with all of the text so far, each time.

    Raises ImportError if vLLM or something that this parser needs is not installed.
    """
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.tool_parsers import ToolParserManager

    tool = {"type": "function", "function": {"name": TOOL, "parameters": SCHEMA}}
    create = ToolParserManager.get_tool_parser(name)
    request = ChatCompletionRequest(messages=[{"role": "user", "content": "Go on."}], tools=[tool])

    def read(pieces: Sequence[str]) -> list[list[str]]:
        parser = create(Tokens(), request.tools)
        calls: list[list[str]] = []
        text = ""
        for piece in pieces:
            before, text = text, text + piece
            ids = [VLLM_TOKENS[piece]] if piece in VLLM_TOKENS else []
            delta = parser.extract_tool_calls_streaming(before, text, piece, [], ids, ids, request)
            for call in delta.tool_calls if delta else ():
                calls += [[] for _ in range(call.index + 1 - len(calls))]
                calls[call.index].append((call.function and call.function.arguments) or "")
        return calls

    return read


def measure(read: Read, pieces: Sequence[str], texts: Sequence[str]) -> float:
    """CPU seconds of the quickest run. Raises RuntimeError if the calls are not read as they were written."""
    best = float("inf")
    for _ in range(REPEATS):
        gc.collect()
        start = time.process_time()
        calls = read(pieces)
        best = min(best, time.process_time() - start)
        if [json.loads("".join(call)) for call in calls] != [{"text": text} for text in texts]:
            raise RuntimeError("the calls were not read as they were written")
        if best > LONG:
            break
    return best


def measure_all(parser: StreamingParser, workload: Workload, budget: float) -> Iterator[Row]:
    """A row for each size. One that would exceed the budget, if the cost is a square, is not run."""
    last_bytes, last_seconds = 1, 0.0
    for size, texts in workload.answers.items():
        answer = parser.family.write_calls([(TOOL, {"text": text}) for text in texts])
        length = len(answer.encode())
        seconds = None
        if parser.name == parser.family.name or last_seconds * (length / last_bytes) ** 2 <= budget:
            seconds = measure(parser.read, parser.cut(answer), texts)
            last_bytes, last_seconds = length, seconds
        yield Row(parser.name, workload.name, size, length, seconds)


def text_row(parser: str, rows: Sequence[Row]) -> str:
    seconds = ["-" if row.cpu_seconds is None else f"{row.cpu_seconds:,.3f}" for row in rows]
    costs = ["-" if row.cpu_seconds is None else f"{row.cpu_seconds / row.bytes * 1e9:,.0f}" for row in rows]
    columns = "".join(f"{text:>10}" for text in seconds) + "   " + " ".join(f"{text:>7}" for text in costs)
    return f"{parser:<20}{columns}"


def parsers_of_vllm(chosen: Sequence[Family]) -> Iterator[StreamingParser]:
    # Of an import that fails, vLLM logs the traceback.
    logging.disable()
    for name, family in VLLM.items():
        if find(family) in chosen:
            try:
                read = vllms(name)
            except ImportError as error:
                print(f"vLLM's {name} is left out: {error}", file=sys.stderr)
            else:
                yield StreamingParser(f"vLLM {name}", find(family), read, cut_at_tokens)


def markdown(rows: Sequence[Row]) -> str:
    """The rows as the tables of docs/performance.md, one for each workload."""
    tables = []
    for workload in dict.fromkeys(row.workload for row in rows):
        own = [row for row in rows if row.workload == workload]
        sizes = list(dict.fromkeys(row.size for row in own))
        lines = [[workload, *sizes, "ns per byte"], ["---"] * (len(sizes) + 2)]
        parsers = dict.fromkeys(row.parser for row in own)
        lines += [markdown_cells(parser, [row for row in own if row.parser == parser]) for parser in parsers]
        tables.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
    return "\n\n".join(tables)


def markdown_cells(parser: str, rows: Sequence[Row]) -> list[str]:
    seconds = ["-" if row.cpu_seconds is None else f"{row.cpu_seconds:,.3f}" for row in rows]
    costs = [row.cpu_seconds / row.bytes * 1e9 for row in rows if row.cpu_seconds is not None]
    return [f"`{parser}`", *seconds, f"{min(costs):,.0f} to {max(costs):,.0f}"]


def report(parsers: Sequence[StreamingParser], given: argparse.Namespace) -> list[Row]:
    """Measure and print, line by line: on stderr, where tables are printed in the end."""
    say = partial(print, flush=True, file=sys.stderr if given.markdown else sys.stdout)
    rows: list[Row] = []
    for workload in workloads(quick=given.quick) if parsers else ():
        say(f"{workload.name:<20}" + "".join(f"{size:>10}" for size in workload.answers) + "   ns per byte")
        for parser in parsers:
            measured = list(measure_all(parser, workload, given.budget))
            say(text_row(parser.name, measured))
            rows += measured
        say("")
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--families", help="names, with commas between them; all families if not given")
    options.add_argument("--quick", action="store_true", help="leave out the largest sizes")
    options.add_argument("--budget", type=float, default=20, help="CPU seconds that one size may take")
    options.add_argument("--markdown", action="store_true", help="print the tables of docs/performance.md")
    options.add_argument("--json", type=Path, help="also write the rows to this file")
    given = options.parse_args()
    chosen = [find(name) for name in given.families.split(",")] if given.families else FAMILIES
    ours = [StreamingParser(family.name, family, reader(family), cut) for family in chosen]
    rows = report(ours, given)
    # Only now, as its import slows down all that comes after it.
    rows += report(list(parsers_of_vllm(chosen)), given)
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    if given.markdown:
        print(markdown(rows))
    else:
        print(f"CPU seconds. '-': not run, as it would take more than {given.budget:g} s.")


if __name__ == "__main__":
    main()
