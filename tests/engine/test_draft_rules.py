"""When forced tokens are drafted, and how many: the rules of the scheduler, without an engine."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from server.engine.drafting import Plan
from tests.engine.conftest import RunningEngine

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("lengths", "room", "kept"),
    [
        pytest.param([3, 0, 4], 10, [3, 4], id="all"),
        pytest.param([8, 8, 8], 12, [4, 4, 4], id="the-same-for-each"),
        pytest.param([8, 2], 6, [3, 2], id="cut-where-longer"),
        pytest.param([1, 1, 1], 2, [], id="too-little-room"),
    ],
)
def test_a_step_carries_no_more_drafts_than_it_has_room_for(
    lengths: list[int], room: int, kept: list[int]
) -> None:
    """Where all drafts do not fit, all sequences have a share."""
    from server.engine.drafts import shared

    drafts: Any = [(f"request-{at}", list(range(length))) for at, length in enumerate(lengths)]

    assert [len(tokens) for _, tokens in shared(drafts, room)] == kept


def test_temperatures_are_repeated_for_the_drafts_of_their_rows() -> None:
    """A greedy row's 0 becomes 1, by which its logits may be divided."""
    import torch

    from server.engine.worker import expand

    output = torch.full((6,), torch.nan)
    expand(output, torch.tensor([0.5, 0.0, 0.25]), torch.tensor([2, 5, 6], dtype=torch.int32), 0, 1, 128)

    assert output.tolist() == [0.5, 0.5, 1, 1, 1, 0.25]


WORKER = "server.engine.worker.StrictcallCPUWorker"
OBSTACLES = [
    pytest.param({"speculative_config": object()}, "speculative", id="the-users-own-drafts"),
    pytest.param({"scheduler_config": SimpleNamespace(async_scheduling=True)}, "overlap", id="async"),
    pytest.param({"use_v2_model_runner": True}, "CPU", id="another-runner"),
    pytest.param(
        {"parallel_config": SimpleNamespace(pipeline_parallel_size=1, worker_cls="other.Worker")},
        "worker",
        id="another-worker",
    ),
    pytest.param(
        {"model_config": SimpleNamespace(is_hybrid=True, has_inner_state=True)}, "recurrent", id="hybrid"
    ),
    pytest.param({"lora_config": object()}, "LoRA", id="lora"),
    pytest.param(
        {"structured_outputs_config": SimpleNamespace(reasoning_parser="qwen3")}, "reasoning", id="reasoning"
    ),
    pytest.param(
        {"parallel_config": SimpleNamespace(pipeline_parallel_size=2, worker_cls=WORKER)},
        "pipeline",
        id="pipeline",
    ),
    pytest.param({}, None, id="none"),
]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        pytest.param({}, None, id="ours"),
        pytest.param(
            {"speculative_config": {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 3}},
            "speculative",
            id="ngram",
        ),
        pytest.param({"worker_cls": "auto"}, "worker", id="vllms-worker"),
    ],
)
def test_a_real_configuration_is_read_for_what_is_in_the_way(
    running: RunningEngine, options: dict[str, Any], reason: str | None
) -> None:
    """The configuration is the one that vLLM makes of the options; no engine is started."""
    from vllm import AsyncEngineArgs

    from server.engine.drafts import obstacle
    from server.engine.vllm import OPTIONS, cpu_options

    arguments = {**cpu_options(), **OPTIONS, **options}
    found = obstacle(AsyncEngineArgs(model=str(running.model), **arguments).create_engine_config())

    assert found is None if reason is None else reason in str(found)


@pytest.mark.parametrize(("change", "reason"), OBSTACLES)
def test_an_engine_that_cannot_draft_says_why(change: dict[str, Any], reason: str | None) -> None:
    """What is in the way is named at the start; the engine then works as without drafts."""
    from server.engine.drafts import obstacle

    fitting: dict[str, Any] = {
        "speculative_config": None,
        "scheduler_config": SimpleNamespace(async_scheduling=False),
        "use_v2_model_runner": False,
        "model_config": SimpleNamespace(is_hybrid=False, has_inner_state=False),
        "lora_config": None,
        "structured_outputs_config": SimpleNamespace(reasoning_parser=""),
        "parallel_config": SimpleNamespace(pipeline_parallel_size=1, worker_cls=WORKER),
    }
    found = obstacle(SimpleNamespace(**fitting | change))

    assert found is None if reason is None else reason in str(found)


def test_a_sequence_whose_drafts_are_rejected_is_written_without_them() -> None:
    """A few may be, so that one unusual place in an answer does not slow down the rest of it."""
    from server.engine.drafts import PATIENCE, Course

    course = Course(Plan(0, (), goes_on=False), accepted=5, rejected=5 + PATIENCE)

    assert course.worthwhile
    assert not replace(course, rejected=course.rejected + 1).worthwhile


def test_a_plan_that_took_too_long_is_the_last_of_its_sequence() -> None:
    """A mask that is slow to fill must not keep the other sequences waiting at every step."""
    from server.engine.drafting import MOST_SECONDS
    from server.engine.drafts import Course

    plan = Plan(0, (), goes_on=False)

    assert Course(plan, seconds=MOST_SECONDS / 2).plannable
    assert not Course(plan, seconds=MOST_SECONDS).plannable
