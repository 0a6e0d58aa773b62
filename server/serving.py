"""Runs an application until it is told to stop, or its engine is gone.

outcome = await run_server(context, listener, announce=lambda: print("ready"))
outcome          # Outcome.STOPPED after SIGTERM or SIGINT, Outcome.ENGINE_DIED
"""

import asyncio
import errno
import gc
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

import uvicorn

from server.app import create_app
from server.context import Context
from server.engine.protocol import Engine, EngineDeadError, EngineRestartingError
from server.terminal import CommandError

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
LAST_ANSWERS_SECONDS = 5.0
"""How long a server without an engine still answers: running requests and probes get their 503."""


class Outcome(Enum):
    """Why a server is not running any more."""

    STOPPED = "stopped"
    ENGINE_DIED = "engine died"


class Server(uvicorn.Server):
    """uvicorn's server, which tells when it has begun to listen."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._announce()


async def run_server(context: Context, listener: socket.socket, *, announce: Callable[[], None]) -> Outcome:
    """Serve on `listener`, which is bound, until a signal comes or the engine is gone; closes the context.

    uvicorn takes SIGINT and SIGTERM meanwhile; afterwards it raises them again for the handlers before it.
    """
    config = uvicorn.Config(
        create_app(context),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        # Longer than the idle time of common proxies, which then never write to a closed connection.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=context.settings.drain_seconds,
    )
    server = Server(config, announce)
    watching = asyncio.create_task(watch(server, context.engine))
    try:
        await server.serve(sockets=[listener])
    except OSError as exc:
        # Bound sockets may share a port until one listens: another server was faster.
        if exc.errno != errno.EADDRINUSE:
            raise
        await context.engine.close()
        raise CommandError(
            "Another program began to listen on the port. Take another one with --port."
        ) from exc
    finally:
        watching.cancel()
    return watching.result() if watching.done() and not watching.cancelled() else Outcome.STOPPED


def set_heap_aside() -> None:
    """Keep the garbage collector from looking through what stays as long as the server does.

    With vLLM that is a million objects, and all streams would wait for some 0.2 s each time.
    """
    gc.collect()
    gc.freeze()


async def watch(server: uvicorn.Server, engine: Engine) -> Outcome:
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
            return Outcome.ENGINE_DIED
    return Outcome.STOPPED
