"""A compiler of masks that starts at once and does what it is told: it stands in for the real one."""

import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

REAL = Path(__file__).parents[3] / "server" / "schema" / "compile_worker.py"


def prepared(asked: dict[str, Any]) -> object:
    if asked["vocabulary"] == "die":
        sys.exit(1)
    return object()


def fault(tag: str, _compiler: object) -> str | None:
    if "sleep" in tag:
        time.sleep(1_000)
    while "hang" in tag:
        pass
    if "eat" in tag:
        bytearray(2**36)
    if "die" in tag:
        os._exit(1)
    return "no such rule" if "wrong" in tag else None


if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("compile_worker", REAL)
    assert spec is not None
    assert spec.loader is not None
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    worker.main(prepared, fault)
