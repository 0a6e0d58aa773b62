"""How long one request may take, and the error that it ends with when it has taken longer.

    limit = TimeLimit(20)                 # seconds from now
    await limit.wait(queue.get)           # ApiError (504 request_timeout) if that takes longer
    limit.cut(5, stopping_error(), …)     # someone else has less time for it

The limit of the request that is being answered is `current_limit()`: every API has it without passing it on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from server.errors import ApiError, Code
from server.telemetry.labels import AbortCause

T = TypeVar("T")

HEADER = "x-request-timeout"
"""Seconds that a client gives its request; they can only be fewer than the server's."""

NOT_AGAIN = {"x-should-retry": "false"}
"""The official SDKs send a 5xx again by themselves, which would double the load where time is short."""


def too_slow(seconds: float) -> ApiError:
    """The error of a request that has taken all of its time."""
    message = (
        f"The request was not complete within its {seconds:g} s ({HEADER}, or the server's "
        "--request-seconds). Ask for fewer tokens, or allow more time."
    )
    return ApiError(Code.REQUEST_TIMEOUT, message, headers=NOT_AGAIN)


class TimeLimit:
    """The end of one request's time; None is no end. Only one task at a time may `wait`.

    It is one timer for all that a request waits for; `asyncio.timeout` would make one for each step.
    """

    def __init__(self, seconds: float | None) -> None:
        self._error = too_slow(seconds or 0)
        self._cause = AbortCause.TIMEOUT
        self._over = False
        self._waiting: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._end)

    def cut(self, seconds: float, error: ApiError, cause: AbortCause) -> None:
        """Let the time end in `seconds` with `error`, unless it ends sooner by itself."""
        loop = asyncio.get_running_loop()
        if self._over or (self._timer is not None and self._timer.when() <= loop.time() + seconds):
            return
        self.close()
        self._error, self._cause = error, cause
        self._timer = loop.call_later(seconds, self._end)

    def close(self) -> None:
        """Forget the end: the request is over."""
        if self._timer is not None:
            self._timer.cancel()

    @property
    def ended(self) -> AbortCause | None:
        """Why what still runs is to be ended, or None while there is time."""
        return self._cause if self._over else None

    async def wait(self, start: Callable[[], Awaitable[T]]) -> T:
        """Await what `start` begins, which is cancelled when the time ends. Raises `ApiError` then."""
        if self._over:
            raise self._error
        self._waiting = task = asyncio.current_task()
        try:
            return await start()
        except asyncio.CancelledError:
            # Somebody else may have cancelled the task too, and that goes on.
            if self._over and task is not None and task.uncancel() == 0:
                raise self._error from None
            raise
        finally:
            self._waiting = None

    def _end(self) -> None:
        self._over = True
        if self._waiting is not None:
            self._waiting.cancel()


LIMIT: ContextVar[TimeLimit] = ContextVar("limit")


@contextmanager
def limited(limit: TimeLimit) -> Iterator[None]:
    """Make `limit` that of the request which is being answered."""
    token = LIMIT.set(limit)
    try:
        yield
    finally:
        LIMIT.reset(token)


def current_limit() -> TimeLimit:
    """The limit of the request that is being answered, or none outside of one."""
    return LIMIT.get(None) or TimeLimit(None)
