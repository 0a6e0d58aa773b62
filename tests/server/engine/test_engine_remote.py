"""Engines that are reached over HTTP: what is sent and told, and what is lost when a worker goes away."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

import pytest
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from server.app import create_app
from server.engine import remote, worker_client
from server.engine.protocol import (
    EngineDeadError,
    EngineError,
    Finish,
    MaskTooSlowError,
    Output,
    TokenLogprob,
    WorkerLostError,
)
from server.engine.remote import RemoteEngine
from server.engine.scripted import Ending, Script
from server.request import SamplingParams
from server.telemetry.labels import Loss
from server.telemetry.tracing import Tracing
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import MODEL, QUESTION, script, serving
from tests.server.shell import client_of
from tests.server.workers import SAMPLING, Worker, ask, connected, plain, tokens, until, working

ANSWER = [(5,), (6, 7), (2,)]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(worker_client, "LOOK_SECONDS", 0.05)


class OneStep(asyncio.Event):
    """A gate that lets one step through."""

    async def wait(self) -> Literal[True]:
        if not self.is_set():
            self.set()
            return True
        return await asyncio.Event().wait()


@asynccontextmanager
async def two(
    first: list[Script], second: list[Script]
) -> AsyncIterator[tuple[Worker, Worker, RemoteEngine]]:
    """Two workers, of which an idle engine asks the first."""
    async with AsyncExitStack() as stack:
        workers = [await stack.enter_async_context(working(scripts)) for scripts in (first, second)]
        engine = await stack.enter_async_context(connected(*workers))
        yield workers[0], workers[1], engine


async def test_tokens_arrive_as_the_worker_made_them() -> None:
    """The same outputs as in process; what the prefix cache paid for comes with the last."""
    async with working([Script(ANSWER, cached_tokens=16)]) as worker, connected(worker) as engine:
        outputs = await ask(engine)

    assert outputs == [Output((5,)), Output((6, 7)), Output((2,), finish=Finish.STOP, cached_tokens=16)]
    assert engine.max_model_len == 8192
    assert engine.version == "vllm 0.32.0"


async def test_the_worker_is_asked_as_the_engine_would_be() -> None:
    """Sampling, seed, biases and tag arrive, and the model's own defaults where the request has none."""
    sampling = SamplingParams(temperature=0.5, seed=2**63, logit_bias={2: -100.0}, max_tokens=9, logprobs=0)
    async with working([Script(ANSWER)]) as worker, connected(worker, top_p=0.9, temperature=1) as engine:
        await ask(engine, sampling, "{tag}")

    [asked] = worker.engine.asked
    assert asked.prompt == (1, 9)
    assert asked.sampling == replace(sampling, top_p=0.9)
    assert asked.structural_tag == "{tag}"
    assert worker.bodies[0]["model"] == "org/smol"


async def test_the_worker_is_told_the_trace_of_the_request() -> None:
    """Its spans belong to the trace that the client began; without one, nothing is said."""
    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with working([Script(ANSWER)] * 2) as worker, connected(worker) as engine:
        for headers in ({"traceparent": header}, {}):
            with Tracing().request("POST chat", Headers(headers)):
                await ask(engine)

    assert worker.traces == [header, None]


async def test_logprobs_are_those_that_the_mask_allows_best_first() -> None:
    """One more is asked for than wanted: the token itself takes the first place on the wire."""
    top = ((6, -3.0), (5, -0.1), (9, -9999.0), (8, -2.0))
    told = Script([(6,)], logprobs=[TokenLogprob(6, -3.0, top)])
    async with working([told]) as worker, connected(worker) as engine:
        [output] = await ask(engine, replace(SAMPLING, logprobs=2))

    assert output.logprobs == (TokenLogprob(6, -3.0, ((5, -0.1), (8, -2.0))),)
    assert worker.bodies[0]["sampling_params"]["logprobs"] == 3


async def test_the_budget_of_tokens_ends_the_answer() -> None:
    """The worker's `length` is the engine's."""
    async with working([Script(ANSWER)]) as worker, connected(worker) as engine:
        outputs = await ask(engine, SamplingParams(max_tokens=2))

    assert tokens(outputs) == [5, 6]
    assert outputs[-1].finish is Finish.LENGTH


async def test_closing_the_iterator_aborts_in_the_worker() -> None:
    """The stream is closed, which is how vLLM learns of it."""
    async with working([Script(ANSWER, gate=OneStep())]) as worker, connected(worker) as engine:
        async with aclosing(engine.generate("req", [1], SAMPLING, None)) as outputs:
            await anext(outputs)
            assert engine.unfinished == 1
        await until(lambda: worker.engine.asked[0].ending is Ending.CLOSED)

        assert engine.unfinished == 0


async def test_cancelling_a_request_that_waits_for_its_first_token_aborts_it() -> None:
    """Nothing has come yet, and still the worker is told."""
    async with working([Script(ANSWER, gate=asyncio.Event())]) as worker, connected(worker) as engine:
        asking = asyncio.create_task(ask(engine))
        await until(lambda: bool(worker.engine.asked))
        asking.cancel()

        await until(lambda: worker.engine.asked[0].ending is Ending.CLOSED)
        assert engine.unfinished == 0


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"says": '{"error": {"message": "Invalid tag", "code": 400}}'}, id="in-the-stream"),
        pytest.param(
            {"refuses": JSONResponse({"error": {"message": "Invalid tag", "code": 400}}, 400)},
            id="as-a-response",
        ),
    ],
)
async def test_what_a_worker_refuses_is_not_sent_again(answer: dict[str, Any]) -> None:
    """Another one would refuse it too."""
    async with working([Script(ANSWER)], **answer) as worker, connected(worker) as engine:
        with pytest.raises(EngineError, match="refused the request: Invalid tag") as caught:
            await ask(engine)

        assert not isinstance(caught.value, WorkerLostError)
        assert len(worker.bodies) == 1
        await engine.check()


async def test_a_request_whose_mask_is_too_slow_is_not_sent_again() -> None:
    """It would be too slow for every worker, and the worker is well."""
    told = {"finish_reason": "repetition", "stop_reason": "mask_too_slow", "token_ids": [5]}
    says = json.dumps({"choices": [told]})
    async with working([Script(ANSWER)], says=says) as worker, connected(worker) as engine:
        with pytest.raises(MaskTooSlowError):
            await ask(engine)

        assert len(worker.bodies) == 1
        await engine.check()


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"cuts_after": 0}, id="cut-off"),
        pytest.param({"ends_after": 0}, id="ends-without-a-word"),
        pytest.param({"refuses": plain(500)}, id="router-500"),
        pytest.param({"refuses": plain(502, "")}, id="router-502"),
        pytest.param({"refuses": plain(503)}, id="router-503"),
        pytest.param({"refuses": plain(429)}, id="router-full"),
        pytest.param({"says": '{"error": {"message": "EngineCore died", "code": 500}}'}, id="engine-died"),
        pytest.param(
            {"says": '{"choices": [{"finish_reason": "abort", "token_ids": []}]}'}, id="worker-stops"
        ),
    ],
)
async def test_a_request_that_gave_no_token_is_sent_to_another_worker(fault: dict[str, Any]) -> None:
    """Faults of one worker cost a little time, and no answer."""
    async with two([Script(ANSWER)], [Script([(8,), (2,)])]) as (first, second, engine):
        for name, value in fault.items():
            setattr(first, name, value)

        assert tokens(await ask(engine)) == [8, 2]
        assert len(first.bodies) == len(second.bodies) == 1


async def test_a_request_that_gave_tokens_ends_with_an_error_and_is_not_sent_again() -> None:
    """The client may have read them, and another answer would not go on where they end."""
    async with two([Script(ANSWER)], [Script([(8,), (2,)])]) as (first, second, engine):
        first.cuts_after = 1
        outputs = engine.generate("req", [1], SAMPLING, None)
        assert (await anext(outputs)).token_ids == (5,)

        with pytest.raises(WorkerLostError):
            await anext(outputs)
        assert second.bodies == []


async def test_a_stream_that_ends_without_a_finish_reason_is_no_answer() -> None:
    """However politely it ends: nothing is cut short in silence."""
    async with working([Script(ANSWER)], ends_after=2) as worker, connected(worker) as engine:
        with pytest.raises(WorkerLostError):
            await ask(engine)


async def test_an_answer_is_whole_once_it_has_its_finish_reason() -> None:
    """What is lost after it is only what the prefix cache paid for."""
    async with working([Script(ANSWER)], cuts_after=3) as worker, connected(worker) as engine:
        assert tokens(await ask(engine)) == [5, 6, 7, 2]


async def test_a_request_is_sent_only_so_often() -> None:
    """It may be the request that ends the workers."""
    losses: list[Loss] = []
    async with (
        working([Script(ANSWER)] * 9, cuts_after=0) as worker,
        connected(worker, losses=losses) as engine,
    ):
        with pytest.raises(WorkerLostError) as caught:
            await ask(engine)

        assert len(worker.bodies) == remote.ATTEMPTS
        assert losses == [Loss.RESENT, Loss.RESENT, Loss.FAILED]
        assert caught.value.retry_after >= 1


@pytest.mark.parametrize("data", ["{", "[]", '{"choices": 1}', '{"choices": [{}]}', '{"error": 1}', "null"])
async def test_what_is_no_event_is_an_error_of_this_request(data: str) -> None:
    """Whatever stands at the address of a worker."""
    async with working([Script(ANSWER)], says=data) as worker, connected(worker) as engine:
        with pytest.raises(EngineError):
            await ask(engine)


async def test_the_worker_with_the_fewest_requests_is_asked() -> None:
    """Two requests that run at once are on two workers."""
    gate = asyncio.Event()
    held = [Script(ANSWER, gate=gate)] * 4
    async with two(held, held) as (first, second, engine):
        asking = [asyncio.create_task(ask(engine)) for _ in range(4)]
        await until(lambda: len(first.bodies) + len(second.bodies) == 4)
        gate.set()
        await asyncio.gather(*asking)

    assert len(first.bodies) == len(second.bodies) == 2


async def test_a_worker_that_was_killed_is_used_again_when_it_is_back() -> None:
    """Meanwhile the front end is not ready, and it does not end for it."""
    async with working([Script(ANSWER)]) as worker, connected(worker) as engine:
        await worker.kill()
        await until(lambda: engine._workers[0].standing is worker_client.Standing.UNKNOWN)

        with pytest.raises(WorkerLostError, match="No engine worker"):
            await engine.check()
        with pytest.raises(WorkerLostError, match="No engine worker"):
            await ask(engine)
        async with working([Script([(8,), (2,)])], port=worker.port):
            await until(lambda: engine._workers[0].standing is worker_client.Standing.UP)
            assert tokens(await ask(engine)) == [8, 2]


async def test_a_front_end_that_stops_leaves_the_worker_running() -> None:
    """Only its own requests end."""
    async with working([Script(ANSWER, gate=asyncio.Event()), Script(ANSWER)]) as worker:
        async with connected(worker) as engine:
            asking = asyncio.create_task(ask(engine))
            await until(lambda: bool(worker.bodies))
        with pytest.raises(EngineError):
            await asking
        with pytest.raises(EngineDeadError):
            await engine.check()
        async with connected(worker) as another:
            assert tokens(await ask(another)) == [5, 6, 7, 2]


@asynccontextmanager
async def front_end(vocabulary: Vocabulary, engine: RemoteEngine) -> AsyncIterator[Callable[..., Any]]:
    """A whole server in front of the engine; gives what posts a chat request."""
    async with serving(vocabulary, []) as server:
        http = client_of(create_app(replace(server.context, engine=engine)))
        async with http:

            async def post(**body: Any) -> Any:
                path = "/v1/chat/completions"
                return await http.post(path, json={"model": MODEL, "messages": QUESTION, **body})

            yield post


@asynccontextmanager
async def fronted(
    vocabulary: Vocabulary, written: Script
) -> AsyncIterator[tuple[Worker, Callable[..., Any]]]:
    """The same, with a worker that always writes the same."""
    async with (
        working(lambda _: written) as worker,
        connected(worker) as engine,
        front_end(vocabulary, engine) as post,
    ):
        yield worker, post


async def test_a_client_is_told_of_a_worker_that_was_lost(vocabulary: Vocabulary) -> None:
    """A stream that has begun ends with an event; where nothing was sent a 503 says when to come."""
    written = script(vocabulary, "Hello there, how are you?")
    async with fronted(vocabulary, written) as (worker, post):
        good = await post()
        worker.cuts_after = 4
        whole, streamed = await post(), await post(stream=True)
        worker.cuts_after = 0
        unbegun = await post(stream=True)

    assert good.json()["choices"][0]["message"]["content"] == "Hello there, how are you?"
    *chunks, error, done = [line.removeprefix("data: ") for line in streamed.text.split("\n\n") if line]
    assert (streamed.status_code, done) == (200, "[DONE]")
    assert json.loads(error)["error"]["code"] == "worker_lost"
    assert all(json.loads(chunk)["choices"][0]["finish_reason"] is None for chunk in chunks)
    for response in (whole, unbegun):
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "worker_lost"
        assert int(response.headers["retry-after"]) >= 1
        assert worker.url not in response.text


async def test_every_choice_has_a_request_of_its_own(vocabulary: Vocabulary) -> None:
    """Seeds differ, as in process, and usage counts them all."""
    written = replace(script(vocabulary, "Hi!"), cached_tokens=4)
    async with fronted(vocabulary, written) as (worker, post):
        answer = (await post(n=3, seed=5)).json()

    assert [each["message"]["content"] for each in answer["choices"]] == ["Hi!"] * 3
    assert len({body["sampling_params"]["seed"] for body in worker.bodies}) == 3
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 4
