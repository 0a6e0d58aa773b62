"""A request's body, read before anything else sees it."""

import asyncio
from collections.abc import AsyncIterator, Iterable

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from server.app import create_app
from server.config.settings import Settings
from server.errors import ApiError
from server.http.body import ReadBody
from tests.server.shell import client_of, make_context

LIMIT = 10


class Recorder:
    """An ASGI app that reads its request twice over and keeps what it was given."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.headers: list[tuple[bytes, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers = scope["headers"]
        self.messages = [await receive(), await receive()]


class Wire:
    """An ASGI `receive` over prepared messages; counts those that were asked for."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._messages = iter(messages)
        self.given = 0

    async def __call__(self) -> Message:
        self.given += 1
        return next(self._messages)


async def send_nothing(message: Message) -> None:
    raise AssertionError(message)


def pieces(*bodies: bytes) -> list[Message]:
    """The messages of a body that comes in pieces, and the client's leaving after it."""
    last = len(bodies) - 1
    body: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": index < last}
        for index, piece in enumerate(bodies)
    ]
    return [*body, {"type": "http.disconnect"}]


def scope_with(**headers: str) -> Scope:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "headers": raw}


async def test_a_body_is_given_whole_and_then_what_follows() -> None:
    """Pieces are joined; whoever waits for the client to leave still learns of it."""
    app = Recorder()

    await ReadBody(app, limit=LIMIT, seconds=60)(scope_with(), Wire(pieces(b"{", b"", b"}")), send_nothing)

    assert app.messages == [
        {"type": "http.request", "body": b"{}", "more_body": False},
        {"type": "http.disconnect"},
    ]


async def test_a_body_is_called_json() -> None:
    """There is no other kind here, so a client's other name for it is replaced."""
    app = Recorder()

    scope = scope_with(content_type="text/plain", accept="*/*")
    await ReadBody(app, limit=LIMIT, seconds=60)(scope, Wire(pieces(b"{}")), send_nothing)

    assert app.headers == [(b"accept", b"*/*"), (b"content-type", b"application/json")]


async def test_a_body_of_exactly_the_limit_passes() -> None:
    """The limit itself is allowed."""
    app = Recorder()

    await ReadBody(app, limit=LIMIT, seconds=60)(scope_with(), Wire(pieces(b"1" * LIMIT)), send_nothing)

    assert len(app.messages[0]["body"]) == LIMIT


async def test_a_body_above_the_limit_is_refused_once_it_was_sent() -> None:
    """Many clients listen only after they have sent all, so a little too much is read and thrown away."""
    wire = Wire(pieces(b"1" * LIMIT, b"1", b"1"))

    with pytest.raises(ApiError) as refusal:
        await ReadBody(Recorder(), limit=LIMIT, seconds=60)(scope_with(), wire, send_nothing)

    assert refusal.value.status == 413
    assert wire.given == 3


async def test_a_body_far_above_the_limit_is_not_read_to_its_end() -> None:
    """A client cannot keep the server reading for ever."""
    wire = Wire(pieces(*[b"1" * LIMIT] * 1000))

    with pytest.raises(ApiError, match="10 bytes"):
        await ReadBody(Recorder(), limit=LIMIT, seconds=60)(scope_with(), wire, send_nothing)

    assert wire.given < 10


async def test_a_body_that_declares_too_much_is_not_read_at_all() -> None:
    """The declared length is enough to refuse."""
    wire = Wire(pieces(b"1"))

    with pytest.raises(ApiError):
        await ReadBody(Recorder(), limit=LIMIT, seconds=60)(
            scope_with(content_length="99999"), wire, send_nothing
        )

    assert wire.given == 0


async def test_a_client_that_leaves_while_sending_reaches_nobody() -> None:
    """Half a request is none."""
    app = Recorder()
    wire = Wire([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    await ReadBody(app, limit=LIMIT, seconds=60)(scope_with(), wire, send_nothing)

    assert app.messages == []


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    """Who stops in the middle of it is refused, and its connection closed, as the rest could still come."""

    class Silent(Wire):
        async def __call__(self) -> Message:
            return await (super().__call__() if not self.given else asyncio.Future())

    wire = Silent(pieces(b"{", b"}"))

    with pytest.raises(ApiError) as refusal:
        await ReadBody(Recorder(), limit=LIMIT, seconds=0.01)(scope_with(), wire, send_nothing)

    assert (refusal.value.status, refusal.value.headers) == (408, {"connection": "close"})


async def test_a_chunked_body_is_bounded_too() -> None:
    """A body without a declared length is counted as it comes."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b" " * 1000

    settings = Settings(max_body_bytes=2048)
    async with client_of(create_app(make_context(settings))) as client:
        response: httpx2.Response = await client.post("/tokenize", content=chunks())

    assert response.status_code == 413
    assert response.json()["error"]["code"] == "request_too_large"
    assert "2048 bytes" in response.json()["error"]["message"]
