"""The vLLM adapter, on the real engine with the default model."""

import asyncio
import contextlib
import json
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.engine.protocol import EngineDeadError, EngineError, Finish, Output
from server.engine.vllm import VllmEngine
from server.request import SamplingParams
from tests.engine.conftest import DRAFTS, RunningEngine

pytestmark = pytest.mark.engine

GREEDY = SamplingParams(temperature=0, max_tokens=40)
END = 2
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Paris", "Rome"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}


def call_tag(schema: object) -> str:
    """Return a structural tag that forces one call of `weather` with arguments in `schema`."""
    call = {
        "begin": '<tool_call>\n{"name": "weather", "arguments": ',
        "content": {"type": "json_schema", "json_schema": schema},
        "end": "}\n</tool_call>",
    }
    form = {
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": [call],
        "at_least_one": True,
        "stop_after_first": True,
    }
    return json.dumps({"type": "structural_tag", "format": form})


async def collect(
    running: RunningEngine,
    prompt: Sequence[int] | str,
    sampling: SamplingParams = GREEDY,
    tag: str | None = None,
    request_id: str = "test",
) -> list[Output]:
    ids = running.prompt(prompt) if isinstance(prompt, str) else prompt
    return [output async for output in running.engine.generate(request_id, ids, sampling, tag)]


def token_ids(outputs: Sequence[Output]) -> list[int]:
    return [token_id for output in outputs for token_id in output.token_ids]


def metric(running: RunningEngine, name: str, **labels: str) -> float:
    """Return the sum of the samples `name` that have these labels, or fail if there is none."""
    values = [
        sample.value
        for family in text_string_to_metric_families(running.metrics.render().decode())
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    assert values, f"{name} is not rendered"
    return sum(values)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds. It fails long before an endless answer would be at its end."""
    for _ in range(1500):
        if condition():
            return
        await asyncio.sleep(0.02)
    pytest.fail("this did not come true within half a minute")


def is_idle(running: RunningEngine) -> bool:
    """Return whether vLLM itself counts no request."""
    return metric(running, "vllm:num_requests_running") + metric(running, "vllm:num_requests_waiting") == 0


async def test_greedy_is_repeatable_and_ends_with_the_end_token(running: RunningEngine) -> None:
    """At temperature 0 the same prompt gives the same tokens, and the end token is among them."""
    first, second = [await collect(running, "What is the capital of France?") for _ in range(2)]

    assert token_ids(first) == token_ids(second)
    assert token_ids(first)[-1] == END
    assert [output.finish for output in first[-2:]] == [None, Finish.STOP]
    assert "Paris" in running.tokenizer.decode(token_ids(first))


async def test_the_token_budget_ends_the_answer(running: RunningEngine) -> None:
    """With `max_tokens` used up the finish is `length`, and not one token more comes."""
    outputs = await collect(running, "Tell me a story.", SamplingParams(temperature=0, max_tokens=5))

    assert len(token_ids(outputs)) == 5
    assert outputs[-1].finish is Finish.LENGTH


STEP_METRICS = (
    "vllm:iteration_tokens_total_count",
    "vllm:inter_token_latency_seconds_count",
    "vllm:generation_tokens_total",
)


async def test_tokens_come_together_where_that_is_asked(running: RunningEngine) -> None:
    """The first one at once, and with the end what is left: the same tokens in a tenth of the outputs."""
    asked = SamplingParams(temperature=0, max_tokens=40)
    single = await collect(running, "Tell me a story.", asked)
    before = [metric(running, name) for name in STEP_METRICS]
    gathered = await collect(running, "Tell me a story.", replace(asked, stream_interval=16))
    counted = [metric(running, name) - count for name, count in zip(STEP_METRICS, before, strict=True)]

    assert token_ids(gathered) == token_ids(single)
    assert [len(output.token_ids) for output in gathered] == [1, 16, 16, 7]
    assert [output.finish for output in gathered] == [None, None, None, Finish.LENGTH]
    assert counted == [40, 39, 40], "vLLM counts single steps all the same"


@pytest.mark.parametrize("seed", range(5))
async def test_the_structural_tag_holds_at_high_temperature(running: RunningEngine, seed: int) -> None:
    """However wild the sampling, a call that ends is the tag's call, with arguments in the schema."""
    sampling = SamplingParams(temperature=1.5, seed=seed, max_tokens=300)
    outputs = await collect(running, "Weather in Rome?", sampling, call_tag(WEATHER))
    text = running.tokenizer.decode(token_ids(outputs), skip_special_tokens=True)

    assert text.startswith('<tool_call>\n{"name": "weather", "arguments": ')
    if outputs[-1].finish is Finish.STOP:  # or it wrote white space until its budget ended: this tag lets it
        call = json.loads(text.removeprefix("<tool_call>").removesuffix("</tool_call>"))
        assert call["arguments"]["city"] in ("Paris", "Rome")
        assert 1 <= call["arguments"]["days"] <= 9


@pytest.mark.one_engine
async def test_a_seed_is_repeatable_and_another_differs(running: RunningEngine) -> None:
    """The same seed gives the same tokens whether the prompt is read or taken from the prefix cache."""
    # A name of its own, as a worker may have the same prompt from another run.
    prompt = running.prompt(f"Write about the sea {uuid.uuid4()}. " + "Waves and wind. " * 60)
    answers = [
        await collect(running, prompt, SamplingParams(temperature=1, seed=seed, max_tokens=30))
        for seed in (7, 7, 8)
    ]

    assert token_ids(answers[0]) == token_ids(answers[1])
    assert token_ids(answers[0]) != token_ids(answers[2])
    assert [answer[-1].cached_tokens > 0 for answer in answers] == [False, True, True]


@pytest.mark.one_engine
async def test_a_masked_prompt_from_the_cache_is_answered_alike(running: RunningEngine) -> None:
    """Mask and prefix cache work together, as often as they meet (B256)."""
    prompt = running.prompt(f"Write about the hills {uuid.uuid4()}. " + "Grass and stones. " * 60)
    sampling = SamplingParams(temperature=0, max_tokens=30)
    answers = [await collect(running, prompt, sampling, call_tag(WEATHER)) for _ in range(3)]

    assert token_ids(answers[0]) == token_ids(answers[1]) == token_ids(answers[2])
    assert [answer[-1].cached_tokens > 0 for answer in answers] == [False, True, True]


async def test_a_seed_with_a_prompt_of_several_chunks_leaves_the_engine_alive(running: RunningEngine) -> None:
    """A prompt longer than one step is read in chunks, which vLLM's own CPU worker does not survive."""
    prompt = running.prompt("Write about the sea. " + "Waves and wind. " * 530)
    sampling = SamplingParams(temperature=1, seed=7, max_tokens=8)
    answers = [token_ids(await collect(running, prompt, sampling)) for _ in range(3)]

    assert len(prompt) > 2048
    assert len(answers[0]) > 0
    assert answers[1] == answers[2]
    await running.engine.check()


async def test_closing_the_stream_frees_the_engine(running: RunningEngine) -> None:
    """A consumer that leaves early stops the generation, which would go on for minutes."""
    endless = SamplingParams(max_tokens=4000, logit_bias={END: -100})
    stream = running.engine.generate("left", running.prompt("Tell me a story."), endless, None)
    async with contextlib.aclosing(stream):
        await anext(stream)
        await anext(stream)
        assert metric(running, "vllm:num_requests_running") == 1

    await until(lambda: is_idle(running))


async def test_two_hundred_cancelled_streams_leave_nothing_behind(running: RunningEngine) -> None:
    """Cancelled consumers, those still waiting for their turn included, are forgotten by vLLM and by us."""
    endless = SamplingParams(max_tokens=4000, logit_bias={END: -100})
    tasks = [
        asyncio.create_task(collect(running, f"Tell me story {i}.", endless, request_id=f"many-{i}"))
        for i in range(200)
    ]
    await until(lambda: metric(running, "vllm:num_requests_waiting") > 0)
    for task in tasks:
        task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)

    assert {type(end) for end in ends} == {asyncio.CancelledError}
    await until(lambda: is_idle(running))
    assert running.engine.unfinished == 0


@pytest.mark.parametrize(
    ("sampling", "tag", "message"),
    [
        pytest.param(GREEDY, "{", "structural tag", id="tag-is-no-json"),
        pytest.param(
            GREEDY, '{"type": "structural_tag", "format": {"type": "x"}}', "structural tag", id="bad-tag"
        ),
        pytest.param(GREEDY, call_tag({"type": "x"}), "structural tag", id="bad-schema"),
        pytest.param(
            SamplingParams(max_tokens=5, logit_bias={49152: 1}), None, "logit_bias", id="no-such-token"
        ),
        pytest.param(
            SamplingParams(max_tokens=5, seed=2**70),
            None,
            "serialize",
            id="seed-too-large",
            marks=pytest.mark.one_engine,  # a router may make another number of it, which is refused as well
        ),
        pytest.param(SamplingParams(max_tokens=5, temperature=3), None, "temperature", id="too-hot"),
    ],
)
async def test_what_the_engine_refuses_harms_no_other_request(
    running: RunningEngine, sampling: SamplingParams, tag: str | None, message: str
) -> None:
    """A refused request is an `EngineError` with the reason, and the engine goes on (B233)."""
    with pytest.raises(EngineError, match=message) as caught:
        await collect(running, "Hi", sampling, tag)

    assert not isinstance(caught.value, EngineDeadError)
    assert running.engine.unfinished == 0
    assert token_ids(await collect(running, "Hi"))


async def test_a_token_outside_the_vocabulary_is_refused(running: RunningEngine) -> None:
    """Ids that the model does not have never reach it (B260)."""
    with pytest.raises(EngineError, match="Token id 60000 is out of vocabulary"):
        await collect(running, [1, 60000])


async def test_logprobs_are_those_of_the_masked_distribution(running: RunningEngine) -> None:
    """Each token has its logprob and its rivals, best first; where the mask leaves one, it is certain."""
    sampling = SamplingParams(temperature=0, max_tokens=20, logprobs=3)
    outputs = await collect(running, "Weather in Rome?", sampling, call_tag(WEATHER))
    logprobs = [logprob for output in outputs for logprob in output.logprobs]

    assert [logprob.token_id for logprob in logprobs] == token_ids(outputs)
    assert logprobs[0].top[0] == (logprobs[0].token_id, logprobs[0].logprob)
    assert {len(logprob.top) for logprob in logprobs} <= {1, 2, 3}
    assert any(logprob.top == ((logprob.token_id, 0.0),) for logprob in logprobs)
    for logprob in logprobs:
        values = [value for _, value in logprob.top]
        assert values == sorted(values, reverse=True)


async def test_logprobs_without_alternatives(running: RunningEngine) -> None:
    """`logprobs: 0` is the token alone, and none asked for are none given."""
    alone = await collect(running, "Hi", SamplingParams(temperature=0, max_tokens=3, logprobs=0))
    silent = await collect(running, "Hi", SamplingParams(temperature=0, max_tokens=3))

    assert [logprob.top for output in alone for logprob in output.logprobs] == [(), (), ()]
    assert [output.logprobs for output in silent] == [()] * len(silent)


async def test_a_bias_steers_the_choice(running: RunningEngine) -> None:
    """A large bias on the end token ends the answer at once."""
    outputs = await collect(running, "Hi", SamplingParams(temperature=0, max_tokens=9, logit_bias={END: 100}))

    assert token_ids(outputs) == [END]


@pytest.mark.one_engine
async def test_masks_and_grammars_are_counted_in_the_engine_process(running: RunningEngine) -> None:
    """A grammar is a miss once and a hit afterwards, and each masked step is timed.

    A step has a mask for the token that it writes, and one for each draft. An accepted draft saves a step.
    """
    tag = call_tag({"type": "object", "properties": {"only_here": {"type": "boolean"}}})
    names = {
        "miss": ("strictcall_grammar_cache_total", {"result": "miss"}),
        "hit": ("strictcall_grammar_cache_total", {"result": "hit"}),
        "compiled": ("strictcall_grammar_compile_seconds_count", {}),
        "steps": ("strictcall_mask_fill_seconds_count", {}),
        "rows": ("strictcall_mask_rows_total", {}),
        "drafted": ("strictcall_forced_tokens_drafted_total", {}),
        "accepted": ("strictcall_forced_tokens_accepted_total", {}),
    }
    before = {key: metric(running, name, **labels) for key, (name, labels) in names.items()}
    tokens = sum([len(token_ids(await collect(running, "Hi", GREEDY, tag))) for _ in range(2)])
    grown = {key: metric(running, name, **labels) - before[key] for key, (name, labels) in names.items()}

    assert (grown["miss"], grown["hit"], grown["compiled"]) == (1, 1, 2)
    assert (grown["drafted"] > 0) is DRAFTS
    assert grown["steps"] == tokens - grown["accepted"]
    assert grown["rows"] == grown["steps"] + grown["drafted"]


async def test_one_scrape_has_ours_vllms_and_the_processs_metrics(running: RunningEngine) -> None:
    """`/metrics` answers for all parts of the server at once."""
    assert metric(running, "vllm:generation_tokens_total") > 0
    assert metric(running, "process_resident_memory_bytes") > 0
    assert b'strictcall_tokens_total{kind="prompt"}' in running.metrics.render()


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        pytest.param("/no/such/model", {}, "/no/such/model", id="no-such-directory"),
        pytest.param(None, {"max_model_len": 10**6}, "max_model_len", id="beyond-the-models-context"),
        pytest.param(None, {"no_such_option": 1}, "no_such_option", id="no-such-option"),
    ],
)
async def test_an_engine_that_cannot_start_says_why(
    running: RunningEngine, model: str | None, options: dict[str, int], reason: str
) -> None:
    """The error names the model and the cause, and no process is left behind."""
    with pytest.raises(EngineError, match=rf"could not start with the model .*{reason}"):
        await VllmEngine.start(model or str(running.model), options=options)


async def test_the_engine_says_what_it_is(running: RunningEngine) -> None:
    """Version and context length are those of what runs."""
    assert re.fullmatch(r"vllm \d+\.\d+\.\d+\S*", running.engine.version)
    assert running.engine.max_model_len == 8192
    await running.engine.check()
