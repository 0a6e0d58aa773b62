"""One connection: what a client may do to it, and what is said to who does not speak HTTP.

    GET / HTP/1.1                             → 400 malformed_http, closed
    GET / HTTP/1.1, 64 KiB of headers         → 431 headers_too_large, closed
    GET / HTTP/1.1, half a header, and silence → 408 request_read_timeout, closed
    a stream that nobody reads                → closed, its request aborted as by a client that leaves

uvicorn reads HTTP; this adds the bounds that it does not have, and our form of errors where there is no
request yet that the application could answer.
"""

import asyncio
import json
import logging
import uuid
from dataclasses import dataclass
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from server.errors import ApiError, Code
from server.telemetry.labels import Closed
from server.telemetry.metrics import Metrics

log = logging.getLogger(__name__)

HEAD_BYTES = 64 * 2**10
"""How long a request's first line and headers may be together."""

LINGER_SECONDS = 1.0
"""How long a refused client may still send what is not heeded; it would lose the answer to a closed port."""


FRAMING = (b"content-length", b"transfer-encoding")


class HeadTooLargeError(Exception):
    """Raised in a callback of the parser, which passes it on as an error of its own."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a client may take its time for, and who counts it if it takes more."""

    receive_seconds: float
    unread_seconds: float
    metrics: Metrics


class Connection(HttpToolsProtocol):
    """uvicorn's connection with limits. The head of a request is its first line and its headers."""

    def __init__(self, config: uvicorn.Config, *, limits: ConnectionLimits, **more: Any) -> None:
        super().__init__(config, **more)
        self._limits = limits
        self._head_bytes: int | None = None
        """How much of a head has come; None while none is being read."""
        self._too_large = False
        self._refused = False
        self._declining = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the client was refused."""
        if self._refused:
            return
        if self._head_timer is None and self._between_requests:
            self._await_head()
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._refuse(Closed.HEAD_TOO_LARGE if self._too_large else Closed.MALFORMED)
            return
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._refuse(Closed.HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        if not self._declining:
            self._head_bytes = 0
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._declining:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._declining:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._declining:
            return
        self._head_bytes = None
        self._stop_head_timer()
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            self._too_large = True
            raise HeadTooLargeError
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        # Of a request that offers another protocol the parser says so before its body.
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread_timer is None:
            self._unread_timer = self.loop.call_later(self._limits.unread_seconds, self._left_unread)

    def resume_writing(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, whether or not its client has read what it was sent."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self._decline(data[offer.args[0] :])

    def _decline(self, rest: bytes) -> None:
        """Read on by HTTP/1.1 where a client offers another protocol, as Java's does with each request.

        The parser takes what follows for that protocol. Another one reads it, which is told how long it is.
        """
        framing = [name + b": " + value + b"\r\n" for name, value in self.headers if name in FRAMING]
        self.parser = httptools.HttpRequestParser(self)
        self._declining = True
        try:
            self._feed(b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n")
        finally:
            self._declining = False
        if rest:
            self._feed(rest)

    @property
    def _between_requests(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self._limits.receive_seconds, self._head_is_late)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self._head_bytes is None:
            self.transport.close()  # it has asked for nothing, or has its answer
        else:
            self._refuse(Closed.HEAD_TIMEOUT)

    def _left_unread(self) -> None:
        self._count(Closed.UNREAD)
        self.transport.abort()

    def _refuse(self, why: Closed) -> None:
        """Answer what is no request, where the answer cannot be taken for another request's, and close."""
        self._refused = True
        self._stop_head_timer()
        self._count(why)
        if not self._may_answer:
            self.transport.close()
            return
        error, request_id = refusal(why, self._limits), f"req_{uuid.uuid4().hex}"
        self._limits.metrics.requests.labels(api="other", status=str(error.status)).inc()
        fields = {"code": error.kind.code, "id": request_id}
        log.info("refused what is no request: %d", error.status, extra={"fields": fields})
        self.transport.write(raw_response(error, request_id, self.server_state.default_headers))
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    @property
    def _may_answer(self) -> bool:
        """Whether nothing is being answered, or it is this very request whose body cannot be read."""
        unanswered = self._between_requests or (self.cycle.more_body and not self.cycle.response_started)
        return unanswered and not self.pipeline

    def _count(self, why: Closed) -> None:
        self._limits.metrics.closed.labels(reason=why.value).inc()


def refusal(why: Closed, limits: ConnectionLimits) -> ApiError:
    """What is said to a client that was refused before there was a request."""
    match why:
        case Closed.HEAD_TOO_LARGE:
            message = f"The URL and the headers of the request are larger than {HEAD_BYTES} bytes together."
            return ApiError(Code.HEAD_TOO_LARGE, message)
        case Closed.HEAD_TIMEOUT:
            seconds = f"{limits.receive_seconds:g} s (--receive-seconds)"
            return ApiError(Code.READ_TIMEOUT, f"The request's headers had not come within {seconds}.")
    return ApiError(
        Code.MALFORMED_HTTP, "This is no HTTP/1.1 that the server can read. HTTPS ends at a proxy."
    )


def raw_response(error: ApiError, request_id: str, more: list[tuple[bytes, bytes]]) -> bytes:
    """The bytes of an error response after which the connection is closed."""
    body = json.dumps(error.body()).encode()
    headers = [
        *more,
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id.encode()),
        (b"connection", b"close"),
    ]
    lines = [name + b": " + value + b"\r\n" for name, value in headers]
    return b"".join([STATUS_LINE[error.status], *lines, b"\r\n", body])
