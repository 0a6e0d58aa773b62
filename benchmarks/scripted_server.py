"""The whole server on an engine that replays texts, in a process of its own: for what the front end costs.

    with scripted_server(TEXTS) as server:
        server.origin                      # http://127.0.0.1:43121
        server.body("prose", stream=True)  # a request that gets this text
        server.process.cpu_times()

The engine gives one token a step, and its steps take turns, as an engine's do that serves many.
"""

import asyncio
import multiprocessing
import socket
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import uvicorn

from parsers.families.hermes import HERMES
from parsers.family import write_call
from server.app import create_app
from server.config.settings import Settings, default_cache
from server.context import Context
from server.engine.memory import set_heap_aside
from server.engine.protocol import Output
from server.engine.scripted import Asked, Script, ScriptedEngine
from server.limits.admission import admission_of
from server.mask.compiling import compile_deadline
from server.prompt.template import choose_template
from server.request import SamplingParams
from server.schema.plan import SchemaPlanner
from server.startup.default_model import prepare
from server.telemetry.metrics import Metrics
from server.tokens.markers import marker_tokens
from server.tokens.vocabulary import Vocabulary

MODEL = "scripted"
CONTEXT_TOKENS = 4_000_000
"""Longer than any answer here."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a request of one name gets. `call` says that it is one of the tool `write`."""

    text: str
    call: bool = False

    @classmethod
    def prose(cls, text: str) -> "Text":
        return cls(text)

    @classmethod
    def write(cls, text: str) -> "Text":
        """A call with this argument."""
        return cls(write_call(HERMES, "write", {"text": text}), call=True)


def tool(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}


TEXT = {"type": "string"}
WRITE = tool("write", {"type": "object", "properties": {"text": TEXT}, "required": ["text"]})
"""Its mask holds all of it: calls are told as they are written."""

SETS = {"type": "array", "items": TEXT, "uniqueItems": True}
CHECKED = tool("write", {"type": "object", "properties": {"text": TEXT, "tags": SETS}, "required": ["text"]})
"""No mask holds it wholly: calls are held until they are complete and checked."""


PACE = 1000
"""A seed is the number of a text, and this many times the milliseconds that a step takes."""


class TakingTurns(ScriptedEngine):
    """Lets others run before each step, and takes the time for it that the request's seed asks for."""

    async def generate(
        self, request_id: str, prompt: Sequence[int], sampling: SamplingParams, structural_tag: str | None
    ) -> AsyncGenerator[Output, None]:
        """Replay the next script; see `ScriptedEngine.generate`."""
        seconds = (sampling.seed or 0) // PACE / 1000
        async with aclosing(super().generate(request_id, prompt, sampling, structural_tag)) as outputs:
            async for output in outputs:
                self.asked.clear()  # what it remembers for tests would look like a leak
                await asyncio.sleep(seconds)
                yield output


@dataclass(frozen=True, slots=True)
class ScriptedServer:
    """A running server. `tokens` are those of each text."""

    origin: str
    process: psutil.Process
    texts: Mapping[str, Text]
    tokens: Mapping[str, int]

    def body(self, name: str, *, step_ms: int = 0, **more: Any) -> dict[str, Any]:
        """A request that gets the text of this name, a token in each step; `more` goes into the body."""
        # The seed says which text is asked for; it is the only number that passes through the API unread.
        seed = list(self.texts).index(name) + PACE * step_ms
        call = {"tools": [WRITE], "tool_choice": "required"} if self.texts[name].call else {}
        messages = [{"role": "user", "content": "Go on."}]
        return {"model": MODEL, "messages": messages, "seed": seed, **call, **more}

    def cpu_seconds(self) -> float:
        """What its threads have used: in nanoseconds where the kernel tells, or in ticks of 10 ms."""
        try:
            tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
        except (OSError, LookupError):
            return float(sum(self.process.cpu_times()[:2]))

    def memory(self) -> int:
        """Bytes that the process has in memory and shares with no other."""
        return int(self.process.memory_full_info().uss)


@contextmanager
def scripted_server(texts: Mapping[str, Text], **uvicorn_options: Any) -> Iterator[ScriptedServer]:
    """Run a server that answers with `texts` until the block ends."""
    spawning = multiprocessing.get_context("spawn")
    ready, telling = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_serve, args=(telling, dict(texts), uvicorn_options), daemon=True)
    process.start()
    try:
        port, tokens = ready.recv()
        yield ScriptedServer(f"http://127.0.0.1:{port}", psutil.Process(process.pid), texts, tokens)
    finally:
        process.terminate()
        process.join()


def _serve(ready: Connection, texts: Mapping[str, Text], options: Mapping[str, Any]) -> None:
    vocabulary = Vocabulary.load(str(prepare(default_cache() / "models", print)))
    scripts = [_script(vocabulary, each.text) for each in texts.values()]

    def script_for(asked: Asked) -> Script:
        return scripts[(asked.sampling.seed or 0) % PACE]

    settings, metrics = Settings(), Metrics()
    planner = SchemaPlanner(limits=settings.schema_limits)
    engine = TakingTurns(script_for, max_model_len=CONTEXT_TOKENS)
    context = Context(
        settings=settings,
        engine=engine,
        vocabulary=vocabulary,
        template=choose_template(vocabulary.chat_template, HERMES),
        family=HERMES,
        markers=marker_tokens(HERMES, vocabulary),
        planner=planner,
        metrics=metrics,
        admission=admission_of(settings, metrics),
        deadline=compile_deadline(vocabulary, planner, seconds=settings.compile_seconds),
        model_names=(MODEL,),
        created=1,
    )
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        tokens = {name: sum(map(len, script.deltas)) for name, script in zip(texts, scripts, strict=True)}
        ready.send((listener.getsockname()[1], tokens))
        set_heap_aside()
        config = uvicorn.Config(create_app(context), log_level="warning", backlog=2048, **options)
        uvicorn.Server(config).run([listener])


def _script(vocabulary: Vocabulary, text: str) -> Script:
    """One token a step, as an engine gives them."""
    return Script([(token_id,) for token_id in (*vocabulary.encode(text), min(vocabulary.end_ids))])
