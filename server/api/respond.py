"""How every surface answers: whole or streamed, by an encoder of its own over the same steps.

    return await respond_whole(answer, ChatResponse(…), http)      # one JSON body
    return await respond_streamed(answer, ChatStream(…), http)     # server-sent events

What is the same for all is here: the first chunk that is awaited before the headers, the error that comes
when the status has been sent, the tokens in the log line.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Protocol

from fastapi import Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from server.answering.answer import Answer
from server.answering.observe import Usage
from server.answering.sequence import Step
from server.errors import ApiError
from server.http.boundary import recorded_error
from server.http.exchange import exchange_of

STREAM_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}
"""Neither the client nor a proxy may wait for the end of a stream."""


Last = Callable[[], Awaitable[None]]
"""What a surface does with a whole answer before its end is told: it may keep it. What it raises is told."""


async def nothing() -> None:
    """Most surfaces keep nothing."""


class WholeEncoder(Protocol):
    """Folds the steps of an answer into one body."""

    def add(self, step: Step) -> None: ...

    def body(self, usage: Usage) -> dict[str, Any]:
        """The body, once every step was added."""
        ...


class StreamEncoder(Protocol):
    """Turns the steps of an answer into the bytes of a stream."""

    def open(self) -> bytes:
        """What comes before everything else. Asked for once, when there is a first step."""
        ...

    def encode(self, step: Step) -> bytes:
        """What one step adds; empty if the client is to see nothing of it."""
        ...

    def close(self, usage: Usage) -> bytes:
        """The end of a stream whose every step was encoded."""
        ...

    def fail(self, error: ApiError) -> bytes:
        """The end of a stream that has begun and cannot go on."""
        ...


class EventStream(StreamingResponse):
    """A stream that has its first chunk. It does not listen for its client: `EndWithClient` does."""

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes, None]) -> None:
        super().__init__(rest, media_type="text/event-stream", headers=STREAM_HEADERS)
        self._first = first
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        await asyncio.create_task(self._send(send))

    async def _send(self, send: Send) -> None:
        """A task of its own: each token wakes it, and would else wake every layer around it in turn."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        async with aclosing(self._rest) as rest:
            await send(start)
            await send(_body(self._first))
            async for chunk in rest:
                await send(_body(chunk))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _body(chunk: bytes) -> Message:
    return {"type": "http.response.body", "body": chunk, "more_body": True}


async def respond_whole(
    answer: Answer, encoder: WholeEncoder, http: Request, *, last: Last = nothing
) -> Response:
    """Walk the whole path, then respond once. Raises what the path raises."""
    body = await asyncio.create_task(_fold(answer, encoder, http))  # as `EventStream` has one
    await last()
    return JSONResponse(body)


async def respond_streamed(
    answer: Answer, encoder: StreamEncoder, http: Request, *, last: Last = nothing
) -> Response:
    """Respond step by step.

    Raises what the path raises before the first chunk; any later error is the stream's last event.
    """
    chunks = _chunks(answer, encoder, http, last)
    # The first chunk is awaited here, so that an engine which refuses the request still gives a status.
    first = await anext(chunks)
    return EventStream(first, chunks)


async def _fold(answer: Answer, encoder: WholeEncoder, http: Request) -> dict[str, Any]:
    async with aclosing(answer.steps()) as steps:
        async for step in steps:
            encoder.add(step)
    _account(http, answer.usage)
    return encoder.body(answer.usage)


async def _chunks(
    answer: Answer, encoder: StreamEncoder, http: Request, last: Last
) -> AsyncGenerator[bytes, None]:
    begun = False
    try:
        async with aclosing(answer.steps()) as steps:
            async for step in steps:
                opening = b"" if begun else encoder.open()
                if chunk := opening + encoder.encode(step):
                    begun = True
                    yield chunk
        end = encoder.close(answer.usage)
        await last()
        yield end
    except Exception as exc:  # the outermost place of a stream, as `Boundary` is that of a response
        if not begun:
            raise
        error = recorded_error(exc, http.scope)
        # The status line has said 200, but for the log and the metrics this was an error.
        exchange_of(http).status = error.status
        yield encoder.fail(error)
    finally:
        _account(http, answer.usage)


def _account(http: Request, usage: Usage) -> None:
    exchange = exchange_of(http)
    exchange.prompt_tokens, exchange.completion_tokens = usage.prompt, usage.completion
