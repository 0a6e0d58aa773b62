"""Kills one of two workers behind a router under load: what becomes of the requests and of the service.

    $ python tests/soak/worker_kills.py --json worker_kills.json
    killed one worker with 16 requests running
    before: {'answer': 125}
    after: {'typed error': 7, 'answer': 192, 'last request: answer': 1}
    not ready in 3 of 36 probes; 0 faults

It starts two workers (`strictcall worker`, or `--worker-command`), `vllm-router` and a front end of its own.
16 clients ask all the time, half of them streamed, half of them for strict calls. An answer is right if it
came to its end, and a call if its arguments fit; a typed error has a `code`, in a 503 or as the last event of
a stream. Anything else, such as a stream that breaks off, fails the run, and so does a service that gives no
more answers.

What the router and the CPU wheel of vLLM lack may lie in directories of their own: `--router-pythonpath`,
`--peer-pythonpath`. Without a router (`--direct`), the front end knows both workers.
"""

import argparse
import asyncio
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.soak.engine_kills import CLIENTS, body, verdict

START_SECONDS = 300
WORKER_COMMAND = "{python} -m server worker --host 127.0.0.1 --port {port} --kv-cache-memory-bytes 1073741824"
ROUTER_FLAGS = (
    "--policy",
    "round_robin",
    "--health-check-interval-secs",
    "2",
    "--worker-startup-check-interval",
    "1",
)


@dataclass(slots=True)
class Run:
    """What has happened, by phase."""

    phase: str = "before"
    ends: dict[str, Counter[str]] = field(default_factory=lambda: {"before": Counter(), "after": Counter()})
    faults: list[str] = field(default_factory=list)
    running: int = 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def process(
    name: str, command: Sequence[str], logs: Path, pythonpath: str = ""
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process in a session of its own, which ends with all that it has started."""
    paths = os.pathsep.join(filter(None, (pythonpath, os.environ.get("PYTHONPATH", ""))))
    with (logs / f"{name}.log").open("wb") as output:
        started = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
    try:
        yield started
    finally:
        end(started)


def end(started: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(started.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    started.wait()


def wait_for(url: str, started: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if started.poll() is not None:
            sys.exit(f"What should answer at {url} has ended; see its log.")
        try:
            if httpx2.get(url, timeout=5).status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.3)
    sys.exit(f"{url} was not there after {START_SECONDS} s.")


def right(status: int, text: str, asked: dict[str, Any]) -> str:
    """As `verdict`, and the arguments of a strict call are looked at as well."""
    if asked["stream"] and '"error": {' in text.replace('"error":{', '"error": {'):
        return told_error(text)
    end_ = verdict(status, text, streamed=asked["stream"])
    if end_ != "answer" or "tools" not in asked:
        return end_
    told = arguments(text, streamed=asked["stream"])
    if told is None:
        return "answer"  # the budget ended it
    return "answer" if isinstance(json.loads(told).get("city"), str) else f"wrong arguments: {told}"


def told_error(text: str) -> str:
    """What a stream that failed, or a refusal of one, says of it."""
    last = [line.removeprefix("data: ") for line in text.splitlines() if '"error"' in line][-1]
    return "typed error" if json.loads(last)["error"].get("code") else f"error without a code: {last}"


def arguments(text: str, *, streamed: bool) -> str | None:
    """The text of the call's arguments, or None if it was cut off by the budget."""
    if not streamed:
        [choice] = json.loads(text)["choices"]
        if choice["finish_reason"] != "tool_calls":
            return None
        return str(choice["message"]["tool_calls"][0]["function"]["arguments"])
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    if not any(choice["finish_reason"] == "tool_calls" for choice in choices):
        return None
    deltas = [call for choice in choices for call in choice["delta"].get("tool_calls") or ()]
    return "".join(call["function"].get("arguments") or "" for call in deltas)


async def keep_asking(http: httpx2.AsyncClient, run: Run, number: int, until: float) -> None:
    while time.monotonic() < until:
        asked = {**body(number), "seed": number}
        run.running += 1
        try:
            response = await http.post("/v1/chat/completions", json=asked)
            found = right(response.status_code, response.text, asked)
        except (httpx2.HTTPError, ValueError, KeyError, IndexError) as error:
            found = f"{type(error).__name__}: {error}"
        run.running -= 1
        run.ends[run.phase][found] += 1
        if found not in ("answer", "typed error"):
            run.faults.append(found)
        number += CLIENTS


async def drive(url: str, victim: "subprocess.Popen[bytes]", seconds: float) -> tuple[Run, list[float]]:
    run = Run()
    gaps: list[float] = []
    async with httpx2.AsyncClient(base_url=url, timeout=300) as http:
        until = time.monotonic() + 2 * seconds
        clients = [asyncio.create_task(keep_asking(http, run, number, until)) for number in range(CLIENTS)]
        await asyncio.sleep(seconds)
        print(f"killed one worker with {run.running} requests running", flush=True)
        end(victim)
        run.phase = "after"
        while not all(client.done() for client in clients):
            gaps.append(float((await http.get("/ready")).status_code != 200))
            await asyncio.sleep(0.5)
        await asyncio.gather(*clients)
        last = await http.post("/v1/chat/completions", json={**body(1), "stream": False})
        run.ends["after"][
            f"last request: {right(last.status_code, last.text, {**body(1), 'stream': False})}"
        ] += 1
    return run, gaps


def start_all(
    stack: ExitStack, given: argparse.Namespace, logs: Path
) -> tuple[str, "subprocess.Popen[bytes]"]:
    """Start workers, router and front end; return the address of the last, and the worker to be killed."""
    ports = [free_port(), free_port()]
    workers = []
    for number, port in enumerate(ports):
        command = shlex.split(given.worker_command.format(python=sys.executable, port=port))
        workers.append(stack.enter_context(process(f"worker{number}", command, logs, given.peer_pythonpath)))
        # One after the other: each takes all processors while it loads.
        wait_for(f"http://127.0.0.1:{port}/health", workers[-1])
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    if not given.direct:
        urls = [route(stack, given, logs, urls)]
    port = free_port()
    command = [sys.executable, "-m", "server", "serve", "--port", str(port)]
    command += [part for url in urls for part in ("--engine-url", url)]
    front = stack.enter_context(process("front", command, logs))
    wait_for(f"http://127.0.0.1:{port}/ready", front)
    return f"http://127.0.0.1:{port}", workers[0]


def route(stack: ExitStack, given: argparse.Namespace, logs: Path, urls: Sequence[str]) -> str:
    port = free_port()
    command = [sys.executable, "-m", "vllm_router.launch_router", "--port", str(port)]
    command += ["--prometheus-port", str(free_port()), *ROUTER_FLAGS, "--worker-urls", *urls]
    router = stack.enter_context(process("router", command, logs, given.router_pythonpath))
    wait_for(f"http://127.0.0.1:{port}/health", router)
    return f"http://127.0.0.1:{port}"


def main(given: argparse.Namespace) -> int:
    logs = given.logs or Path(tempfile.mkdtemp(prefix="worker-kills-"))
    logs.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        url, victim = start_all(stack, given, logs)
        run, gaps = asyncio.run(drive(url, victim, given.seconds))
    print(f"before: {dict(run.ends['before'])}")
    print(f"after: {dict(run.ends['after'])}")
    print(f"not ready in {sum(gaps):.0f} of {len(gaps)} probes; {len(run.faults)} faults")
    print(*run.faults, sep="\n")
    served = run.ends["after"]["answer"] > 0 and run.ends["after"]["last request: answer"] == 1
    if given.json:
        given.json.write_text(
            json.dumps({"ends": run.ends, "faults": run.faults}, indent=1) + "\n", encoding="utf-8"
        )
    return 0 if served and not run.faults else 1


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument(
        "--seconds", type=float, default=30, help="of load before the kill, and after it (30)"
    )
    options.add_argument("--direct", action="store_true", help="without a router")
    options.add_argument(
        "--worker-command", default=WORKER_COMMAND, help="what starts a worker, with {port} in it"
    )
    options.add_argument("--peer-pythonpath", default="", help="where more packages of the workers are")
    options.add_argument("--router-pythonpath", default="", help="where vllm-router is")
    options.add_argument("--logs", type=Path, help="keep the logs in this directory")
    options.add_argument("--json", type=Path, help="also write the figures to this file")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or what was started would stay behind
    sys.exit(main(options.parse_args()))
