"""What probes, collectors and people in a terminal ask a server: is it alive, ready, how fast, which version?

    GET /health  → 200 {"status": "ok"}, or 503 with an error body when the engine is dead: restart the server
    GET /metrics → Prometheus' text format

Probes need no key, the others only one of their own, if there is one (see `server.http.auth`). With
`--ops-port`, the others are on that port alone.
"""

from contextlib import suppress
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from server.context import context_of
from server.engine.protocol import EngineRestartingError
from server.limits.admission import stopping_error
from server.version import own_version

probes = APIRouter(tags=["operations"])
router = APIRouter(tags=["operations"])

PROMETHEUS_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
}


class Status(BaseModel):
    status: Literal["ok"] = "ok"


class Version(BaseModel):
    version: str
    engine: str


@probes.head("/health", include_in_schema=False)
@probes.get("/health")
async def health(request: Request) -> Status:
    """Say whether the server can ever answer again: 503 when its engine is gone for good."""
    with suppress(EngineRestartingError):
        await context_of(request).engine.check()
    return Status()


@probes.head("/ready", include_in_schema=False)
@probes.get("/ready")
async def ready(request: Request) -> Status:
    """Say whether requests may be sent now: 503 while the engine is started again or the server stops.

    Before the engine has started, the port is closed.
    """
    context = context_of(request)
    if context.admission.stopping:
        raise stopping_error()
    await context.engine.check()
    return Status()


@router.get("/metrics", response_class=Response, responses=PROMETHEUS_TEXT)
def metrics(request: Request) -> Response:
    """Give all metrics in Prometheus' text format."""
    # Not async: it reads the engine process's files, for which the event loop should not wait.
    source = context_of(request).metrics
    return Response(source.render(), media_type=source.content_type)


@router.get("/version")
async def version(request: Request) -> Version:
    """Name the version of strictcall and of the engine behind it."""
    return Version(version=own_version(), engine=context_of(request).engine.version)
