"""`strictcall serve` from start to signal, in a process of its own, with an engine that needs no loading."""

import json
import signal
import subprocess
import sys
import textwrap
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

SERVE = """
    import sys
    import server.startup.start
    from server.main import main
    from tests.server.shell import make_context

    async def start(settings, located, metrics, *, report):
        report(f"located {located.model}")
        return make_context(settings)

    server.startup.start.start = start
    sys.exit(main(["serve", "--port", "0", *sys.argv[1:]]))
"""

LOAD = """
    import asyncio, sys, time
    from server.commands.serve import abandon, event_loop, on_stop

    async def load():
        print("loading", flush=True)
        if sys.argv[1] == "thread":
            await asyncio.to_thread(time.sleep, 60)
        else:
            time.sleep(60)

    on_stop(abandon(lambda: print("cleaned up", flush=True), "Stopped before it was loaded."))
    with asyncio.Runner(loop_factory=event_loop) as runner:
        runner.run(load())
"""


@contextmanager
def started(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that runs `script`, killed if the test leaves it running."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], word: str) -> str:
    """The first line of the output with `word` in it."""
    assert process.stdout is not None
    for line in process.stdout:
        if word in line:
            return line
    raise AssertionError(f"no {word!r} in the output: {process.communicate()}")


def test_serve_greets_answers_and_stops_when_told() -> None:
    """The address that is shown works, and SIGTERM is a clean end."""
    with started(SERVE) as process:
        url = read_until(process, "Ready:").split()[-1]
        with urllib.request.urlopen(f"{url}/models", timeout=10) as response:
            models = json.load(response)
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=20)

    assert models["data"][0]["id"] == "small"
    assert "The server has stopped: stopped." in rest
    assert '"GET /v1/models 200' not in rest
    assert "GET /v1/models 200" in errors
    assert "Traceback" not in errors
    assert process.returncode == 0


def test_operators_have_a_port_of_their_own() -> None:
    """It is told, answers for as long as the server does, and is closed with it."""
    with started(SERVE, "--ops-port", "0") as process:
        ops = read_until(process, "Metrics and probes").split()[-1].rstrip(".")
        api = read_until(process, "Ready:").split()[-1].removesuffix("/v1")
        with urllib.request.urlopen(f"{ops}/metrics", timeout=10) as response:
            metrics = response.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{api}/metrics", timeout=10)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)

    assert b"strictcall_requests_in_flight" in metrics
    assert "Traceback" not in errors
    assert process.returncode == 0


def test_json_logs_leave_nothing_else_in_the_output() -> None:
    """For collectors every line is one object, the greeting's place taken by a record."""
    with started(SERVE, "--log-format", "json", "--host", "0.0.0.0") as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(json.loads(line))
            if "Ready:" in line:
                break
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)

    assert output == ""
    assert process.returncode == 0
    assert any(each["level"] == "warning" and "No API key is set" in each["message"] for each in lines)


@pytest.mark.parametrize("where", ["thread", "loop"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_loading_ends_at_once(number: signal.Signals, code: int, where: str) -> None:
    """Nobody has to wait for a model that is no longer wanted."""
    with started(LOAD, where) as process:
        read_until(process, "loading")
        process.send_signal(number)
        output, _ = process.communicate(timeout=10)

    assert output.splitlines() == ["cleaned up", "Stopped before it was loaded."]
    assert process.returncode == code
