"""Compile doubtful masks once in a process of their own, which is killed at a deadline.

deadline = CompileDeadline(prepare, seconds=10)
deadline.start()         # takes seconds, and need not: what is doubtful starts it as well
deadline.fault(tag)      # None at once for a mask that is cheap; "takes longer than 10 s to compile, …"
deadline.close()

The engine compiles for everybody, one mask at a time, and can neither stop nor be told to.
"""

import hashlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from server.schema.cost import Costs, costs, shapes
from server.schema.recent import Recent

DOUBTFUL_MS = 1_000
"""From this estimate on, a mask is tried before the engine sees it."""
MOST_TRIED = 4
"""Masks that are tried at once. Each keeps a thread, of which others have to be prepared too."""
MOST_BYTES = 2 * 2**30
"""Memory that one mask may take, beside what all begin with."""
PATIENCE = 10.0
"""How many times longer than its processor time a mask may take, where others use the processors."""
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

    `prepare` is called once, before the first mask is tried. `seconds` are those of a processor: they are as
    long on a busy machine as on an idle one.
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
        self._places = threading.BoundedSemaphore(MOST_TRIED)
        self._starting = threading.Lock()
        self._prepared: tuple[Prepared, frozenset[str]] | None = None
        self._worker: _Worker | None = None

    def start(self) -> None:
        """Make ready to try masks. If that fails it is tried again when there is one."""
        with self._starting:
            self._ready()

    def fault(self, tag: str) -> str | None:
        """Why the engine must not be given this mask, if it must not. Raises `CompileBusyError`."""
        return self._seen.get(hashlib.sha256(tag.encode()).digest(), lambda: self._find(tag))

    def close(self) -> None:
        """End the process, if one runs, whatever it is doing."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _find(self, tag: str) -> str | None:
        found = costs(tag)
        if found.sum() < self._doubtful_ms:
            return None
        if not self._places.acquire(blocking=False):
            raise CompileBusyError
        try:
            return self._try(tag, found)
        finally:
            self._places.release()

    def _try(self, tag: str, found: Costs) -> str | None:
        with self._starting:
            known = self._known()
        cost = found.sum(known)
        if cost < self._doubtful_ms:
            return None
        too_long = f"takes longer than {self._seconds:g} s to compile, or more memory than there is"
        if cost > self._seconds * 1_000:  # it is not even tried
            return too_long
        with self._starting:
            worker = self._ready()
        if worker is None:
            raise CompileBusyError
        try:
            fault = worker.ask({"tag": tag, "seconds": self._seconds, "bytes": MOST_BYTES}, self._patience)
        except _LostError:
            return too_long
        return None if fault is None else f"cannot be compiled: {fault}"

    @property
    def _patience(self) -> float:
        """Seconds in which the system has either let a child end, or ended it."""
        return PATIENCE * self._seconds + PATIENCE

    def _known(self) -> frozenset[str]:
        if self._prepared is None:
            prepared = self._prepare()
            self._prepared = prepared, shapes(prepared.warm_up)
        return self._prepared[1]

    def _ready(self) -> "_Worker | None":
        """The process, started anew if there is none; None if it does not come up."""
        self._known()
        if self._worker is not None and not self._worker.is_running:
            self.close()
        if self._worker is None and self._prepared is not None:
            worker = _Worker(self._program)
            prepared = self._prepared[0]
            try:
                worker.ask({"vocabulary": prepared.vocabulary, "warm_up": prepared.warm_up}, START_SECONDS)
            except (_LostError, CompileBusyError):
                worker.close()
                return None
            self._worker = worker
        return self._worker


class _LostError(Exception):
    """Who was asked is gone, and has not answered."""


class _Worker:
    """One process, which answers each question by a child. Safe for threads."""

    def __init__(self, program: Path) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own file
                # -P: the folder of the program is not where its imports are looked for.
                [sys.executable, "-P", str(program)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def ask(self, question: dict[str, Any], seconds: float) -> str | None:
        """Raises `_LostError`, and `CompileBusyError` if there is no answer after so many seconds."""
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    socket.send_fds(self._control, [b"?"], [theirs.fileno()])
                answer = _exchange(ours, json.dumps(question).encode() + b"\n", seconds)
            except TimeoutError as error:
                raise CompileBusyError from error
            except OSError as error:  # the other end is closed
                raise _LostError from error
        if not answer.endswith(b"\n"):
            raise _LostError
        return cast("str | None", json.loads(answer)["fault"])

    def close(self) -> None:
        """The process ends; a child that is at work ends when its time is over."""
        self._control.close()
        self._process.kill()
        self._process.wait()


def _exchange(end: socket.socket, line: bytes, seconds: float) -> bytes:
    """Send a line, and read what comes back until the other side is closed, or the line is complete."""
    until = time.monotonic() + seconds
    end.settimeout(seconds)
    end.sendall(line)
    answer = b""
    while not answer.endswith(b"\n"):
        end.settimeout(max(until - time.monotonic(), 0.001))
        piece = end.recv(65_536)
        if not piece:
            break
        answer += piece
    return answer
