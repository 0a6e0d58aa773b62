"""What a command says to the person who started it, and how it fails.

with progress("Loading the engine", say):      # Loading the engine …
…                                          # Loading the engine … 10 s
# Loading the engine: done in 21 s
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[[str], None]

STEP_SECONDS = 10


class CommandError(Exception):
    """A command cannot go on. The message tells the user why, and the way out."""


def say(line: str) -> None:
    """Write a line to standard output at once, also into a pipe.

    What the output cannot encode, such as half of a surrogate pair, is written as an escape.
    """
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    sys.stdout.flush()


@contextmanager
def progress(what: str, report: Say) -> Iterator[None]:
    """Report that `what` begins, how long it has taken so far, and that it is done, unless it fails."""
    started = time.perf_counter()
    over = threading.Event()

    def tick() -> None:
        # A thread, because what takes long may keep the event loop busy.
        while not over.wait(STEP_SECONDS):
            report(f"{what} … {time.perf_counter() - started:.0f} s")

    report(f"{what} …")
    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        over.set()
        ticker.join()
    report(f"{what}: done in {time.perf_counter() - started:.1f} s")
