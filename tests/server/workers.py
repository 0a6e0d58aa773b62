"""A worker that speaks vLLM's token-in/token-out API over real HTTP, on the scripted engine.

async with working([Script([(5,), (2,)])]) as worker:
    engine = await RemoteEngine.connect([worker.url], identity())
"""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from server.engine.protocol import EngineError, Output, TokenLogprob
from server.engine.remote import Identity, RemoteEngine
from server.engine.scripted import ScriptedEngine, Scripts
from server.engine.worker_client import Standing, Wanted
from server.request import SamplingParams
from server.telemetry.labels import Loss

NAME = "org/smol"
VOCABULARY = 49152
SAMPLING = SamplingParams(max_tokens=9)


def identity(**defaults: Any) -> Identity:
    return Identity(Wanted((NAME,), VOCABULARY), defaults)


@dataclass(slots=True)
class Worker:
    """One worker. Its faults are set by a test, and hold for every request from then on."""

    engine: ScriptedEngine
    port: int
    name: str = NAME
    vocabulary: int = VOCABULARY
    key: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """What was asked, trials aside."""
    traces: list[str | None] = field(default_factory=list)
    """The trace that each of them was said to belong to."""
    refuses: Response | None = None
    """What every request is answered with."""
    cuts_after: int | None = None
    """After so many events the connection is cut."""
    ends_after: int | None = None
    """After so many events the stream ends as if it were complete."""
    says: str = ""
    """The data of an event in place of the first one."""
    answers: asyncio.Event | None = None
    """If there is one, health is told when it is set."""
    misses_one: bool = False
    """Whether it plays a router that has lost one of several workers."""
    card: Any = None
    """What is told of the models, if it is not the truth."""
    server: uvicorn.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def kill(self) -> None:
        """End as a process that is killed: every connection breaks, and none is taken any more."""
        assert self.server is not None
        for listening in self.server.servers:
            listening.close()
        for connection in list(self.server.server_state.connections):
            connection.transport.abort()
        self.server.should_exit = self.server.force_exit = True

    async def models(self, request: Request) -> Response:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return JSONResponse({"error": "Unauthorized"}, 401)
        if self.card is not None:
            return JSONResponse(self.card)
        card = {"id": self.name, "root": f"/models/{self.name}", "max_model_len": self.engine.max_model_len}
        return JSONResponse({"data": [card]})

    async def version(self, request: Request) -> Response:
        return JSONResponse({"version": "0.32.0"})

    async def health(self, request: Request) -> Response:
        if self.answers is not None:
            await self.answers.wait()
        return Response(status_code=503 if self.misses_one else 200)

    async def readiness(self, request: Request) -> Response:
        return Response(status_code=200 if self.misses_one else 404)

    async def generate(self, request: Request) -> Response:
        body = await request.json()
        trial = body["request_id"] == "trial"
        if not trial:
            self.bodies.append(body)
            self.traces.append(request.headers.get("traceparent"))
            if self.refuses is not None:
                return self.refuses
        return StreamingResponse(self.events(body, trial=trial), media_type="text/event-stream")

    async def events(self, body: dict[str, Any], *, trial: bool) -> AsyncGenerator[str, None]:
        if max(body["token_ids"]) >= self.vocabulary:
            yield sse({"error": {"message": "Token id is out of vocabulary", "code": 400}})
        elif trial:
            yield sse({"choices": [{"index": 0, "finish_reason": "length", "token_ids": [1]}]})
        else:
            async with aclosing(self.answer(body)) as events:
                sent = 0
                async for event in events:
                    if sent == self.cuts_after:
                        raise ConnectionAbortedError
                    if sent == self.ends_after:
                        break
                    yield f"data: {self.says}\n\n" if self.says and not sent else event
                    sent += 1
        yield "data: [DONE]\n\n"

    async def answer(self, body: dict[str, Any]) -> AsyncGenerator[str, None]:
        cached = 0
        try:
            async with aclosing(self.outputs(body)) as outputs:
                async for output in outputs:
                    cached = output.cached_tokens
                    yield sse({"choices": [choice(output)]})
        except EngineError as error:
            yield sse({"error": {"message": str(error), "code": 500}})
            return
        yield sse({"choices": [], "usage": {"prompt_tokens_details": {"cached_tokens": cached}}})

    def outputs(self, body: dict[str, Any]) -> AsyncGenerator[Output, None]:
        asked = {**body["sampling_params"]}
        tag = asked.pop("structured_outputs", {}).get("structural_tag")
        biases = {int(token): bias for token, bias in asked.pop("logit_bias", {}).items()}
        del asked["detokenize"], asked["skip_special_tokens"]
        sampling = SamplingParams(**asked, logit_bias=biases)
        return self.engine.generate(body["request_id"], body["token_ids"], sampling, tag)


def sse(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def choice(output: Output) -> dict[str, Any]:
    return {
        "index": 0,
        "finish_reason": output.finish and output.finish.value,
        "token_ids": output.token_ids,
        "logprobs": {"content": [logprob(each) for each in output.logprobs]} if output.logprobs else None,
    }


def logprob(told: TokenLogprob) -> dict[str, Any]:
    """The drawn token stands first among the alternatives, as vLLM has it."""
    top = [{"token_id": token, "logprob": value} for token, value in told.top]
    return {"token_id": told.token_id, "logprob": told.logprob, "top_logprobs": top}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@asynccontextmanager
async def working(
    scripts: Scripts = (), *, max_model_len: int = 8192, port: int | None = None, **more: Any
) -> AsyncIterator[Worker]:
    """Run a worker on a port of this machine; `more` are its fields."""
    engine = ScriptedEngine(scripts, max_model_len=max_model_len)
    worker = Worker(engine, port or free_port(), **more)
    app = Starlette(
        routes=[
            Route("/health", worker.health),
            Route("/readiness", worker.readiness),
            Route("/v1/models", worker.models),
            Route("/version", worker.version),
            Route("/inference/v1/generate", worker.generate, methods=["POST"]),
        ]
    )
    config = uvicorn.Config(app, port=worker.port, lifespan="off", log_level="critical", ws="none")
    worker.server = uvicorn.Server(config)
    serving = asyncio.create_task(worker.server.serve())
    while not worker.server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield worker
    finally:
        await worker.kill()
        await serving


async def connect_to(
    urls: list[str], *, api_key: str | None = None, losses: list[Loss] | None = None, **defaults: Any
) -> RemoteEngine:
    """Connect, and hand what is lost to `losses`."""
    counted = ([] if losses is None else losses).append
    return await RemoteEngine.connect(urls, identity(**defaults), api_key=api_key, counted=counted)


@asynccontextmanager
async def connected(
    *workers: Worker, losses: list[Loss] | None = None, **defaults: Any
) -> AsyncIterator[RemoteEngine]:
    """An engine that knows all of the workers; what it loses goes to `losses`."""
    engine = await connect_to([worker.url for worker in workers], losses=losses, **defaults)
    try:
        await until(lambda: all(each.standing is Standing.UP for each in engine._workers))
        yield engine
    finally:
        await engine.close()


async def ask(
    engine: RemoteEngine, sampling: SamplingParams = SAMPLING, tag: str | None = None
) -> list[Output]:
    return [output async for output in engine.generate("req-1-0", [1, 9], sampling, tag)]


def tokens(outputs: list[Output]) -> list[int]:
    return [token for output in outputs for token in output.token_ids]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - what is awaited has no event
            await asyncio.sleep(0.01)


def plain(status: int, text: str = "no healthy worker") -> Response:
    """What a router answers."""
    return PlainTextResponse(text, status)
