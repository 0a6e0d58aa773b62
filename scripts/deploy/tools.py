"""Runs the programs that check deployment files, and says how to get one that is not there.

run("hadolint", "Dockerfile")        # [] or the lines that it complained with
run("promtool", "--version")         # ["promtool is missing: install Prometheus, …"] where there is none
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.deploy.files import ROOT

BESIDE_PYTHON = Path(sys.executable).parent
"""Where the packages of requirements/deploy.txt put their programs."""

HOW_TO_GET = {
    "promtool": "install Prometheus, which brings it (Debian, Ubuntu: apt install prometheus)",
}
FROM_LOCK = "run make deploy-check, which installs requirements/deploy.txt"


def find(program: str) -> str | None:
    return shutil.which(program, path=str(BESIDE_PYTHON)) or shutil.which(program)


def run(program: str, *arguments: str | Path, **environ: str) -> list[str]:
    """Run a program and return what it said if it failed, line by line."""
    status, lines = _ended(program, *arguments, **environ)
    return (lines or [f"{program} ended with {status}"]) if status else []


def said(program: str, *arguments: str | Path, **environ: str) -> list[str]:
    """Run a program that says nothing if all is well, and return what it said, whatever its status was."""
    status, lines = _ended(program, *arguments, **environ)
    return lines or ([f"{program} ended with {status}"] if status else [])


def _ended(program: str, *arguments: str | Path, **environ: str) -> tuple[int, list[str]]:
    path = find(program)
    if path is None:
        return 127, [f"{program} is missing: {HOW_TO_GET.get(program, FROM_LOCK)}"]
    done = subprocess.run(
        [path, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def lost(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield where `after` does not have what `before` has.

    A reader of published types drops what it does not know: what is written and what is read then differ.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after:
                yield from lost(value, after[key], f"{place}.{key}")
            else:
                yield f"{place}.{key}: unknown"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from lost(one, other, f"{place}[{index}]")
    elif before != after:
        yield f"{place}: {before!r} is read as {after!r}"
