"""A whole server whose engine is scripted: the real path, from HTTP to events, without a model.

async with serving(vocabulary, ["Hello."]) as server:
    reply = await server.chat(messages=[…])
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from openai import AsyncOpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from parsers.families.hermes import HERMES
from parsers.family import Family
from server.app import create_app
from server.config.settings import Settings
from server.context import Context
from server.engine.protocol import Finish
from server.engine.scripted import Asked, Script, ScriptedEngine, Scripts
from server.limits.admission import admission_of
from server.mask.compiling import compile_deadline
from server.prompt.template import ChatTemplate, choose_template
from server.schema.deadline import CompileDeadline
from server.schema.plan import SchemaPlanner
from server.store.open import open_store
from server.telemetry.metrics import Metrics
from server.telemetry.tracing import Tracing
from server.tokens.markers import marker_tokens
from server.tokens.vocabulary import Vocabulary
from tests.server.shell import client_of

MODEL = "smol"
QUESTION = [{"role": "user", "content": "Hi"}]


def script(vocabulary: Vocabulary, text: str, *, finish: Finish = Finish.STOP, size: int = 1) -> Script:
    """The tokens of `text`, `size` a step, and the model's end token behind them if it stops by itself."""
    ids = [*vocabulary.encode(text), *([min(vocabulary.end_ids)] if finish is Finish.STOP else [])]
    return Script([ids[at : at + size] for at in range(0, len(ids), size)], finish)


def call(name: str, arguments: Any) -> str:
    """A call as the Hermes family writes it."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


def tool(name: str, parameters: Any = None, *, strict: bool = False) -> dict[str, Any]:
    """A tool definition as a client writes it."""
    function = {"name": name, "parameters": parameters or {"type": "object", "properties": {}}}
    return {"type": "function", "function": {**function, "strict": strict}}


def always(vocabulary: Vocabulary, text: str, **options: Any) -> Callable[[Asked], Script]:
    """A model that writes the same to whatever it is asked; `options` are those of `script`."""
    return lambda _: script(vocabulary, text, **options)


@dataclass(frozen=True, slots=True)
class Told:
    """What a client was told of one choice. `calls` are pairs of a name and the text of its arguments."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    logprobs: tuple[tuple[str, float], ...] | None = None


def told(answer: dict[str, Any]) -> list[Told]:
    """The choices of an answer, ids aside."""
    return [
        Told(
            choice["message"]["content"] or "",
            choice["message"].get("reasoning_content", ""),
            tuple(
                (each["function"]["name"], each["function"]["arguments"])
                for each in choice["message"].get("tool_calls") or ()
            ),
            choice["finish_reason"],
            choice["logprobs"]
            and tuple((each["token"], each["logprob"]) for each in choice["logprobs"]["content"]),
        )
        for choice in answer["choices"]
    ]


def chunks_of(response: httpx2.Response) -> list[dict[str, Any]]:
    """The events of a stream, which must be complete; an error may be the last."""
    return chunks(response.text)


def chunks(text: str) -> list[dict[str, Any]]:
    """The events of the text of a stream."""
    events = text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]


def fold(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer that the official SDK makes of the chunks of a stream."""
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
    return state.current_completion_snapshot.model_dump()


@dataclass(frozen=True, slots=True)
class Server:
    """A running application, and the ways to speak to it."""

    context: Context
    engine: ScriptedEngine
    http: httpx2.AsyncClient
    sdk: AsyncOpenAI

    async def post(self, **body: Any) -> httpx2.Response:
        """Send a chat request with a model and a question unless `body` has its own."""
        return await self.http.post(
            "/v1/chat/completions", json={"model": MODEL, "messages": QUESTION, **body}
        )

    async def chat(self, **body: Any) -> dict[str, Any]:
        """The body of a good answer."""
        response = await self.post(**body)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def stream(self, **body: Any) -> list[dict[str, Any]]:
        """The chunks of a streamed answer, errors included."""
        response = await self.post(stream=True, **body)
        assert response.status_code == 200, response.text
        return chunks_of(response)

    async def answers(self, **body: Any) -> list[Told]:
        """The choices of the answer to a request that is sent twice; it must be the same when streamed."""
        whole = told(await self.chat(**body))
        assert told(fold(await self.stream(**body))) == whole
        return whole

    def metric(self, name: str, **labels: str) -> float:
        """The value of one of our metrics."""
        series = ",".join(f'{key}="{value}"' for key, value in labels.items())
        wanted = f"{name}{{{series}}} " if series else f"{name} "
        for line in self.context.metrics.render().decode().splitlines():
            if line.startswith(wanted):
                return float(line.removeprefix(wanted))
        return 0.0


@asynccontextmanager
async def serving(
    vocabulary: Vocabulary,
    scripts: list[str] | Scripts,
    settings: Settings | None = None,
    *,
    template: str | None = None,
    family: Family = HERMES,
    deadline: CompileDeadline | None = None,
    tracing: Tracing | None = None,
) -> AsyncIterator[Server]:
    """Serve `scripts`: texts that the model writes one token a step, or scripts of the engine.

    `template` is Jinja to use in place of the chat template that the server would choose, and `family` the
    one whose calls the model writes. `deadline` is that of compiling masks, if not the settings' own.
    """
    if isinstance(scripts, list):
        scripts = [script(vocabulary, text) if isinstance(text, str) else text for text in scripts]
    # What a mask holds does not depend on how fast this machine compiles it.
    engine, settings = ScriptedEngine(scripts), settings or Settings(compile_seconds=120)
    planner, metrics = SchemaPlanner(limits=settings.schema_limits), Metrics(families=(family.name,))
    context = Context(
        settings=settings,
        engine=engine,
        vocabulary=vocabulary,
        template=choose_template(vocabulary.chat_template, family)
        if template is None
        else ChatTemplate(template, origin="a test"),
        family=family,
        markers=marker_tokens(family, vocabulary),
        planner=planner,
        deadline=deadline
        or compile_deadline(
            vocabulary, planner, seconds=settings.compile_seconds, spelling=family.call.style.spelling
        ),
        metrics=metrics,
        admission=admission_of(settings, metrics),
        model_names=(MODEL,),
        created=1,
        responses=open_store(settings),
        tracing=tracing or Tracing(),
    )
    http = client_of(create_app(context))
    sdk = AsyncOpenAI(
        base_url="http://strictcall.test/v1",
        api_key="x",
        http_client=client_of(create_app(context)),
        max_retries=0,
    )
    try:
        yield Server(context, engine, http, sdk)
    finally:
        await http.aclose()
        await sdk.close()
        context.metrics.close()
        context.deadline.close()
