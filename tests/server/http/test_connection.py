"""What clients can do to a connection, over real sockets, against uvicorn as the server runs it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal

import pytest
import uvicorn

from server.app import create_app
from server.config.settings import Settings
from server.engine.scripted import Ending, Script
from server.http.connection import HEAD_BYTES
from server.http.exchange import CLIENT_LEFT
from server.startup.serving import config_of
from server.tokens.vocabulary import Vocabulary
from tests.server.http.test_disconnect import endings, in_flight, until
from tests.server.scripted import QUESTION, Server, always, serving

SECONDS = 10
"""How long a test waits for what happens within one or two."""

HOST = b"host: x\r\n"


@pytest.fixture(name="server")
async def _server(vocabulary: Vocabulary) -> AsyncIterator[Server]:
    """A server whose clients have one second for everything."""
    settings = Settings(compile_seconds=120, receive_seconds=1, unread_seconds=1)
    async with serving(vocabulary, always(vocabulary, "Hello."), settings) as server:
        yield server


@asynccontextmanager
async def listening(server: Server, *, buffer: int | None = None) -> AsyncIterator[int]:
    """Serve on a free port, with sockets that take only so many bytes from us."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        if buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        config = config_of(create_app(server.context), server.context)
        config.lifespan = "off"  # the fixture closes the context
        running = uvicorn.Server(config)
        task = asyncio.create_task(running.serve([listener]))
        await until(lambda: running.started)
        try:
            yield listener.getsockname()[1]
        finally:
            running.should_exit = running.force_exit = True
            await asyncio.wait_for(task, SECONDS)


async def said(port: int, *pieces: bytes) -> bytes:
    """All that the server says to these bytes until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.05)

    sending, got = asyncio.create_task(send()), b""
    try:
        async with asyncio.timeout(SECONDS):
            with suppress(ConnectionResetError):
                while piece := await reader.read(65536):
                    got += piece
    finally:
        sending.cancel()
        writer.close()
    return got


def parts(response: bytes) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON body of the only response in these bytes."""
    head, _, body = response.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert int(headers["content-length"]) == len(body)
    return int(status.split()[1]), headers, json.loads(body) if body else None


def question(**more: Any) -> bytes:
    """A chat request as it stands on the wire."""
    body = json.dumps({"model": "smol", "messages": QUESTION, **more}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


def closed(server: Server, reason: str) -> float:
    return server.metric("strictcall_connections_closed_total", reason=reason)


POST = b"POST /tokenize HTTP/1.1\r\n" + HOST
MALFORMED = {
    "noise": b"\x00\x01\x02\x03\r\n\r\n",
    "words": b"hello there\r\n\r\n",
    "a version that is none": b"GET /health HTTP/9.9\r\n" + HOST + b"\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + b"x" * 160,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a length in words": POST + b"content-length: ten\r\n\r\n{}",
    "a length below zero": POST + b"content-length: -1\r\n\r\n{}",
    "a length beyond all": POST + b"content-length: 99999999999999999999999\r\n\r\n{}",
    "two lengths": POST + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "a length and chunks": POST + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "a chunk without its size": POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "a header without a name": b"GET /health HTTP/1.1\r\n: x\r\n\r\n",
    "a space before the colon": b"GET /health HTTP/1.1\r\nhost : x\r\n\r\n",
    "NUL in a header": b"GET /health HTTP/1.1\r\nhost: x\x00\r\n\r\n",
    "a proxy's request": b"CONNECT x:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a path beyond ASCII": "GET /é HTTP/1.1\r\nhost: x\r\n\r\n".encode(),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_what_is_no_http_is_told_in_the_form_of_all_errors(server: Server, name: str) -> None:
    """400 with a code and a request id, counted, and the connection is closed."""
    async with listening(server) as port:
        status, headers, body = parts(await said(port, MALFORMED[name]))
        await until(lambda: in_flight(server) == 0)

    assert (status, body["error"]["code"]) == (400, "malformed_http")
    assert headers["x-request-id"].startswith("req_")
    assert headers["connection"] == "close"
    assert closed(server, "malformed") == 1
    assert server.metric("strictcall_requests_total", api="other", status="400") == 1


LARGE = {
    "in one piece": [b"GET /health HTTP/1.1\r\nx: " + b"a" * HEAD_BYTES + b"\r\n\r\n"],
    "without an end": [b"GET /health HTTP/1.1\r\nx: ", *[b"a" * 20_000] * 5],
    "many small ones": [b"GET /health HTTP/1.1\r\n" + b"x: y\r\n" * 20_000, b"\r\n"],
    "the URL": [b"GET /" + b"a" * HEAD_BYTES + b" HTTP/1.1\r\n\r\n"],
}


@pytest.mark.parametrize("name", LARGE)
async def test_headers_are_bounded(server: Server, name: str) -> None:
    """431, however they come; what is sent after the bound is not kept."""
    async with listening(server) as port:
        status, _, body = parts(await said(port, *LARGE[name]))

    assert (status, body["error"]["code"]) == (431, "headers_too_large")
    assert closed(server, "head_too_large") == 1


def drip(data: bytes) -> Iterator[bytes]:
    """A byte at a time, slower than the server allows."""
    return (bytes([byte]) for byte in data)


async def test_headers_that_come_byte_by_byte_are_not_waited_for(server: Server) -> None:
    """408: each byte that comes does not give the client more time."""
    async with listening(server) as port:
        status, _, body = parts(await said(port, *drip(b"GET /health HTTP/1.1\r\nhost: x")))

    assert (status, body["error"]["code"]) == (408, "request_read_timeout")
    assert closed(server, "head_timeout") == 1


async def test_a_body_that_comes_byte_by_byte_is_not_waited_for(server: Server) -> None:
    """408 with the request's own id, as here there is a request; its place is free again."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nx-request-id: mine\r\ncontent-length: 100\r\n\r\n"
    async with listening(server) as port:
        status, headers, body = parts(await said(port, head, *drip(b'{"model": "smol", "messages')))
        await until(lambda: in_flight(server) == 0)

    assert (status, body["error"]["code"]) == (408, "request_read_timeout")
    assert (headers["x-request-id"], headers["connection"]) == ("mine", "close")
    assert server.metric("strictcall_requests_total", api="chat", status="408") == 1


async def test_the_time_of_a_request_counts_while_its_body_comes(server: Server) -> None:
    """What the client gave it, or a server that stops, does not wait for the rest."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nx-request-timeout: 0.2\r\ncontent-length: 100\r\n\r\n"
    async with listening(server) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + b"{")
        status = await asyncio.wait_for(reader.readline(), SECONDS)
        writer.close()

    assert b" 504 " in status


ASKED = b"GET /ready HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.mark.parametrize("sent", [[b""], [b"\r\n"] * 30, [ASKED, *[b"\r\n"] * 30]])
async def test_a_connection_without_a_request_is_closed(server: Server, sent: list[bytes]) -> None:
    """Empty lines are no request. Nothing is said to who asked nothing, and nothing is counted."""
    async with listening(server) as port:
        answer = await said(port, *sent)

    assert answer.count(b"HTTP/1.1 ") == sent.count(ASKED)
    assert closed(server, "head_timeout") == 0


async def test_the_rest_of_a_refused_body_is_not_waited_for_either(server: Server) -> None:
    """A client that was answered before its body had come cannot keep the connection by sending on."""
    async with listening(server) as port:
        head = b"POST /nowhere HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n"
        status, _, _ = parts(await said(port, head, *drip(b"a" * 30)))

    assert status == 413


async def test_requests_on_one_connection_are_answered_in_order(server: Server) -> None:
    """Sent at once, without waiting for answers; each has its own, and time to read the first costs none."""
    first, second = question(), b"GET /v1/models/nope HTTP/1.1\r\nhost: x\r\n\r\n"
    last = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    async with listening(server) as port:
        answer = await said(port, first + second + last)

    statuses = [each.split()[0] for each in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"404", b"200"]
    assert answer.index(b"chat.completion") < answer.index(b"model_not_found") < answer.index(b'"ok"')


async def test_noise_behind_a_request_is_not_answered_within_its_answer(vocabulary: Vocabulary) -> None:
    """The client would take the refusal for a part of the stream; it is only closed."""
    gate = asyncio.Event()
    ids = [[each] for each in vocabulary.encode("Once upon a time")]
    async with serving(vocabulary, lambda _: Script(ids, gate=gate)) as server, listening(server) as port:
        answer = asyncio.create_task(said(port, question(stream=True), b"\x00noise\r\n\r\n"))
        await until(lambda: closed(server, "malformed") == 1)
        got = await answer
        await until(lambda: endings(server) == {Ending.CLOSED} and in_flight(server) == 0)

    assert b"malformed" not in got


@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_probes_may_ask_for_the_head_alone(server: Server, path: str) -> None:
    """Many load balancers do: 200 without a body."""
    async with listening(server) as port:
        answer = await said(port, f"HEAD {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "*"])
async def test_a_browser_that_asks_whether_it_may_is_told_no(server: Server, path: str) -> None:
    """Without `--cors-origin` no header allows anything."""
    request = f"OPTIONS {path} HTTP/1.1\r\nhost: x\r\norigin: http://e.example\r\nconnection: close\r\n"
    async with listening(server) as port:
        answer = await said(port, (request + "access-control-request-method: POST\r\n\r\n").encode())

    assert answer.split()[1] in (b"404", b"405", b"400")
    assert b"access-control" not in answer.lower()


async def test_an_offer_of_another_protocol_is_answered_by_this_one(server: Server) -> None:
    """Java's HTTP client offers HTTP/2 with each request; its body must not be lost for that."""
    head, _, body = question().partition(b"\r\n\r\n")
    offer = b"\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAA\r\n\r\n"
    async with listening(server) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + offer + body)
        answer = await asyncio.wait_for(reader.readuntil(b"}]"), SECONDS)
        writer.close()

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"Hello." in answer


async def test_a_body_of_ten_megabytes_is_refused(server: Server) -> None:
    """413, and the server goes on."""
    async with listening(server) as port:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\ncontent-length: 10000000\r\n\r\n"
        status, _, body = parts(await said(port, head + b" " * 10_000_000))
        after = await said(port, b"GET /health HTTP/1.1\r\nconnection: close\r\n\r\n")

    assert (status, body["error"]["code"]) == (413, "request_too_large")
    assert after.startswith(b"HTTP/1.1 200 ")


async def test_ten_thousand_messages_are_read_and_told_that_they_do_not_fit(server: Server) -> None:
    """They are no fault by themselves; the context is what they do not fit into."""
    messages = QUESTION * 10_000
    async with listening(server) as port:
        answer = await said(
            port, question(messages=messages).replace(HOST, HOST + b"connection: close\r\n", 1)
        )

    status, _, body = parts(answer)
    assert (status, body["error"]["code"]) == (400, "context_length_exceeded")


class Counting(asyncio.Event):
    """A gate that is open, and counts the steps that go through it."""

    taken = 0

    async def wait(self) -> Literal[True]:
        self.taken += 1
        await asyncio.sleep(0)  # as an engine's steps do
        return True


async def test_a_client_that_does_not_read_is_not_written_for(vocabulary: Vocabulary) -> None:
    """Of 7,000 steps few are taken, as the answer waits for its reader; after a second it is given up.

    Others are answered meanwhile, and in the end nothing of the request is left.
    """
    [word] = vocabulary.encode("Hi")
    steps = Counting()
    settings = Settings(compile_seconds=120, unread_seconds=1)
    scripts = [
        Script([[word]] * 7000, gate=steps),
        Script([vocabulary.encode("Yes"), [min(vocabulary.end_ids)]]),
    ]
    async with serving(vocabulary, scripts, settings) as server, listening(server, buffer=4096) as port:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.sendall(question(stream=True))
        await until(lambda: steps.taken > 0)
        other = await server.post()
        await until(lambda: closed(server, "unread") == 1)
        await until(lambda: in_flight(server) == 0)
        client.close()

        assert other.status_code == 200
        assert steps.taken < 2000
        assert endings(server) == {Ending.CLOSED, Ending.FINISHED}
        assert server.metric("strictcall_requests_total", api="chat", status=str(CLIENT_LEFT)) == 1
        assert server.metric("strictcall_requests_running") == 0


async def test_a_client_that_reads_late_gets_all(vocabulary: Vocabulary) -> None:
    """A pause that is shorter than allowed costs nothing, however often."""
    [word], end = vocabulary.encode("Hi"), min(vocabulary.end_ids)
    settings = Settings(compile_seconds=120, unread_seconds=2)
    script = Script([[word]] * 2000 + [[end]])
    async with serving(vocabulary, [script], settings) as server, listening(server, buffer=4096) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
        writer.write(question(stream=True))
        got = b""
        while b"[DONE]" not in got:
            got += await asyncio.wait_for(reader.read(150_000), SECONDS)
            await asyncio.sleep(0.05)
        writer.close()

    assert got.count(b'"content": "Hi"') == 2000
    assert closed(server, "unread") == 0
