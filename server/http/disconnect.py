"""Work that is given up when the client goes away before it has its answer.

POST /v1/chat/completions, and the connection is closed   → the request's task is cancelled, status 499

One task listens for that from the body's end to the answer's, whatever the request does meanwhile: wait for
its turn, show the prompt to the model, generate, stream.
"""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from server.http.body import ReplayedBody
from server.http.exchange import Exchange, exchange_of, generates


class ClientGoneError(Exception):
    """Nobody is there to be answered."""


class EndWithClient:
    """ASGI middleware that cancels what is inside it, and raises `ClientGoneError`, when the client leaves.

    It stands inside `ReadBody`, whose body comes in one piece, and around requests that spend model time.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        working = asyncio.current_task()
        if working is None or not generates(scope):
            await self.app(scope, receive, send)
            return
        body = (await receive())["body"]
        listening = asyncio.create_task(_listen(receive, exchange_of(scope), working))
        try:
            await self.app(scope, ReplayedBody(body, receive), send)
        except asyncio.CancelledError:
            # Somebody else may have cancelled the request too, and that goes on.
            if _has_cancelled(listening) and working.uncancel() == 0:
                raise ClientGoneError from None
            raise
        finally:
            listening.cancel()


async def _listen(receive: Receive, exchange: Exchange, working: "asyncio.Task[None]") -> bool:
    """Cancel the work when the client is gone, and return whether it was.

    Servers say that it is gone when it has its answer, too: then the work goes on.
    """
    while (await receive())["type"] != "http.disconnect":
        pass
    return not exchange.complete and working.cancel()


def _has_cancelled(listening: "asyncio.Task[bool]") -> bool:
    return listening.done() and listening.result()
