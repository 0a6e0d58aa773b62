"""A server without a model: an engine that generates nothing, and the context around it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

import httpx2
from starlette.types import ASGIApp

from parsers.families.hermes import HERMES
from server.config.settings import Settings
from server.context import Context
from server.engine.protocol import Engine, EngineDeadError, Output
from server.limits.admission import admission_of
from server.request import SamplingParams
from server.schema.deadline import CompileDeadline, Prepared
from server.telemetry.metrics import Metrics


class IdleEngine:
    """An engine that is alive or dead, and says nothing."""

    max_model_len = 2048
    version = "idle 1.0"

    def __init__(self) -> None:
        self.alive = asyncio.Event()
        self.alive.set()
        self.dead = False
        self.closed = False

    unfinished = 0

    async def generate(
        self, request_id: str, prompt: Sequence[int], sampling: SamplingParams, structural_tag: str | None
    ) -> AsyncGenerator[Output, None]:
        for _ in ():
            yield Output(())

    async def check(self) -> None:
        """Wait while `alive` is not set; raise if `dead`."""
        await self.alive.wait()
        if self.dead:
            raise EngineDeadError("killed by a test")

    async def close(self) -> None:
        self.closed = True


def make_context(settings: Settings | None = None, *, engine: Engine | None = None, **more: Any) -> Context:
    """A context whose model-side parts are there only if `more` gives them."""
    parts: dict[str, Any] = dict.fromkeys(("vocabulary", "template", "planner"))
    parts |= {"markers": {}, "deadline": CompileDeadline(lambda: Prepared("", ""), seconds=1), **more}
    settings, metrics = settings or Settings(), Metrics(families=("hermes",))
    return Context(
        settings=settings,
        engine=engine or IdleEngine(),
        family=HERMES,
        metrics=metrics,
        admission=admission_of(settings, metrics),
        model_names=("small", "org/alias"),
        created=1_700_000_000,
        **parts,
    )


def client_of(app: ASGIApp, **options: Any) -> httpx2.AsyncClient:
    """An HTTP client that calls `app` directly."""
    transport = cast("httpx2.AsyncBaseTransport", httpx2.ASGITransport(cast("Any", app)))
    return httpx2.AsyncClient(transport=transport, base_url="http://strictcall.test", **options)
