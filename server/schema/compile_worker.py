"""A process that compiles each structural tag in a child of its own.

XGrammar's compiler cannot stop, but a child can be killed, and begins with all that its parent has compiled.
It is started with this file as its program, and imports nothing of ours. On the socket that is its standard
input it is sent one end of a socket pair for each request: a line of JSON, which gets one as its answer.

    > {"vocabulary": "{…}", "warm_up": "{…}"}              < {"fault": null}
    > {"tag": "{…}", "seconds": 5, "bytes": 2147483648}    < {"fault": "EBNF lexer error …"}

The first is answered by the process itself. A child that needs more CPU time or memory than it has answers
nothing. When the other end of the standard input is closed, the process ends.
"""

import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

Prepare = Callable[[dict[str, Any]], Any]
Find = Callable[[str, Any], str | None]

NICENESS = 8
"""Trying masks is less urgent than answering."""
CACHE_BYTES = 64 * 2**20
"""The engine's compiler remembers as well; a larger cache here would promise what it cannot keep."""
STATM = Path("/proc/self/statm")
"""Where Linux tells how many pages a process has."""


def prepared(asked: dict[str, Any]) -> Any:
    """The compiler, with what the engine has compiled before all others."""
    import xgrammar

    tokens = xgrammar.TokenizerInfo.deserialize_json(asked["vocabulary"])
    compiler = xgrammar.GrammarCompiler(tokens, max_threads=1, cache_limit_bytes=CACHE_BYTES)
    compiler.compile_structural_tag(asked["warm_up"])
    return compiler


def fault(tag: str, compiler: Any) -> str | None:
    """Why a structural tag cannot be compiled, in XGrammar's words."""
    try:
        compiler.compile_structural_tag(tag)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return None


def bound(seconds: float, memory: int) -> None:
    """Let the system end this process, in the middle of native code too."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if STATM.exists():
        pages = int(STATM.read_text().split()[0])
        limit = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def read(end: socket.socket) -> dict[str, Any]:
    with end.makefile("rb") as lines:
        asked: dict[str, Any] = json.loads(lines.readline())
    return asked


def answer(end: socket.socket, found: str | None) -> None:
    end.sendall(json.dumps({"fault": found}).encode() + b"\n")


def serve(control: socket.socket, prepare: Prepare, find: Find) -> None:
    """Prepare once, then find the fault of each tag in a child."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries them
    compiler: Any = None
    while True:
        _, ends, _, _ = socket.recv_fds(control, 1, 1)
        if not ends:
            return
        with socket.socket(fileno=ends[0]) as end:
            if compiler is None:
                compiler = prepare(read(end))
                answer(end, None)
            elif os.fork() == 0:
                work(control, end, compiler, find)


def work(control: socket.socket, end: socket.socket, compiler: Any, find: Find) -> NoReturn:
    """What a child does. It must not come back to what its parent does."""
    try:
        control.close()
        asked = read(end)
        bound(asked["seconds"], asked["bytes"])
        answer(end, find(asked["tag"], compiler))
    finally:
        os._exit(0)


def main(prepare: Prepare = prepared, find: Find = fault) -> None:
    os.nice(NICENESS)
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as control:
        serve(control, prepare, find)


if __name__ == "__main__":
    main()
