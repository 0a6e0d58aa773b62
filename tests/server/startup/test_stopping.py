"""What signals do to a server with running requests: `strictcall serve` in a process, its model scripted."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from tests.server.commands.test_serve_command import read_until, started
from tests.server.scripted import QUESTION

SERVE = """
    import asyncio, sys
    import server.startup.start
    from server.startup.default_model import prepare
    from server.engine.scripted import Script
    from server.main import main
    from server.config.settings import default_cache
    from server.tokens.vocabulary import Vocabulary
    from tests.server.scripted import serving

    class Pace(asyncio.Event):
        async def wait(self):
            await asyncio.sleep(0.02)

    async def start(settings, located, metrics, *, report):
        vocabulary = Vocabulary.load(str(prepare(default_cache() / "models", print)))
        [word], end = vocabulary.encode("Hi"), min(vocabulary.end_ids)

        def script(asked):
            words = asked.sampling.seed
            return Script([[word]] * words + [[end]], gate=Pace())

        start.kept = served = serving(vocabulary, script, settings)
        return (await served.__aenter__()).context

    server.startup.start.start = start
    sys.exit(main(["serve", "--port", "0", *sys.argv[1:]]))
"""

ENDLESS = 7000
"""Words that take longer than any of these tests."""


@contextmanager
def server(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """A server that has said that it is ready."""
    with started(SERVE, *arguments) as process:
        url = read_until(process, "Ready:").split()[-1]
        with httpx2.Client(base_url=url.removesuffix("/v1"), timeout=20) as client:
            yield process, client


@contextmanager
def streaming(client: httpx2.Client, words: int) -> Iterator[Iterator[str]]:
    """The lines of a stream of so many words, after the first of them."""
    body = {"model": "smol", "messages": QUESTION, "stream": True, "seed": words}
    with client.stream("POST", "/v1/chat/completions", json=body) as response:
        lines = response.iter_lines()
        next(line for line in lines if "Hi" in line)
        yield lines


def test_a_stream_ends_as_it_should_while_the_server_drains() -> None:
    """Not a word is lost; meanwhile the server is not ready, and refuses what is new. Its exit code is 0."""
    with server() as (process, client), streaming(client, 100) as lines:
        process.send_signal(signal.SIGTERM)
        while (ready := client.get("/ready")).status_code == 200:
            pass
        refused = client.post("/v1/chat/completions", json={"model": "smol", "messages": QUESTION})
        rest = [line for line in lines if line]
        output, errors = process.communicate(timeout=20)

    assert ready.json()["error"]["code"] == "server_stopping"
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_stopping")
    assert sum('"content": "Hi"' in line for line in rest) == 99
    assert '"finish_reason": "stop"' in rest[-2]
    assert rest[-1] == "data: [DONE]"
    assert (process.returncode, "Traceback" in errors) == (0, False)
    assert "The server has stopped: stopped." in output


def test_what_is_not_done_in_the_drain_time_ends_with_an_error() -> None:
    """A stream's last event says why it ends, and so does the status of an answer that is whole."""
    with server("--drain-seconds", "1") as (process, client), streaming(client, ENDLESS) as lines:
        process.send_signal(signal.SIGTERM)
        rest = [line for line in lines if line]
        _, errors = process.communicate(timeout=20)

    assert json.loads(rest[-2].removeprefix("data: "))["error"]["code"] == "server_stopping"
    assert rest[-1] == "data: [DONE]"
    assert (process.returncode, "Traceback" in errors) == (0, False)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_second_signal_ends_the_process_at_once(number: signal.Signals, code: int) -> None:
    """What runs is broken off, which the exit code tells."""
    with server("--drain-seconds", "3600") as (process, client), streaming(client, ENDLESS) as lines:
        process.send_signal(signal.SIGTERM)
        while client.get("/ready").status_code == 200:
            pass
        process.send_signal(number)
        with pytest.raises(httpx2.RemoteProtocolError):
            list(lines)
        output, _ = process.communicate(timeout=10)

    assert "Stopped at once: requests that were running are lost." in output
    assert process.returncode == code
