"""Clients that go away, on a real socket: what they asked for is ended, and nothing of it is left."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.app import create_app
from server.engine.scripted import Asked, Ending, Script
from server.http.disconnect import ClientGoneError, EndWithClient
from server.http.exchange import CLIENT_LEFT, Exchange, exchange_of
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import QUESTION, Server, call, serving, tool

SECONDS = 10
"""How long a test waits for what has to happen; it happens at once."""


class Gate(asyncio.Event):
    """Lets `steps` through, and then none until it is set: a model that takes its time."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    async def wait(self) -> Literal[True]:
        if self.steps:
            self.steps -= 1
            return True
        return await super().wait()


def slow(vocabulary: Vocabulary, text: str, *, steps: int) -> Callable[[Asked], Script]:
    """A model that writes `steps` tokens of `text`, to each who asks, and then thinks for ever."""
    return lambda _: Script([[each] for each in vocabulary.encode(text)], gate=Gate(steps))


@asynccontextmanager
async def listening(server: Server) -> AsyncIterator[int]:
    """Serve the application on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(create_app(server.context), log_config=None, access_log=False, lifespan="off")
        running = uvicorn.Server(config)
        task = asyncio.create_task(running.serve([listener]))
        await until(lambda: running.started)
        yield listener.getsockname()[1]
        running.should_exit = True
        await asyncio.wait_for(task, SECONDS)


@asynccontextmanager
async def asking(
    port: int, path: str = "/v1/chat/completions", **body: Any
) -> AsyncIterator[asyncio.StreamReader]:
    """Send a chat request, or what another path takes, and close the connection when the block is left."""
    question = {"messages": QUESTION} if path == "/v1/chat/completions" else {}
    content = json.dumps({"model": "smol", **question, **body}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head.encode() + content)
        yield reader
    finally:
        writer.close()
        await writer.wait_closed()


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that other tasks bring about."""
    async with asyncio.timeout(SECONDS):
        while not true():  # noqa: ASYNC110 - what is waited for is a figure, not an event
            await asyncio.sleep(0.005)


def endings(server: Server) -> set[Ending]:
    return {asked.ending for asked in server.engine.asked}


def in_flight(server: Server) -> float:
    return server.metric("strictcall_requests_in_flight")


@pytest.mark.parametrize("n", [1, 3])
async def test_a_client_that_leaves_a_stream_ends_its_generations(vocabulary: Vocabulary, n: int) -> None:
    """All of its choices, while the model is between two tokens; they count as aborted, it as 499.

    Faults B274, B284.
    """
    async with (
        serving(vocabulary, slow(vocabulary, "Once upon a time", steps=2)) as server,
        listening(server) as port,
    ):
        async with asking(port, stream=True, n=n) as reader:
            await reader.readuntil(b'"content": "Once"')
            await until(lambda: len(server.engine.asked) == n)
        await until(lambda: endings(server) == {Ending.CLOSED} and in_flight(server) == 0)

        assert server.metric("strictcall_aborts_total", cause="disconnect") == n
        assert server.metric("strictcall_requests_total", api="chat", status=str(CLIENT_LEFT)) == 1


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("steps", [0, 2])
async def test_a_client_that_waits_for_a_whole_answer_may_leave_too(
    vocabulary: Vocabulary, n: int, steps: int
) -> None:
    """Nothing was sent to it yet; its generations end all the same, prompt or answer."""
    async with (
        serving(vocabulary, slow(vocabulary, "Once upon a time", steps=steps)) as server,
        listening(server) as port,
    ):
        async with asking(port, n=n):
            await until(lambda: len(server.engine.asked) == n)
        await until(lambda: endings(server) == {Ending.CLOSED} and in_flight(server) == 0)

        assert server.metric("strictcall_aborts_total", cause="disconnect") == n
        assert server.metric("strictcall_requests_total", api="chat", status=str(CLIENT_LEFT)) == 1


async def test_a_client_that_leaves_before_the_first_event_of_its_stream_is_noticed(
    vocabulary: Vocabulary,
) -> None:
    """The prompt may take long, and would be computed for nobody."""
    async with (
        serving(vocabulary, slow(vocabulary, "Once", steps=0)) as server,
        listening(server) as port,
    ):
        async with asking(port, stream=True):
            await until(lambda: len(server.engine.asked) == 1)
        await until(lambda: endings(server) == {Ending.CLOSED} and in_flight(server) == 0)


async def test_two_hundred_aborted_streams_leave_nothing(vocabulary: Vocabulary) -> None:
    """No task, no running request, none in flight; and the server goes on answering (B263, B279, B284)."""
    text = "Let me see. " + call("look", {"city": "Lima", "days": [1, 2, 3]})
    async with (
        serving(vocabulary, slow(vocabulary, text, steps=len(vocabulary.encode(text)) - 2)) as server,
        listening(server) as port,
    ):
        before = len(asyncio.all_tasks())

        async def leave(number: int) -> None:
            async with asking(port, stream=True, n=1 + number % 2, tools=[tool("look")]) as reader:
                await reader.readuntil(b"tool_calls" if number % 3 else b"role")

        for batch in range(10):
            await asyncio.gather(*(leave(batch * 20 + number) for number in range(20)))
        await until(lambda: endings(server) == {Ending.CLOSED} and in_flight(server) == 0)
        await until(lambda: len(asyncio.all_tasks()) <= before)

        assert len(server.engine.asked) == 300
        assert server.metric("strictcall_aborts_total", cause="disconnect") == 300
        assert server.metric("strictcall_requests_total", api="chat", status=str(CLIENT_LEFT)) == 200
        assert (await server.http.get("/health")).status_code == 200


async def test_a_client_that_stays_gets_its_answer(vocabulary: Vocabulary) -> None:
    """Another one's leaving is none of its business."""
    gate = Gate(1)
    ids = [[each] for each in [*vocabulary.encode("Once upon"), min(vocabulary.end_ids)]]
    async with (
        serving(vocabulary, lambda _: Script(ids, gate=gate)) as server,
        listening(server) as port,
    ):
        async with asking(port, stream=True) as kept:
            async with asking(port, stream=True):
                await until(lambda: len(server.engine.asked) == 2)
            await until(lambda: Ending.CLOSED in endings(server))
            gate.set()
            rest = await kept.readuntil(b"data: [DONE]\n\n")

        assert b'"finish_reason": "stop"' in rest
        assert endings(server) == {Ending.CLOSED, Ending.FINISHED}


async def ended(work: ASGIApp, *messages: Message) -> None:
    """Run the work for a client that sends its body, says these messages, and then nothing more."""
    left: list[Message] = [{"type": "http.request", "body": b"{}"}, *messages]
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions"}

    async def receive() -> Message:
        if left:
            return left.pop(0)
        return await asyncio.Future()

    async def send(message: Message) -> None:
        """Nobody reads it."""

    await EndWithClient(work)({**scope, "exchange": Exchange("req_1", "chat")}, receive, send)


async def test_work_for_a_client_that_stays_is_done() -> None:
    """It has the body, and nobody listens for the client any more when it is over."""
    before = asyncio.all_tasks()
    bodies: list[bytes] = []

    async def work(_: Scope, receive: Receive, __: Send) -> None:
        bodies.append((await receive())["body"])

    await ended(work)
    await until(lambda: asyncio.all_tasks() == before)
    assert bodies == [b"{}"]


async def test_what_the_work_raises_is_raised() -> None:
    """An error is an answer too."""

    async def work(*_: object) -> None:
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        await ended(work)


async def test_work_for_a_client_that_left_has_cleaned_up_when_that_is_told() -> None:
    """Whoever is told can rely on the engine being told before."""
    cleaned: list[str] = []

    async def work(*_: object) -> None:
        try:
            await asyncio.Future()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    with pytest.raises(ClientGoneError):
        await ended(work, {"type": "http.request"}, {"type": "http.disconnect"})
    assert cleaned == ["up"]


async def test_work_goes_on_when_its_answer_is_complete() -> None:
    """Servers say that the client is gone as soon as it has all; the books are closed all the same."""
    closed: list[str] = []

    async def work(scope: Scope, *_: object) -> None:
        exchange_of(scope).complete = True
        for _turn in range(5):
            await asyncio.sleep(0)
        closed.append("books")

    await ended(work, {"type": "http.disconnect"})
    assert closed == ["books"]


async def test_a_server_that_stops_ends_the_work() -> None:
    """It is cancelled as itself, not as if its client had left."""
    started = asyncio.Event()
    over = asyncio.Event()

    async def work(*_: object) -> None:
        started.set()
        try:
            await asyncio.Future()
        finally:
            over.set()

    waiting = asyncio.create_task(ended(work))
    await started.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert over.is_set()


async def test_a_server_that_stops_ends_what_is_left_of_a_complete_answer_as_itself() -> None:
    """The client that has all is told gone as well, but that has cancelled nothing."""
    told = asyncio.Event()

    async def work(scope: Scope, *_: object) -> None:
        exchange_of(scope).complete = True
        for _turn in range(5):
            await asyncio.sleep(0)
        told.set()
        await asyncio.Future()

    waiting = asyncio.create_task(ended(work, {"type": "http.disconnect"}))
    await told.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
