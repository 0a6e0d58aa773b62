"""`strictcall bench`: a whole comparison over real sockets, and how it says what is wrong."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import uvicorn

from parsers.families.hermes import HERMES
from parsers.family import write_call
from server.app import create_app
from server.bench.compare import Summary, summarize
from server.commands.bench import followed, labels
from server.engine.scripted import Asked, Script
from server.main import main
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import script, serving

TRIP = {
    "city": "Paris",
    "class": "business",
    "passengers": 2,
    "flexible_dates": False,
    "contact": {"name": "Ada Moss", "preferred_language": "english"},
}


@pytest.fixture(name="url", scope="module")
def _url(smollm2: Vocabulary) -> Iterator[str]:
    """A server in a thread of its own, which writes a call where one is asked for."""
    call = script(smollm2, write_call(HERMES, "book_flight", TRIP))
    prose = script(smollm2, "Once upon a time.")

    def answer(asked: Asked) -> Script:
        return call if asked.structural_tag else prose

    with socket.create_server(("127.0.0.1", 0)) as listener:
        stop = threading.Event()
        thread = threading.Thread(target=asyncio.run, args=(listen(smollm2, answer, listener, stop),))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        stop.set()
        thread.join()


async def listen(
    vocabulary: Vocabulary, answer: Callable[[Asked], Script], listener: socket.socket, stop: threading.Event
) -> None:
    """Answer on `listener` until `stop` is set."""
    async with serving(vocabulary, answer) as scripted:
        config = uvicorn.Config(create_app(scripted.context), log_level="warning", ws="none", lifespan="off")
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        await asyncio.to_thread(stop.wait)
        server.should_exit = True
        await running


def test_two_endpoints_are_compared(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each workload and concurrency has a row for both, and their ratio."""
    page = tmp_path / "figures.json"
    arguments = ["--workload", "chat,call", "--concurrency", "1,3", "--rounds", "2", "--requests", "1"]

    assert main(["bench", url, f"{url}/", *arguments, "--json", str(page)]) == 0
    out = capsys.readouterr().out.splitlines()
    figures = json.loads(page.read_text())

    assert [line.split()[0] for line in out] == ["workload", *["chat"] * 6, *["call"] * 6]
    assert [(row["workload"], row["concurrency"], row["requests"]) for row in figures["rows"]] == [
        (workload, streams, 8) for workload in ("chat", "call") for streams in (1, 3) for _ in range(2)
    ]
    assert {row["failed"] for row in figures["rows"]} == {0}
    assert [ratio["tokens"] for ratio in figures["ratios"]] == [1.0] * 4


def test_a_server_that_fails_every_request_is_told(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the first error, and an exit code for scripts."""
    arguments = ["--model", "large", "--workload", "chat", "--concurrency", "1", "--rounds", "1"]

    assert main(["bench", url, *arguments]) == 1
    assert "4 of 4 failed at 127.0.0.1" in (said := capsys.readouterr().out)
    assert "status 404" in said


def test_a_url_that_is_no_api_is_told(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The likeliest mistake is a base URL without /v1."""
    assert main(["bench", url.removesuffix("/v1")]) == 1
    assert "A base URL ends in /v1." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workload", "poetry"], "there is no 'poetry'; there are chat, call"),
        (["--concurrency", "0"], "'0' is no number from 1 on"),
        (["http://b/v1", "http://c/v1"], "two endpoints can be compared, not more"),
    ],
)
def test_a_wrong_command_line_is_told(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before any request is sent."""
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "http://a/v1", *arguments])

    assert said in capsys.readouterr().err


def test_endpoints_are_called_by_their_hosts() -> None:
    """Or by host and number, where they are on the same one."""
    assert labels(["http://a:1/v1", "http://a:2/v1"]) == ["a:1", "a:2"]
    assert labels(["http://a/x/v1", "http://a/y/v1"]) == ["a (1)", "a (2)"]


async def test_what_was_measured_is_kept_when_it_is_interrupted() -> None:
    """A comparison takes minutes, and Ctrl-C cancels it."""
    measured = summarize("ours", "chat", 1, [])
    begun = asyncio.Event()

    async def summaries() -> AsyncIterator[Summary]:
        yield measured
        begun.set()
        await asyncio.Future()

    following = asyncio.create_task(followed(summaries()))
    await begun.wait()
    following.cancel()

    assert await following == [measured]
