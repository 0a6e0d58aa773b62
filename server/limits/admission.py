"""How many requests spend model time at once, how many may wait for that, and when no more are taken.

    admission = Admission(running=1024, waiting=256, seconds=3600, metrics=metrics)
    with admission.place() as limit:        # ApiError: 429 if all places are taken, 503 if the server stops
        async with admission.turn(limit):   # first come, first served
            …

A place is taken before the body is read, so that bodies in memory are as bounded as requests are; a turn is
taken after it, so that who sends slowly keeps nobody from the engine.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from server.config.settings import Settings
from server.errors import ApiError, Code
from server.limits.time_limit import TimeLimit
from server.telemetry.labels import AbortCause, Refusal
from server.telemetry.metrics import Metrics

LONGEST_RETRY = 60
"""Seconds after which a refused client may come back at the latest; the official SDKs take no more."""

STOPPING_RETRY = 5
"""Seconds in which another server, or this one anew, may have taken over."""

SMOOTHING = 16
"""Requests that the mean time of a turn looks back at, about."""


def stopping_error() -> ApiError:
    """The error of requests that come to a server which stops, or are not done when it has to."""
    return ApiError(
        Code.STOPPING,
        "The server is stopping. Send the request again in a moment: another server may take it.",
        headers={"retry-after": str(STOPPING_RETRY), "connection": "close"},
    )


class Admission:
    """The places of one server. A request has one from its headers to the last byte of its answer."""

    def __init__(self, *, running: int, waiting: int, seconds: float, metrics: Metrics) -> None:
        self._running = running
        self._places = running + waiting
        self._seconds = seconds
        self._metrics = metrics
        self._turns = asyncio.Semaphore(running)
        self._taken: set[TimeLimit] = set()
        self._mean_seconds = 0.0
        self._stopping = False

    @property
    def stopping(self) -> bool:
        """Whether the server takes no more requests."""
        return self._stopping

    def stop(self, seconds: float) -> None:
        """Take no more requests; those that have a place end within `seconds`, some of them with an error."""
        self._stopping = True
        for limit in self._taken:
            limit.cut(seconds, stopping_error(), AbortCause.STOPPING)

    @contextmanager
    def place(self, seconds: float | None = None) -> Iterator[TimeLimit]:
        """Take a place and start the clock of a request; `seconds` is what its client gives it."""
        if self._stopping:
            self._metrics.refused.labels(reason=Refusal.STOPPING.value).inc()
            raise stopping_error()
        if len(self._taken) >= self._places:
            self._metrics.refused.labels(reason=Refusal.QUEUE_FULL.value).inc()
            raise self._full()
        limit = TimeLimit(self._seconds if seconds is None else min(seconds, self._seconds))
        self._taken.add(limit)
        try:
            yield limit
        finally:
            self._taken.discard(limit)
            limit.close()

    @asynccontextmanager
    async def turn(self, limit: TimeLimit) -> AsyncIterator[None]:
        """Wait for a turn, and have it. Raises `ApiError` if the request's time ends before."""
        with self._metrics.waiting.track_inprogress():
            await limit.wait(self._turns.acquire)
        began = time.monotonic()
        try:
            with self._metrics.running.track_inprogress():
                yield
        finally:
            self._turns.release()
            self._mean_seconds += (time.monotonic() - began - self._mean_seconds) / SMOOTHING

    def _full(self) -> ApiError:
        waiting = self._places - self._running
        seconds = round(self._mean_seconds * waiting / self._running)
        return ApiError(
            Code.RATE_LIMITED,
            f"The server has as many requests as it takes: {self._running} that run "
            f"(--max-concurrent-requests) and {waiting} that wait (--max-queued-requests). Send the request "
            "again after the time that the header retry-after names.",
            headers={"retry-after": str(min(max(seconds, 1), LONGEST_RETRY))},
        )


def admission_of(settings: Settings, metrics: Metrics) -> Admission:
    """The admission that the settings ask for."""
    return Admission(
        running=settings.max_concurrent_requests,
        waiting=settings.max_queued_requests,
        seconds=settings.request_seconds,
        metrics=metrics,
    )
