"""Compile doubtful masks once in a process of their own, which is killed at a deadline.

deadline = CompileDeadline(prepare, seconds=10)
deadline.fault(tag)      # None at once for a mask that is cheap; "takes longer than 10 s to compile, …"
deadline.close()

The engine compiles for everybody, one mask at a time, and can neither stop nor be told to.
"""

import contextlib
import hashlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from server.schema.cost import estimate, shapes
from server.schema.recent import Recent

DOUBTFUL_MS = 1_000
"""From this estimate on, a mask is tried before the engine sees it."""
MOST_WAITING = 4
"""Masks that are tried or wait for it. Each keeps a thread, of which others have to be prepared too."""
START_SECONDS = 120
"""For the process to import XGrammar and to read the vocabulary: seconds, unless the machine is busy."""

PROGRAM = Path(__file__).with_name("compile_worker.py")


class CompileBusyError(Exception):
    """Too many doubtful masks are being tried already."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the process begins with, to be as the engine is: its vocabulary, as XGrammar writes it.

    `warm_up` is the structural tag that the engine has compiled before all others.
    """

    vocabulary: str
    warm_up: str


class CompileDeadline:
    """Tries masks by their structural tags, and remembers the last that it has seen. Safe for threads.

    `prepare` is called once, when there is something to try.
    """

    def __init__(
        self,
        prepare: Callable[[], Prepared],
        *,
        seconds: float,
        doubtful_ms: float = DOUBTFUL_MS,
        program: Path = PROGRAM,
    ) -> None:
        self._prepare = prepare
        self._seconds = seconds
        self._doubtful_ms = doubtful_ms
        self._program = program
        self._seen = Recent[bytes, str | None](size=1_024)
        self._places = threading.BoundedSemaphore(MOST_WAITING)
        self._turn = threading.Lock()
        self._prepared: tuple[Prepared, frozenset[str]] | None = None
        self._worker: _Worker | None = None

    def fault(self, tag: str) -> str | None:
        """Why the engine must not be given this mask, if it must not. Raises `CompileBusyError`."""
        return self._seen.get(hashlib.sha256(tag.encode()).digest(), lambda: self._find(tag))

    def close(self) -> None:
        """End the process, if one runs, whatever it is doing."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def _find(self, tag: str) -> str | None:
        if estimate(tag) < self._doubtful_ms:
            return None
        if not self._places.acquire(blocking=False):
            raise CompileBusyError
        try:
            with self._turn:
                return self._try(tag)
        finally:
            self._places.release()

    def _try(self, tag: str) -> str | None:
        if self._prepared is None:
            prepared = self._prepare()
            self._prepared = prepared, shapes(prepared.warm_up)
        prepared, known = self._prepared
        if estimate(tag, known) < self._doubtful_ms:
            return None
        try:
            self._worker = self._worker or _Worker(self._program, prepared)
            fault = self._worker.ask(tag, self._seconds)
        except _LostError:
            self.close()
            return f"takes longer than {self._seconds:g} s to compile, or more memory than there is"
        return None if fault is None else f"cannot be compiled: {fault}"


class _LostError(Exception):
    """The process has not answered in time, or is gone."""


class _Worker:
    """One process, which answers a line with a line. Not safe for threads, but for `kill`."""

    def __init__(self, program: Path, prepared: Prepared) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            # -P: the folder of the program is not where its imports are looked for.
            [sys.executable, "-P", str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            self.ask(prepared.vocabulary, START_SECONDS)
            self.ask(prepared.warm_up, START_SECONDS)
        except _LostError:
            self.kill()
            raise

    def ask(self, line: str, seconds: float) -> str | None:
        """Raises `_LostError`."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise _LostError
        until = time.monotonic() + seconds
        try:
            stdin.write(line.encode() + b"\n")
            stdin.flush()
        except (OSError, ValueError) as error:  # the pipe is broken, or closed
            raise _LostError from error
        answer = b""
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([stdout], [], [], max(until - time.monotonic(), 0))
            piece = os.read(stdout.fileno(), 65_536) if ready else b""
            if not piece:
                raise _LostError
            answer += piece
        return cast("str | None", json.loads(answer)["fault"])

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
