r"""strictcall against `vllm serve`: the same wheel, model and settings, both measured in one run.

    $ python benchmarks/serve.py --quick
    workload   streams  endpoint   first token    per token       median          p95       tokens  …
    call             1  strictcall     0.052 s      12.1 ms       0.71 s       0.80 s           46  …
    call             1  vllm           0.061 s      25.0 ms       1.40 s       1.52 s           58  …
    call             1  ratio            0.85×        0.48×        0.51×        0.53×        0.79×  …

Both are loaded at once, and only one is asked at a time, in alternating rounds. What stands behind `--` goes
to both: engine options such as `--max-num-seqs 64`. CPU seconds are those of the process that answers HTTP.

`vllm serve` imports more than strictcall needs. What is missing is named, and may be put somewhere else:

    $ pip install --target peer --no-deps ijson jmespath model-hosting-container-standards \
    >     prometheus-fastapi-instrumentator watchfiles
    $ python benchmarks/serve.py --peer-pythonpath peer
"""

import argparse
import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from server.bench.compare import Endpoint, Plan, Summary, compare
from server.bench.table import as_json, table
from server.bench.workloads import WORKLOADS
from server.commands.bench import counts, followed, workload_names
from server.config.settings import default_cache
from server.engine.environment import reserved_cores, usable_cores
from server.engine.vllm import cpu_options
from server.prompt.template import ChatTemplate, default_system_prompt
from server.startup.default_model import prepare
from server.tokens.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 400
STOP_SECONDS = 30
NAME = "model"
"""What both servers call the model."""

QUICK = Plan(("chat", "call", "json"), (1, 8), rounds=2, requests=1, at_least=3)
PACKAGES = {"prometheus_fastapi_instrumentator": "prometheus-fastapi-instrumentator"}
"""Packages that are not called as what is imported of them."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server to start: `command` gets the port behind it."""

    name: str
    command: Sequence[str]
    health: str
    python_path: str = ""


@contextmanager
def running(server: Server, log: Path) -> Iterator[Endpoint]:
    """Run a server until the block ends. Exits with the reason if it does not start."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {"VLLM_NO_USAGE_STATS": "1", **reserved_cores(usable_cores()), **os.environ}
    if server.python_path:
        environment["PYTHONPATH"] = server.python_path
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*server.command, "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        await_health(process, f"http://127.0.0.1:{port}{server.health}", server.name, log)
        seen = psutil.Process(process.pid)
        yield Endpoint(
            server.name,
            f"http://127.0.0.1:{port}/v1/",
            NAME,
            cpu_seconds=lambda: float(sum(seen.cpu_times()[:2])),
        )
    finally:
        stop(process)


def await_health(process: "subprocess.Popen[bytes]", url: str, name: str, log: Path) -> None:
    print(f"{name} is loading the model …", file=sys.stderr)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            sys.exit(f"{name} did not start. {reason(log.read_text(errors='replace'))}")
        try:
            if httpx2.get(url, timeout=5).status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.5)
    sys.exit(f"{name} was not ready after {START_SECONDS} s. {reason(log.read_text(errors='replace'))}")


def reason(log: str) -> str:
    """Why a server ended, of what it wrote: what to install, or its last lines."""
    missing = re.findall(r"ModuleNotFoundError: No module named '(\w+)", log)
    if missing:
        package = PACKAGES.get(missing[-1], missing[-1])
        return (
            f"It needs a package that is not here: pip install {package} (or put it into a directory with "
            f"--target and --no-deps, and name that with --peer-pythonpath)."
        )
    return "Its last lines:\n" + "\n".join(log.splitlines()[-20:])


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a server as a terminal does, and what is left of its session by force."""
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def engine_flags(rest: Sequence[str]) -> list[str]:
    """The engine's settings for both: on a CPU, those that strictcall would choose by itself."""
    from vllm.platforms import current_platform

    chosen: list[str] = []
    for name, value in cpu_options().items() if current_platform.is_cpu() else ():
        if name != "worker_cls":
            flag = f"--{name.replace('_', '-')}"
            chosen += [flag] if value is True else [flag, str(value)]
    return [*chosen, *rest]


def ours(flags: Sequence[str], options: argparse.Namespace) -> Server:
    # Not named, the default model has the template that the peer is given for it.
    model = [options.model] if options.model else []
    command = [options.our_python, "-m", "server", "serve", *model, "--served-model-name", NAME, *flags]
    return Server("strictcall", command, "/ready")


def peer(model: str, flags: Sequence[str], options: argparse.Namespace, scratch: Path) -> Server:
    command = [options.peer_python, "-m", "vllm.entrypoints.cli.main", "serve", model]
    command += ["--host", "127.0.0.1", "--served-model-name", NAME, *flags]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", options.tool_call_parser]
    command += ["--structured-outputs-config", '{"backend": "xgrammar"}']
    if options.chat_template:
        command += ["--chat-template", str(options.chat_template)]
    paths = [
        options.peer_pythonpath and options.peer_pythonpath.resolve(),
        named_vllm(options.peer_python, scratch),
    ]
    return Server("vllm", command, "/health", os.pathsep.join(str(path) for path in paths if path))


def our_template(model: str, scratch: Path) -> Path:
    """The template that the default model is served with here, as its own knows no tools."""
    own = ChatTemplate(Vocabulary.load(model).chat_template or "", origin=model)
    system = json.dumps(default_system_prompt(own))
    path = scratch / "template.jinja"
    text = (ROOT / "templates" / "hermes.jinja").read_text(encoding="utf-8")
    path.write_text(f"{{%- set default_system_prompt = {system} %}}\n{text}", encoding="utf-8")
    return path


def named_vllm(python: str, scratch: Path) -> Path | None:
    """A directory that tells the version of `vllm` where its CPU wheel, named otherwise, does not.

    Without one, the command line of that wheel ends before it has begun; from the `cpu` in the version it
    knows what it was built for.
    """
    code = (
        "import importlib.metadata as m\n"
        "names = m.packages_distributions().get('vllm', ['vllm'])\n"
        "kind = names[0].removeprefix('vllm-')\n"
        "print('' if 'vllm' in names else m.version(names[0]).partition('+')[0] + '+' + kind)"
    )
    told = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    if not told:
        return None
    folder = scratch / f"vllm-{told}.dist-info"
    folder.mkdir(exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {told}\n"
    (folder / "METADATA").write_text(metadata, encoding="utf-8")
    return scratch


def notes(summaries: Sequence[Summary]) -> Iterator[str]:
    """What a reader of the table must know: failures, and prompts that are not the same."""
    for row in summaries:
        if row.failure:
            yield f"{row.failed} of {row.requests} failed at {row.endpoint} ({row.workload}): {row.failure}"
    for workload in dict.fromkeys(row.workload for row in summaries):
        lengths = {row.endpoint: row.prompt_tokens for row in summaries if row.workload == workload}
        if len(set(lengths.values())) > 1:
            yield f"The prompts of '{workload}' are not the same: {lengths} tokens (medians)."


def parse() -> argparse.Namespace:
    own, rest = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, rest = own[:at], own[at + 1 :]
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--model", help="a directory or hub name; the default model without it")
    arguments.add_argument("--workload", type=workload_names, default=tuple(WORKLOADS)[:5], metavar="NAME,…")
    arguments.add_argument("--concurrency", type=counts, default=(1, 8, 32), metavar="N,…")
    arguments.add_argument("--rounds", type=int, default=5, help="rounds of each, in turn (5)")
    arguments.add_argument("--requests", type=int, default=2, help="requests per stream and round (2)")
    arguments.add_argument("--quick", action="store_true", help="chat, call, json at 1 and 8, two rounds")
    arguments.add_argument("--tool-call-parser", default="hermes", help="of the peer (hermes)")
    arguments.add_argument("--chat-template", type=Path, help="of the peer; ours for the default model")
    arguments.add_argument("--our-python", default=sys.executable)
    arguments.add_argument("--peer-python", default=sys.executable)
    arguments.add_argument("--peer-pythonpath", type=Path, help="where more packages of the peer are")
    arguments.add_argument("--logs", type=Path, help="keep the logs of both in this directory")
    arguments.add_argument("--json", type=Path, help="also write all figures to this file")
    return arguments.parse_args(own, argparse.Namespace(rest=rest))


def main() -> None:
    options = parse()
    model = options.model or str(prepare(default_cache() / "models", print))
    plan = Plan(options.workload, options.concurrency, options.rounds, options.requests)
    if options.quick:
        plan = QUICK
    flags = engine_flags(options.rest)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strictcall-bench-")))
        logs = options.logs or scratch
        logs.mkdir(parents=True, exist_ok=True)
        if options.model is None and options.chat_template is None:
            options.chat_template = our_template(model, scratch)
        servers = [ours(flags, options), peer(model, flags, options, scratch)]
        endpoints = [stack.enter_context(running(each, logs / f"{each.name}.log")) for each in servers]
        summaries = asyncio.run(followed(compare(endpoints, plan)))
    print(*table(summaries), *notes(summaries), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(as_json(summaries), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
