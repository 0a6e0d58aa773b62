"""vLLM's metrics, recorded sparingly: whatever steps do, the page is the one that vLLM would show."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from vllm import AsyncEngineArgs
from vllm.config import VllmConfig
from vllm.v1.engine import FinishReason
from vllm.v1.metrics.loggers import PrometheusStatLogger
from vllm.v1.metrics.stats import (
    FinishedRequestStats,
    IterationStats,
    MultiModalCacheStats,
    PrefixCacheStats,
    PromptTokenStats,
    SchedulerStats,
)

from server.config.settings import default_cache
from server.engine.stat_logger import SparingStatLogger
from server.startup.default_model import prepare

Step = tuple[SchedulerStats | None, IterationStats | None, MultiModalCacheStats | None]


@cache
def config() -> VllmConfig:
    model = str(prepare(default_cache() / "models", print))
    return AsyncEngineArgs(
        model=model, enforce_eager=True, kv_cache_memory_bytes=2**30
    ).create_engine_config()


def page(logger: type[PrometheusStatLogger], steps: Sequence[Step]) -> list[str]:
    """What is exposed after these steps, but for when the metrics were made."""
    recording = logger(config(), [0])
    for scheduler, iteration, multimodal in steps:
        recording.record(scheduler, iteration, multimodal, engine_idx=0)
    lines = generate_latest().decode().splitlines()
    return [line for line in lines if line.startswith("vllm:") and "_created" not in line]


def iteration(**told: Any) -> IterationStats:
    stats = IterationStats()
    for name, value in told.items():
        assert hasattr(stats, name)
        setattr(stats, name, value)
    return stats


SOME = st.integers(0, 3)
SECONDS = st.floats(0, 2)
CACHE = st.builds(PrefixCacheStats, requests=SOME, queries=SOME, hits=SOME)
SCHEDULER = st.builds(
    SchedulerStats,
    num_running_reqs=SOME,
    num_waiting_reqs=SOME,
    num_skipped_waiting_reqs=SOME,
    kv_cache_usage=st.sampled_from([0.0, 0.25, 0.5]),
    prefix_cache_stats=st.just(PrefixCacheStats()) | CACHE,
    connector_prefix_cache_stats=st.none() | CACHE,
)
WRITES = st.builds(
    iteration, num_generation_tokens=SOME, inter_token_latencies_iter=st.lists(SECONDS, max_size=3)
)
READS = st.builds(
    iteration,
    num_generation_tokens=SOME,
    prompt_token_stats=st.builds(PromptTokenStats, computed=SOME, local_cache_hit=SOME, total=SOME),
    num_preempted_reqs=SOME,
    time_to_first_tokens_iter=st.lists(SECONDS, max_size=2),
    inter_token_latencies_iter=st.lists(SECONDS, max_size=3),
    n_params_iter=st.lists(SOME, max_size=2),
    finished_requests=st.lists(
        st.builds(
            FinishedRequestStats, finish_reason=st.sampled_from(FinishReason), num_generation_tokens=SOME
        ),
        max_size=2,
    ),
)
STEPS = st.lists(
    st.tuples(
        st.none() | SCHEDULER,
        st.none() | WRITES | READS,
        st.none() | st.builds(MultiModalCacheStats, requests=SOME, queries=SOME, hits=SOME),
    ),
    max_size=8,
)


@settings(max_examples=50, deadline=None)
@given(STEPS)
def test_the_page_is_that_of_vllm(steps: Sequence[Step]) -> None:
    """Sample for sample."""
    assert page(SparingStatLogger, steps) == page(PrometheusStatLogger, steps)


def test_a_step_that_only_writes_calls_for_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first of them vLLM's own thirty calls are not made."""
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(PrometheusStatLogger, "record", lambda _, *told: calls.append(told))
    recording = SparingStatLogger(config(), [0])
    running = [SchedulerStats(num_running_reqs=1, kv_cache_usage=usage) for usage in (0.1, 0.1, 0.2)]
    for stats in running:
        wrote = iteration(num_generation_tokens=1, inter_token_latencies_iter=[0.02])
        recording.record(stats, wrote, engine_idx=0)

    assert calls == [(running[0], None, None, 0)]
