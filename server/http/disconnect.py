"""Work that is given up when the client goes away before it has its answer.

    body = await unless_disconnected(http, fold(answer))   # raises ClientGoneError, the work cancelled

A streamed answer needs none of this: the server cancels its body.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.types import Receive

T = TypeVar("T")


class ClientGoneError(Exception):
    """Nobody is there to be answered."""


async def unless_disconnected(http: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; cancel it and wait until it has cleaned up if the client of `http` leaves first."""
    return await unless_gone(http.receive, work)


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Do the same where there is only an ASGI `receive`."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_disconnect(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGoneError
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    """Return when the client is gone. The body has been read before, so nothing else can come."""
    while (await receive())["type"] != "http.disconnect":
        pass
