"""vLLM's own metrics, without the calls that change nothing.

    AsyncLLM.from_vllm_config(config, stat_loggers=[SparingStatLogger])

For each step vLLM sets every gauge and adds to every counter. Most steps only write tokens, and all but a few
of thirty calls set what is set, or add nothing. What is exposed is the same, sample for sample.
"""

from dataclasses import replace
from typing import Any

from vllm.config import VllmConfig
from vllm.v1.metrics.loggers import PrometheusStatLogger
from vllm.v1.metrics.stats import IterationStats, MultiModalCacheStats, PrefixCacheStats, SchedulerStats

from server.engine.seams import require

NOTHING_DONE = {
    name: value
    for name, value in vars(IterationStats()).items()
    if name not in ("iteration_timestamp", "num_generation_tokens", "inter_token_latencies_iter")
}
"""What a step says that has only written tokens, but for those."""


class SparingStatLogger(PrometheusStatLogger):
    """Records what a step has changed."""

    def __init__(self, vllm_config: VllmConfig, engine_indexes: list[int] | None = None) -> None:
        super().__init__(vllm_config, engine_indexes)
        require(self, "gauge_lora_info", "gauge_kv_cache_usage", "counter_generation_tokens")
        require(self, "histogram_iteration_tokens", "histogram_inter_token_latency")
        self._shown: dict[int, SchedulerStats] = {}
        """What the gauges of each engine show, and nothing to be added."""

    def record(
        self,
        scheduler_stats: SchedulerStats | None,
        iteration_stats: IterationStats | None,
        mm_cache_stats: MultiModalCacheStats | None = None,
        engine_idx: int = 0,
    ) -> None:
        """Record one step of an engine."""
        if scheduler_stats is not None:
            scheduler_stats = self._left_to_show(scheduler_stats, engine_idx)
        if iteration_stats is not None and only_writes(iteration_stats):
            self._wrote(iteration_stats, engine_idx)
            iteration_stats = None
        if scheduler_stats is not None or iteration_stats is not None or mm_cache_stats is not None:
            super().record(scheduler_stats, iteration_stats, mm_cache_stats, engine_idx)

    def _left_to_show(self, stats: SchedulerStats, engine: int) -> SchedulerStats | None:
        """Show how full the cache is, which tokens change; return the stats if there is more in them."""
        shown = self._shown.get(engine)
        if shown is not None and self.gauge_lora_info is None:  # which tells the time, too
            if shown.kv_cache_usage != stats.kv_cache_usage:
                self.gauge_kv_cache_usage[engine].set(stats.kv_cache_usage)
                shown.kv_cache_usage = stats.kv_cache_usage
            if stats == shown:
                return None
        self._shown[engine] = nothing_added(stats)
        return stats

    def _wrote(self, stats: IterationStats, engine: int) -> None:
        """What vLLM records of a step that has only written tokens."""
        self.counter_generation_tokens[engine].inc(stats.num_generation_tokens)
        self.histogram_iteration_tokens[engine].observe(stats.num_generation_tokens)
        latency = self.histogram_inter_token_latency[engine]
        for seconds in stats.inter_token_latencies_iter:
            latency.observe(seconds)


def only_writes(stats: IterationStats) -> bool:
    """Whether a step has done nothing but write tokens: no prompt was read, and no request has ended."""
    told: dict[str, Any] = vars(stats)
    return all(told[name] == value for name, value in NOTHING_DONE.items())


def nothing_added(stats: SchedulerStats) -> SchedulerStats:
    """The stats of a step that shows the same, and in which nothing was looked up, drafted, or moved."""
    connector = None if stats.connector_prefix_cache_stats is None else PrefixCacheStats()
    return replace(
        stats,
        prefix_cache_stats=PrefixCacheStats(),
        connector_prefix_cache_stats=connector,
        kv_cache_eviction_events=[],
        spec_decoding_stats=None,
        kv_connector_stats=None,
        ec_connector_stats=None,
        perf_stats=None,
    )


def check_stat_seams() -> None:
    """Raise `SeamError` if a name that the logger needs is gone from vLLM."""
    require(SchedulerStats, "kv_cache_usage", "prefix_cache_stats", "connector_prefix_cache_stats")
    require(SchedulerStats, "kv_cache_eviction_events", "spec_decoding_stats", "perf_stats")
    require(SchedulerStats, "kv_connector_stats", "ec_connector_stats")
    require(IterationStats(), "num_generation_tokens", "inter_token_latencies_iter")
    require(PrometheusStatLogger, "record")
