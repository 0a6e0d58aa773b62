"""The real engine, once per test run: vLLM with the default model, on the loop that all tests share.

Tests and fixtures run on pytest-asyncio's session loop, which is the engine's loop too: it makes progress
while a test awaits. A server built on it runs as a task of the same loop; a blocking client (the synchronous
SDK, a subprocess) must be awaited through `asyncio.to_thread`. The engine may also be elsewhere, see
`tests.engine.remote`.
"""

import asyncio
import importlib.util
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import httpx2
import pytest
import pytest_asyncio
import uvicorn
from openai import AsyncOpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk
from prometheus_client.parser import text_string_to_metric_families
from tokenizers import Tokenizer

from parsers.families.hermes import HERMES
from server.app import create_app
from server.config.settings import DEFAULT_MODEL, Settings, default_cache
from server.context import Context
from server.engine.protocol import Engine
from server.engine.revived import RevivedEngine
from server.engine.vllm import VllmEngine
from server.limits.admission import admission_of
from server.mask.compiling import compile_deadline
from server.prompt.template import choose_template
from server.schema.plan import SchemaPlanner
from server.startup.default_model import DefaultModelError, prepare
from server.startup.start import as_trained
from server.store.open import open_store
from server.telemetry.metrics import Metrics
from server.tokens.markers import marker_tokens
from server.tokens.vocabulary import Vocabulary
from tests.engine.remote import Addresses, WorkerMetrics

MODEL = DEFAULT_MODEL
DRAFTS = not os.environ.get("STRICTCALL_TEST_UNDRAFTED")
"""Whether the engine drafts forced tokens, as it does by default: one engine serves all tests of a run."""


@dataclass(frozen=True, slots=True)
class RunningEngine:
    """The engine, its model's directory and tokenizer, and the metrics that see its processes."""

    engine: Engine
    model: Path
    tokenizer: Tokenizer
    metrics: Metrics

    def prompt(self, text: str) -> list[int]:
        """Return the ids of a conversation that asks `text`, up to where the model answers."""
        turn = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        return list(self.tokenizer.encode(turn).ids)


def unavailable(reason: str) -> NoReturn:
    """Skip what needs the engine; in CI, which would then have tested nothing, fail."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest_asyncio.fixture(scope="session", name="running")
async def _running() -> AsyncIterator[RunningEngine]:
    try:
        model = prepare(default_cache() / "models", print)
    except DefaultModelError as error:
        unavailable(str(error))
    addresses = Addresses.given()
    engine: Engine
    if addresses is not None:
        metrics: Metrics = WorkerMetrics(addresses)
        engine = await addresses.connect(model, metrics)
    else:
        metrics = Metrics(families=("hermes",))
        engine = await start_here(model, metrics)
    yield RunningEngine(engine, model, Tokenizer.from_file(str(model / "tokenizer.json")), metrics)
    await engine.close()
    metrics.close()


async def start_here(model: Path, metrics: Metrics) -> RevivedEngine:
    if importlib.util.find_spec("vllm") is None:
        unavailable("vLLM is not installed")
    start = partial(
        VllmEngine.start,
        str(model),
        metrics_directory=metrics.engine_directory,
        draft_forced_tokens=DRAFTS,
    )
    return RevivedEngine(await start(), start, attempts=3, took=1, counted=metrics.count_restart)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is about an engine in this server's own processes, or about one, where it is not so."""
    addresses = Addresses.given()
    if addresses is None:
        return
    for item in items:
        if item.get_closest_marker("in_process"):
            item.add_marker(pytest.mark.skip(reason="the engine is elsewhere"))
        if item.get_closest_marker("one_engine") and len(addresses.metrics) > 1:
            item.add_marker(pytest.mark.skip(reason="each of several workers keeps grammars and prompts"))


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The whole server on the real engine, on a port of this machine."""

    context: Context
    base_url: str
    """Ends in `/v1`, as an SDK wants it."""
    sdk: AsyncOpenAI
    http: httpx2.AsyncClient

    async def chat(self, **body: Any) -> dict[str, Any]:
        """The body of a good answer."""
        response = await self.http.post("/v1/chat/completions", json={"model": MODEL, **body})
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def stream(self, **body: Any) -> dict[str, Any]:
        """A streamed answer, folded by the official SDK's own accumulator."""
        state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
        chunks = await self.sdk.chat.completions.create(
            model=MODEL, stream=True, stream_options={"include_usage": True}, **body
        )
        async for chunk in chunks:
            assert isinstance(chunk, ChatCompletionChunk)
            state.handle_chunk(chunk)
        return state.current_completion_snapshot.model_dump()

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        families = text_string_to_metric_families(self.context.metrics.render().decode())
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


@pytest_asyncio.fixture(scope="session", name="server")
async def _server(running: RunningEngine) -> AsyncIterator[RunningServer]:
    vocabulary = Vocabulary.load(str(running.model))
    context = Context(
        settings=Settings(),
        engine=running.engine,
        vocabulary=vocabulary,
        template=choose_template(vocabulary.chat_template, HERMES),
        family=as_trained(HERMES, vocabulary.chat_template),
        markers=marker_tokens(HERMES, vocabulary),
        planner=SchemaPlanner(),
        deadline=compile_deadline(vocabulary, SchemaPlanner(), seconds=10),
        metrics=running.metrics,
        admission=admission_of(Settings(), running.metrics),
        model_names=(MODEL,),
        created=1,
        responses=open_store(Settings()),
    )
    # The fixtures close the engine and the deadline, and not the application.
    config = uvicorn.Config(create_app(context), lifespan="off", log_level="warning", ws="none")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        uvicorn_server = uvicorn.Server(config)
        serving = asyncio.create_task(uvicorn_server.serve(sockets=[listener]))
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with (
            httpx2.AsyncClient(base_url=origin, timeout=300) as http,
            AsyncOpenAI(base_url=f"{origin}/v1", api_key="none", timeout=300, max_retries=0) as sdk,
        ):
            yield RunningServer(context, f"{origin}/v1", sdk, http)
        uvicorn_server.should_exit = True
        await serving
    context.deadline.close()


@pytest.fixture(scope="session", name="base_url")
def _base_url(server: RunningServer) -> str:
    return server.base_url
