"""What vLLM's processes find in their environment: set before vLLM is imported, once per process.

vLLM takes these settings from nowhere else. What the user has set stays as it is:

    VLLM_LOGGING_LEVEL=INFO strictcall serve    # vLLM's own log, in full
"""

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

QUIET_LOG = Path(__file__).with_name("vllm_logging.json")

VARIABLES: Mapping[str, str] = {
    "VLLM_NO_USAGE_STATS": "1",  # a server that was not asked to reports nothing to anyone
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a forked child would lose its metrics, and inherit our threads
    "PYTHONWARNINGS": "ignore::FutureWarning:vllm.triton_utils.dispatcher",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TORCH_LOGS": "-torch._library.triton",
}

SMALL = 2
"""Cores of a machine on which none is kept from the model."""

NOISE = (
    "Async scheduling will be disabled because it is not supported",
    "Enforce eager set,",
    "Kernel %s is already registered",
    "Inductor compilation was disabled by user settings",
    "Model Runner V2 requires Triton",
    "OMP_NUM_THREADS=%s is set",
    "Passing raw prompts to InputProcessor is deprecated",
    "Reset SSM cache type to float32",
    "Triton is not installed",
    "VLLM_CPU_NUM_OF_RESERVED_CPU is less than",
    "Using custom scheduler class",
    "%s is not found in LD_PRELOAD",
)
"""How warnings begin that follow from our own choices, or that a user on a CPU can do nothing about."""


class KnownNoise(logging.Filter):
    """Drops the warnings in `NOISE`; named in `vllm_logging.json`, so it works in all of vLLM's processes."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(NOISE)


def prepare_environment() -> None:
    """Set what the user has not set."""
    if "VLLM_LOGGING_LEVEL" not in os.environ:
        os.environ.setdefault("VLLM_LOGGING_CONFIG_PATH", str(QUIET_LOG))
    for name, value in {**VARIABLES, **reserved_cores(usable_cores())}.items():
        os.environ.setdefault(name, value)


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def reserved_cores(cores: int) -> Mapping[str, str]:
    """Return what keeps a small machine's cores for the model, which on a CPU computes with them.

    vLLM leaves one core to its other processes. Of two that is half: with both, a prompt took half the time,
    and a token of each of 32 streams two thirds (SmolLM2-135M).
    """
    return {"VLLM_CPU_NUM_OF_RESERVED_CPU": "0"} if cores <= SMALL else {}


@contextlib.contextmanager
def multiprocess_metrics(directory: Path | None) -> Iterator[None]:
    """Let the processes that are started meanwhile keep their metrics in `directory`.

    prometheus_client reads the variable when it is imported, which in this process has happened: our own
    metrics stay as they are.
    """
    name = "PROMETHEUS_MULTIPROC_DIR"
    before = os.environ.pop(name, None)
    if directory is not None:
        os.environ[name] = str(directory)
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before
