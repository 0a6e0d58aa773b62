"""The real engine, once per test run: vLLM with the default model, on the loop that all tests share.

Tests and fixtures run on pytest-asyncio's session loop, which is the engine's loop too: it makes progress
while a test awaits. A server built on it runs as a task of the same loop; a blocking client (the synchronous
SDK, a subprocess) must be awaited through `asyncio.to_thread`.
"""

import importlib.util
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from tokenizers import Tokenizer

from server.default_model import DefaultModelError, prepare
from server.engine.vllm import VllmEngine
from server.metrics import Metrics

CACHE = Path.home() / ".cache" / "strictcall" / "models"


@dataclass(frozen=True, slots=True)
class RunningEngine:
    """The engine, its model's directory and tokenizer, and the metrics that see its processes."""

    engine: VllmEngine
    model: Path
    tokenizer: Tokenizer
    metrics: Metrics

    def prompt(self, text: str) -> list[int]:
        """Return the ids of a conversation that asks `text`, up to where the model answers."""
        turn = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        return list(self.tokenizer.encode(turn).ids)


@pytest_asyncio.fixture(scope="session", name="running")
async def _running() -> AsyncIterator[RunningEngine]:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM is not installed")
    try:
        model = prepare(CACHE, print)
    except DefaultModelError as error:
        pytest.skip(str(error))
    metrics = Metrics(families=("hermes",))
    engine = await VllmEngine.start(str(model), metrics_directory=metrics.engine_directory)
    yield RunningEngine(engine, model, Tokenizer.from_file(str(model / "tokenizer.json")), metrics)
    await engine.close()
    metrics.close()
