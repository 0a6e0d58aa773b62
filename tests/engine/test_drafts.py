"""Forced tokens on the real engine: fewer steps, and nothing else that a client could tell."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.engine.protocol import Finish, Output
from server.request import SamplingParams
from server.schema.plan import SchemaPlanner
from tests.engine.conftest import DRAFTS, RunningEngine, RunningServer

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not DRAFTS, reason="the engine does not draft with STRICTCALL_TEST_UNDRAFTED"),
]

CALLS = json.loads(Path(__file__).parents[2].joinpath("benchmarks/calls.json").read_text(encoding="utf-8"))
GREEDY = SamplingParams(temperature=0, max_tokens=120)
UNDRAFTED = replace(GREEDY, logit_bias={0: -1})
"""The same, without drafts: a request with a bias has none, and no mask here allows this token."""

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "article": {"enum": ["lamp", "chair", "table"]},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 99},
        "gift_wrap": {"type": "boolean"},
    },
    "required": ["article", "quantity", "gift_wrap"],
    "additionalProperties": False,
}
LONG = {"const": "All work and no play makes a long constant. " * 8}


def masked(schema: dict[str, Any]) -> str:
    plan = SchemaPlanner().plan(schema, closed=True)
    return json.dumps({"type": "structural_tag", "format": plan.format})


async def collect(
    running: RunningEngine, sampling: SamplingParams, tag: str | None, request_id: str = "draft"
) -> list[Output]:
    prompt = running.prompt("Order two lamps, as a gift.")
    return [output async for output in running.engine.generate(request_id, prompt, sampling, tag)]


def token_ids(outputs: list[Output]) -> list[int]:
    return [token for output in outputs for token in output.token_ids]


def counts(server: RunningServer) -> dict[str, float]:
    names = {
        "steps": "strictcall_mask_fill_seconds_count",
        "rows": "strictcall_mask_rows_total",
        "drafted": "strictcall_forced_tokens_drafted_total",
        "accepted": "strictcall_forced_tokens_accepted_total",
        "plans": "strictcall_forced_token_plan_seconds_count",
    }
    return {key: server.metric(name) for key, name in names.items()}


def grown(server: RunningServer, before: dict[str, float]) -> dict[str, float]:
    return {key: value - before[key] for key, value in counts(server).items()}


async def test_a_call_needs_less_than_half_a_step_for_each_token(server: RunningServer) -> None:
    """Ten tools, named and required in turn: the bound is that of `benchmarks/forced_tokens.py`."""
    before, tokens = counts(server), 0
    for at, (name, texts) in enumerate(CALLS["prompts"].items()):
        named = {"type": "function", "function": {"name": name}}
        answer = await server.chat(
            messages=[{"role": "user", "content": texts[0]}],
            tools=CALLS["tools"],
            tool_choice=named if at % 2 else "required",
            parallel_tool_calls=False,
            temperature=0,
            max_tokens=200,
        )
        tokens += answer["usage"]["completion_tokens"]
    figures = grown(server, before)

    assert figures["steps"] <= 0.45 * tokens
    assert figures["drafted"] > 0
    assert figures["accepted"] >= 0.8 * figures["drafted"]
    assert figures["steps"] + figures["accepted"] == tokens
    assert figures["rows"] == figures["steps"] + figures["drafted"]


async def test_drafts_do_not_change_an_answer(running: RunningEngine, server: RunningServer) -> None:
    """Token by token it is the answer without drafts, with the same certainties."""
    before = counts(server)
    drafted = await collect(running, replace(GREEDY, logprobs=2), masked(ORDER))
    between = grown(server, before)
    plain = await collect(running, replace(UNDRAFTED, logprobs=2), masked(ORDER))

    assert between["drafted"] > 10
    assert grown(server, before)["drafted"] == between["drafted"]
    assert token_ids(drafted) == token_ids(plain)
    with_, without = (
        [each for output in outputs for each in output.logprobs] for outputs in (drafted, plain)
    )
    assert [each.token_id for each in with_] == token_ids(drafted)
    assert [each.logprob for each in with_] == pytest.approx([each.logprob for each in without], abs=0.2)


async def test_one_step_may_write_several_tokens(running: RunningEngine) -> None:
    """They come in one output, and each that is forced is certain."""
    outputs = await collect(running, replace(GREEDY, logprobs=0), masked(LONG))

    assert max(len(output.token_ids) for output in outputs) > 8
    assert {each.logprob for output in outputs for each in output.logprobs} == {0.0}
    assert json.loads(running.tokenizer.decode(token_ids(outputs))) == LONG["const"]
    assert outputs[-1].finish is Finish.STOP


@pytest.mark.parametrize("budget", [1, 2, 31, 32, 33, 34, 35, 50])
async def test_a_budget_that_ends_inside_a_draft_is_kept(running: RunningEngine, budget: int) -> None:
    """Not one token more, and the finish is `length`."""
    whole = token_ids(await collect(running, GREEDY, masked(LONG)))
    outputs = await collect(running, replace(GREEDY, max_tokens=budget), masked(LONG))

    assert token_ids(outputs) == whole[:budget]
    assert outputs[-1].finish is Finish.LENGTH


async def test_a_request_that_samples_has_drafts_too(running: RunningEngine, server: RunningServer) -> None:
    """However hot the sampling, what is forced is written, and most of it in one step."""
    before = counts(server)
    for at in range(4):
        sampling = SamplingParams(temperature=1.8, top_p=0.9, top_k=50, max_tokens=120)
        text = running.tokenizer.decode(
            token_ids(await collect(running, sampling, masked(ORDER), f"hot-{at}"))
        )
        assert set(json.loads(text)) == set(ORDER["properties"])
    figures = grown(server, before)

    assert figures["drafted"] > 20
    assert figures["accepted"] >= 0.8 * figures["drafted"]


PLACE = {"enum": ["/srv/data/orders", "none", "unknown"]}
"""A mask that forces a quote, which the model may join with the slash."""


async def test_a_draft_that_the_model_would_not_write_is_replaced(
    running: RunningEngine, server: RunningServer
) -> None:
    """The answer is that without drafts, and no sequence of its tokens is out of the model's reach."""
    schema = {"type": "object", "properties": {"path": PLACE}, "required": ["path"]}
    question = 'Orders are in /srv/data/orders. Write the JSON {"path": "/srv/data/orders"}'
    tag, prompt = masked(schema), running.prompt(question)

    async def answer(sampling: SamplingParams) -> list[int]:
        outputs = [each async for each in running.engine.generate("place", prompt, sampling, tag)]
        return token_ids(outputs)

    before = counts(server)
    drafted = await answer(GREEDY)
    figures = grown(server, before)
    plain = await answer(UNDRAFTED)

    assert drafted == plain
    assert json.loads(running.tokenizer.decode(drafted))["path"] == PLACE["enum"][0]
    assert running.tokenizer.encode(' "/', add_special_tokens=False).ids[0] in drafted
    assert figures["drafted"] > figures["accepted"] > 0


async def test_what_has_no_mask_is_not_planned_for(running: RunningEngine, server: RunningServer) -> None:
    """Drafting must cost nothing where it cannot gain anything."""
    before = counts(server)
    assert token_ids(await collect(running, replace(GREEDY, max_tokens=8), None))
    assert grown(server, before) == dict.fromkeys(before, 0)

    await collect(running, replace(GREEDY, max_tokens=8), masked(ORDER))
    assert grown(server, before)["plans"] > 0


@pytest.mark.parametrize(
    "sampling",
    [
        pytest.param(replace(GREEDY, logit_bias={198: 1}), id="bias"),
        pytest.param(SamplingParams(temperature=1, min_p=0.1, max_tokens=60), id="min-p"),
        pytest.param(SamplingParams(temperature=1, seed=3, max_tokens=60), id="seed"),
    ],
)
async def test_what_vllm_cannot_verify_is_not_drafted(
    running: RunningEngine, server: RunningServer, sampling: SamplingParams
) -> None:
    """Its rejection sampler knows neither biases nor `min_p`; a seed must draw the same in any company."""
    before = counts(server)
    await collect(running, sampling, masked(ORDER))
    figures = grown(server, before)

    assert figures["drafted"] == 0
    assert figures["plans"] > 0


async def test_a_seed_draws_the_same_however_busy_the_engine_is(running: RunningEngine) -> None:
    """Alone and beside requests with drafts, the same seed gives the same tokens."""
    seeded = SamplingParams(temperature=1.2, seed=5, max_tokens=60)
    alone = token_ids(await collect(running, seeded, masked(ORDER)))
    others = [collect(running, GREEDY, masked(LONG), f"other-{at}") for at in range(3)]
    beside, *_ = await asyncio.gather(collect(running, seeded, masked(ORDER), "seeded"), *others)

    assert token_ids(beside) == alone


async def test_a_bias_holds_in_steps_that_verify_drafts_of_others(running: RunningEngine) -> None:
    """A request without drafts is sampled with all of its parameters."""
    biased = SamplingParams(temperature=0, max_tokens=12, logit_bias={198: 100})
    others = [collect(running, GREEDY, masked(LONG), f"other-{at}") for at in range(3)]
    answer, *_ = await asyncio.gather(collect(running, biased, None, "biased"), *others)

    assert token_ids(answer) == [198] * 12


async def test_penalties_see_the_tokens_of_a_draft(running: RunningEngine) -> None:
    """With and without drafts, a strong penalty leads to the same answer."""
    drafted = await collect(
        running, replace(GREEDY, frequency_penalty=1.5, presence_penalty=1.0), masked(ORDER)
    )
    plain = await collect(
        running, replace(UNDRAFTED, frequency_penalty=1.5, presence_penalty=1.0), masked(ORDER)
    )

    assert token_ids(drafted) == token_ids(plain)
