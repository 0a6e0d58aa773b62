"""The engine of a test run where it is behind HTTP: workers that somebody has started.

    $ strictcall worker --port 8001 &
    $ STRICTCALL_TEST_ENGINE_URL=http://127.0.0.1:8001 pytest -m engine tests/engine

With a router before them, `STRICTCALL_TEST_WORKER_URLS` names the workers, whose metrics it does not pass on.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx2

from server.config.settings import DEFAULT_MODEL
from server.engine.remote import Identity, RemoteEngine
from server.telemetry.metrics import Metrics

ENGINE_URL = "STRICTCALL_TEST_ENGINE_URL"
WORKER_URLS = "STRICTCALL_TEST_WORKER_URLS"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the engine is, and where its metrics are."""

    engine: tuple[str, ...]
    metrics: tuple[str, ...]

    @classmethod
    def given(cls) -> Self | None:
        """Those of the environment, or None if the engine is to run here."""
        engine = tuple(os.environ.get(ENGINE_URL, "").split())
        return cls(engine, tuple(os.environ.get(WORKER_URLS, "").split()) or engine) if engine else None

    async def connect(self, model: Path, metrics: Metrics) -> RemoteEngine:
        identity = Identity.load(str(model), (DEFAULT_MODEL,))
        return await RemoteEngine.connect(self.engine, identity, counted=metrics.count_loss)


class WorkerMetrics(Metrics):
    """The metrics of a front end, and behind them those of the workers, as a collector would have both."""

    def __init__(self, addresses: Addresses) -> None:
        super().__init__(families=("hermes",))
        self._addresses = addresses

    def render(self) -> bytes:
        told = [httpx2.get(f"{url}/metrics", timeout=60).content for url in self._addresses.metrics]
        return b"\n".join((super().render(), *told))
