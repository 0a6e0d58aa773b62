"""The application: middleware around routers, all of it reading from one `Context`.

    app = create_app(context)      # an ASGI app; `GET /openapi.json` describes it

A request passes, from the outside in: its exchange (id, headers, log, metrics), CORS if it is on, the
boundary where exceptions become responses, the API key, a place among the requests, the body, what ends it if
its client leaves, the turn that it waits for. Every layer is plain ASGI, so that a stream passes through as
it is written.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from server.api import models, ops, tokens
from server.api.body_errors import body_error
from server.api.chat import routes as chat
from server.api.completions import routes as completions
from server.api.error_body import ERROR_RESPONSES
from server.api.messages import routes as messages
from server.api.responses import routes as responses
from server.context import Context
from server.http.auth import RequireKey
from server.http.body import ReadBody
from server.http.boundary import Boundary
from server.http.bounded import TakePlace, TakeTurn
from server.http.disconnect import EndWithClient
from server.http.exchange import Exchanges
from server.version import own_version

BEARER = HTTPBearer(auto_error=False, description="One of the keys the server was started with.")
"""Only describes: `RequireKey` checks."""

ROUTERS = (chat.router, completions.router, responses.router, messages.router, models.router, tokens.router)
"""Those of each surface, in the order of the API description."""

EXPOSED_HEADERS = (
    "x-request-id",
    "request-id",
    "openai-processing-ms",
    "openai-version",
    "retry-after",
)
"""What pages in browsers may read of a response."""

DESCRIPTION = """OpenAI's API with dependable tool calls.

Any official OpenAI SDK works with `base_url` set to this server's `/v1`."""


def create_app(context: Context) -> FastAPI:
    """Build the application. When it shuts down it closes what `context` holds."""
    app = FastAPI(
        title="strictcall",
        version=own_version(),
        description=DESCRIPTION,
        lifespan=lifespan,
        middleware=middleware(context),
        exception_handlers={HTTPException: propagate, RequestValidationError: refuse_body},
        responses=ERROR_RESPONSES,
        generate_unique_id_function=lambda route: route.name,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = context
    protected = [Security(BEARER)] if context.settings.api_key else []
    app.include_router(ops.probes)
    if context.settings.ops_port is None:
        app.include_router(ops.router, dependencies=ops_protected(context))
    for router in ROUTERS:
        app.include_router(router, dependencies=protected)
    return app


def create_ops_app(context: Context) -> FastAPI:
    """Build what `--ops-port` answers: probes, and what only operators should see."""
    keys = context.settings.ops_api_key
    app = FastAPI(
        title="strictcall operations",
        version=own_version(),
        middleware=[
            Middleware(Exchanges, metrics=context.metrics, tracing=context.tracing),
            Middleware(Boundary),
            Middleware(RequireKey, keys=keys, ops_keys=keys),
        ],
        exception_handlers={HTTPException: propagate},
        redirect_slashes=False,
        openapi_url=None,
    )
    app.state.context = context
    app.include_router(ops.probes)
    app.include_router(ops.router)
    return app


def ops_protected(context: Context) -> list[Any]:
    """What the description of operators' endpoints says of keys."""
    return [Security(BEARER)] if context.settings.ops_api_key else []


def middleware(context: Context) -> list[Middleware]:
    """The layers around the routers, outermost first."""
    settings = context.settings
    layers = [Middleware(Exchanges, metrics=context.metrics, tracing=context.tracing)]
    if settings.cors_origin:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_origin,
                allow_methods=["*"],
                allow_headers=["*"],
                expose_headers=EXPOSED_HEADERS,
            )
        )
    layers.append(Middleware(Boundary))
    layers.append(Middleware(RequireKey, keys=settings.api_key, ops_keys=settings.ops_api_key))
    layers.append(Middleware(TakePlace, admission=context.admission))
    layers.append(Middleware(ReadBody, limit=settings.max_body_bytes, seconds=settings.receive_seconds))
    layers.append(Middleware(EndWithClient))
    layers.append(Middleware(TakeTurn, admission=context.admission))
    return layers


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """Close what the context holds when the server stops."""
    try:
        yield
    finally:
        await close(app.state.context)


async def close(context: Context) -> None:
    """Close what a context holds."""
    await context.engine.close()
    if context.responses is not None:
        await context.responses.close()
    context.metrics.close()
    context.deadline.close()
    context.tracing.close()


async def propagate(_request: Request, exc: Exception) -> NoReturn:
    """Pass an exception on to `Boundary`, which FastAPI would otherwise answer in a form of its own."""
    raise exc


async def refuse_body(_request: Request, exc: RequestValidationError) -> NoReturn:
    """Raise the error about the first of the faults that FastAPI found in a body."""
    raise body_error(exc.errors()) from exc
