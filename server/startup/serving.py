"""Runs an application until it is told to stop, or its engine is gone.

    outcome = await run_server(context, listener, announce=lambda: print("ready"), end_now=handler)
    outcome          # Outcome.STOPPED after SIGTERM or SIGINT, Outcome.ENGINE_DIED

The first signal lets requests that run come to their end and refuses new ones, on a port that stays open; a
second one is `end_now`'s.
"""

import asyncio
import errno
import logging
import math
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from enum import Enum
from functools import partial
from types import FrameType
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from server.app import close, create_app, create_ops_app
from server.console.terminal import CommandError
from server.context import Context
from server.engine.protocol import Engine, EngineDeadError, EngineRestartingError
from server.http.connection import Connection, ConnectionLimits

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
TICK_SECONDS = 1.0
"""As often as the `date` header changes."""
DRAIN_TICK_SECONDS = 0.1
"""The end of the last request wakes nobody, and is waited for."""
LAST_ANSWERS_SECONDS = 5.0
"""How long a server without an engine still answers: running requests and probes get their 503."""
LAST_WORDS_SECONDS = 2.0
"""How long a server that stops waits for requests whose time it has ended to tell so."""

Handler = Callable[[int, FrameType | None], None]
"""A handler of signals."""


class Outcome(Enum):
    """Why a server is not running any more."""

    STOPPED = "stopped"
    ENGINE_DIED = "engine died"


class QuietServer(uvicorn.Server):
    """uvicorn's server, which looks every second whether it is to stop, and when it is woken.

    uvicorn's own looks ten times a second, which shows in the processor time of a server whose model writes
    slowly: each look finds the processor's caches full of other things.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def wake(self) -> None:
        """Let it look now; for handlers of signals, too."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._woken.set)

    @property
    def pause(self) -> float:
        """Seconds until it looks again."""
        return TICK_SECONDS

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        # At a tick of 0 uvicorn tells the time, in the headers of responses.
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(self.pause):
                    await self._woken.wait()
            self._woken.clear()


class Server(QuietServer):
    """A server which tells when it has begun to listen, and drains before it closes its port."""

    def __init__(
        self, config: uvicorn.Config, context: Context, *, announce: Callable[[], None], end_now: Handler
    ) -> None:
        super().__init__(config)
        self._admission = context.admission
        self._drain_seconds = context.settings.drain_seconds
        self._announce = announce
        self._end_now = end_now
        self._told = False
        """Whether a signal has come."""
        self._ends = 0.0
        """When what still runs is broken off, once the server is draining."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the first signal, for the loop may be in the midst of anything; end with the second."""
        if self._told:
            self._end_now(sig, frame)
        self._told = True
        self.wake()

    @property
    def pause(self) -> float:
        return DRAIN_TICK_SECONDS if self._told else super().pause

    async def on_tick(self, counter: int) -> bool:
        """Say whether to close the port and stop."""
        if self._told and not self._admission.stopping:
            self._drain()
        # Said to all, so that nobody takes the engine, which is closed next, for one that has died.
        self.should_exit |= self._admission.stopping and self._drained()
        return await super().on_tick(counter)

    def _drain(self) -> None:
        running = len(self.server_state.tasks)
        log.info("Stopping: %d requests may go on for %d s.", running, self._drain_seconds)
        self._admission.stop(self._drain_seconds)
        self._ends = time.monotonic() + self._drain_seconds + LAST_WORDS_SECONDS

    def _drained(self) -> bool:
        left = max(0, math.ceil(self._ends - time.monotonic()))
        # What uvicorn waits for after that is the last bytes on their way to slow readers.
        self.config.timeout_graceful_shutdown = left
        return not left or not self.server_state.tasks


class OpsServer(QuietServer):
    """Another server in the same process, which signals are none of its business."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.listening.set()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # as generators are
        return nullcontext()


@asynccontextmanager
async def operations(context: Context, listener: socket.socket | None) -> AsyncIterator[None]:
    """Answer operators on a port of their own, if there is one, up to the very end."""
    if listener is None:
        yield
        return
    config = config_of(create_ops_app(context), context)
    config.lifespan, config.timeout_graceful_shutdown = "off", 1
    server = OpsServer(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    started = asyncio.create_task(server.listening.wait())
    try:
        await asyncio.wait({serving, started}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving  # it raises why
        yield
    finally:
        started.cancel()
        server.should_exit = True
        server.wake()
        await asyncio.gather(serving, return_exceptions=True)


async def run_server(
    context: Context,
    listener: socket.socket,
    *,
    announce: Callable[[], None],
    end_now: Handler,
    ops_listener: socket.socket | None = None,
) -> Outcome:
    """Serve on `listener`, which is bound, until a signal comes or the engine is gone; closes the context.

    SIGINT and SIGTERM are the server's meanwhile. The second of them calls `end_now`, which does not return.
    """
    config = config_of(create_app(context), context)
    server = Server(config, context, announce=announce, end_now=end_now)
    watching = asyncio.create_task(watch(server, context.engine))
    try:
        async with operations(context, ops_listener):
            await server.serve(sockets=[listener])
    except OSError as exc:
        # Bound sockets may share a port until one listens: another server was faster.
        if exc.errno != errno.EADDRINUSE:
            raise
        await close(context)
        raise CommandError(
            "Another program began to listen on the port. Take another one with --port, or --ops-port."
        ) from exc
    finally:
        watching.cancel()
    return watching.result() if watching.done() and not watching.cancelled() else Outcome.STOPPED


def config_of(app: ASGIApp, context: Context) -> uvicorn.Config:
    """How uvicorn serves an application of ours."""
    settings = context.settings
    limits = ConnectionLimits(settings.receive_seconds, settings.unread_seconds, context.metrics)
    return uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(Connection, limits=limits)),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        # Longer than the idle time of common proxies, which then never write to a closed connection.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=settings.drain_seconds,
    )


async def watch(server: QuietServer, engine: Engine) -> Outcome:
    """Tell a server whose engine is gone to stop, so that it can be started anew; return why it stops."""
    while not server.should_exit:
        await asyncio.sleep(CHECK_SECONDS)
        try:
            with suppress(EngineRestartingError):
                await engine.check()
        except EngineDeadError as error:
            if server.should_exit:
                break  # the engine was not lost: a server that stops closes it
            log.critical("%s The server stops in %.0f s.", error, LAST_ANSWERS_SECONDS)
            await asyncio.sleep(LAST_ANSWERS_SECONDS)
            server.should_exit = True
            server.wake()
            return Outcome.ENGINE_DIED
    return Outcome.STOPPED
