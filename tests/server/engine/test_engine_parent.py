"""A process of the engine does not outlive its server."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

SERVER = """
import multiprocessing, os, sys, time

def engine(told):
    from server.engine.parent import end_with_parent
    end_with_parent()
    os.write(told, b"up")
    time.sleep(600)

if __name__ == "__main__":
    multiprocessing.get_context("fork").Process(target=engine, args=(int(sys.argv[1]),)).start()
    time.sleep(600)
"""
"""A program that starts a process, as the server does, and waits."""


def test_the_engine_ends_when_its_server_is_killed(tmp_path: Path) -> None:
    """Nothing holds a GPU's memory for a server that is gone."""
    program = tmp_path / "program.py"
    program.write_text(SERVER, encoding="utf-8")
    mine, told = os.pipe()
    root = Path(__file__).parents[3]
    server = subprocess.Popen(
        [sys.executable, str(program), str(told)],
        pass_fds=[told],
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    os.close(told)
    assert os.read(mine, 2) == b"up"
    server.send_signal(signal.SIGKILL)
    server.wait()
    # The pipe is at its end when nobody is left who could write to it.
    ended, _, _ = select.select([mine], [], [], 60)

    assert ended == [mine]
    assert os.read(mine, 1) == b""
    os.close(mine)


def test_a_program_of_its_own_is_left_alone() -> None:
    """Who runs the engine in the server's own process may leave the shell that started it."""
    code = (
        "import threading; from server.engine.parent import end_with_parent; end_with_parent(); "
        "print(threading.active_count())"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)

    assert told.stdout.strip() == "1"
