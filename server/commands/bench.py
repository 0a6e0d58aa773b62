"""`strictcall bench URL [URL]`: time an endpoint, or yours against another.

    $ strictcall bench http://127.0.0.1:8000/v1 http://127.0.0.1:8001/v1 --workload call
    workload   streams  endpoint   first token    per token       median          p95  …
    call             1  :8000          0.052 s      12.1 ms       0.71 s       0.80 s  …
    call             1  :8001          0.061 s      25.0 ms       1.40 s       1.52 s  …
    call             1  ratio            0.85×        0.48×        0.51×        0.53×  …

Both get the same requests, in alternating rounds, with one under load at a time. A ratio is the first
endpoint's figure over the second's.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import httpx2

from server.bench.compare import Endpoint, Plan, Summary, compare
from server.bench.table import as_json, table
from server.bench.workloads import WORKLOADS
from server.console.terminal import CommandError, say

KEY = "OPENAI_API_KEY"


def run(argv: Sequence[str]) -> int:
    options = _options(argv)
    summaries = asyncio.run(_bench(options))
    for line in table(summaries):
        say(line)
    for row in summaries:
        if row.failure:
            say(f"{row.failed} of {row.requests} failed at {row.endpoint} ({row.workload}): {row.failure}")
    if options.json:
        options.json.write_text(json.dumps(as_json(summaries), indent=1) + "\n", encoding="utf-8")
    return 1 if any(row.failed == row.requests for row in summaries) else 0


async def _bench(options: argparse.Namespace) -> list[Summary]:
    key = os.environ.get(options.key_variable)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    names = labels(options.url)
    endpoints = [
        Endpoint(name, url.rstrip("/") + "/", options.model or await first_model(url, headers), headers)
        for name, url in zip(names, options.url, strict=True)
    ]
    plan = Plan(options.workload, options.concurrency, rounds=options.rounds, requests=options.requests)
    return await followed(compare(endpoints, plan))


async def followed(summaries: AsyncIterator[Summary]) -> list[Summary]:
    """All the summaries, with a line on standard error as each comes: a comparison takes minutes.

    Ctrl-C ends it, and what was measured until then is not lost.
    """
    found = []
    with suppress(asyncio.CancelledError):
        async for row in summaries:
            done = f"{row.workload}, {row.concurrency} at a time, {row.endpoint}: {row.total:.2f} s"
            sys.stderr.write(f"{done}\n")
            found.append(row)
    return found


def labels(urls: Sequence[str]) -> list[str]:
    """A short name for each URL, by which it can be told from the other."""
    hosts = [httpx2.URL(url).netloc.decode() for url in urls]
    if len(set(hosts)) == len(hosts):
        return hosts
    return [f"{host} ({number})" for number, host in enumerate(hosts, 1)]


async def first_model(url: str, headers: dict[str, str]) -> str:
    """The model that the server lists first. Raises `CommandError` if it lists none."""
    try:
        async with httpx2.AsyncClient(headers=headers, timeout=30) as client:
            response = await client.get(url.rstrip("/") + "/models")
            response.raise_for_status()
            return str(response.json()["data"][0]["id"])
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, LookupError, TypeError) as exc:
        raise CommandError(
            f"{url} does not list its models ({type(exc).__name__}: {exc}). A base URL ends in /v1."
        ) from exc


def _options(argv: Sequence[str]) -> argparse.Namespace:
    summaries = "; ".join(f"{name}: {workload.summary}" for name, workload in WORKLOADS.items())
    parser = argparse.ArgumentParser(
        prog="strictcall bench", description="Time an OpenAI-compatible endpoint, or two against each other."
    )
    parser.add_argument("url", nargs="+", metavar="URL", help="a base URL, such as http://127.0.0.1:8000/v1")
    parser.add_argument("--model", help="the model to ask for; without it, the first that a server lists")
    parser.add_argument(
        "--workload", type=workload_names, default=("chat", "call", "json"), metavar="NAME,…", help=summaries
    )
    parser.add_argument(
        "--concurrency", type=counts, default=(1, 8), metavar="N,…", help="streams at a time (1,8)"
    )
    parser.add_argument("--rounds", type=_count, default=3, help="rounds of each, in turn (3)")
    parser.add_argument("--requests", type=_count, default=2, help="requests per stream and round (2)")
    parser.add_argument(
        "--key-variable", default=KEY, metavar="NAME", help=f"the variable that holds the API key ({KEY})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to this file")
    options = parser.parse_args(argv)
    if len(options.url) > 2:
        parser.error("two endpoints can be compared, not more")
    return options


def workload_names(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, text.split(",")))
    if unknown := [name for name in names if name not in WORKLOADS]:
        raise argparse.ArgumentTypeError(f"there is no '{unknown[0]}'; there are {', '.join(WORKLOADS)}")
    return names


def counts(text: str) -> tuple[int, ...]:
    return tuple(_count(number) for number in text.split(","))


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 on")
    return count
