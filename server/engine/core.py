"""What runs inside vLLM's engine process: its scheduler and its XGrammar backend, with a clock.

vLLM creates the scheduler by name (`scheduler_cls`). Ours times the masks of every step, installs an XGrammar
backend that times each compilation, and reads long prompts in pieces that leave others their time. The
figures go to `server.telemetry.metrics.EngineMetrics`:

    strictcall_mask_fill_seconds_count 20.0            # 20 steps had masks
    strictcall_grammar_cache_total{result="miss"} 1.0  # for one grammar

Everything here stands on names that vLLM does not promise to keep. `check_seams` asks for each of them before
an engine is started.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from vllm.config import SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.output import GrammarOutput, SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import StructuredOutputGrammar, StructuredOutputOptions
from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend, XgrammarGrammar
from xgrammar import GrammarCompiler

from server.engine.bounded_masks import BoundedGrammar
from server.engine.gathered_steps import GatheredSteps
from server.engine.pace import Pace
from server.engine.parent import end_with_parent
from server.engine.protocol import MaskTooSlowError
from server.engine.seams import require
from server.telemetry.metrics import EngineMetrics

COMPILER_NICENESS = 8
"""By how much the compiler's threads are nicer than the engine."""


class TimedXgrammarBackend(XgrammarBackend):
    """Compiles grammars as vLLM's own backend does, measures it, and bounds what their masks may take.

    Runs on several threads.
    """

    engine_metrics: EngineMetrics
    given_up: set[str]
    """The requests whose masks took too long, and that have not been told so."""

    def compile_grammar(
        self,
        request_type: StructuredOutputOptions,
        grammar_spec: str,
        stop_token_ids: set[int] | None = None,
    ) -> StructuredOutputGrammar:
        metrics = self.engine_metrics
        make_way()
        size = self.compiler.get_cache_size_bytes()
        with metrics.grammar_compile_seconds.time():
            grammar = super().compile_grammar(request_type, grammar_spec, stop_token_ids)
        # A new grammar changes the size of the cache. One that is compiled on another thread meanwhile can
        # make a hit look like a miss, never a miss like a hit.
        if self.compiler.get_cache_size_bytes() == size:
            metrics.grammar_cache_hits.inc()
        else:
            metrics.grammar_cache_misses.inc()
        return BoundedGrammar.of(grammar, given_up=self.given_up.add)


def make_way() -> None:
    """Let a thread of the compiler's pool leave the processors to those that compute and pass on tokens.

    A mask may take a second to compile, on as many threads as it likes; they are all as nice as this one.
    """
    if sys.platform != "linux" or threading.current_thread() is threading.main_thread():
        return  # elsewhere only a whole process can be nice
    niceness = os.getpriority(os.PRIO_PROCESS, os.getpid()) + COMPILER_NICENESS
    if os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) < niceness:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


class TimedMasks:
    """Mixed into a scheduler of vLLM: times the masks, and compiles with `TimedXgrammarBackend`."""

    vllm_config: VllmConfig
    structured_output_manager: StructuredOutputManager

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.engine_metrics = EngineMetrics()
        end_with_parent()
        install_backend(self.structured_output_manager, self.vllm_config, self.engine_metrics)

    def get_grammar_bitmask(self, scheduler_output: SchedulerOutput) -> GrammarOutput | None:
        started = time.perf_counter()
        masks = super().get_grammar_bitmask(scheduler_output)  # type: ignore[misc]  # the method is that of the scheduler mixed in
        if masks is not None:
            self.engine_metrics.mask_fill_seconds.observe(time.perf_counter() - started)
            self.engine_metrics.mask_rows.inc(len(masks.grammar_bitmask))
        return masks

    def update_from_output(self, *args: Any, **kwargs: Any) -> Any:
        told = super().update_from_output(*args, **kwargs)  # type: ignore[misc]  # as above
        if given_up := self.structured_output_manager.backend.given_up:
            self.engine_metrics.masks_given_up.inc(len(given_up))
            for output in (output for outputs in told.values() for output in outputs.outputs):
                if output.request_id in given_up:
                    # Of an error, vLLM's own server would tell a front end nothing but that it is one.
                    output.finish_reason = FinishReason.REPETITION
                    output.stop_reason = MaskTooSlowError.STOP_REASON
            given_up.clear()
        return told


class PacedPrompts:
    """Mixed into a scheduler of vLLM: a step reads as much of prompts as it has time for.

    vLLM reads at most `long_prefill_token_threshold` tokens of a prompt in one step if there are other
    requests. Here too, and of all prompts together what a step has time for, by `Pace`; 0 leaves prompts
    whole. A step of this scheduler must end before the next is scheduled, so that it can be timed.
    """

    scheduler_config: SchedulerConfig
    max_num_scheduled_tokens: int
    running: list[Request]
    waiting: Iterable[Request]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        require(self, "max_num_scheduled_tokens", "running", "waiting")
        self._pace = Pace(self.scheduler_config.long_prefill_token_threshold)
        self._most = self.max_num_scheduled_tokens
        self._began = 0.0
        """When the running step was scheduled."""
        self._learn: Callable[[float, int], None] | None = None
        """What is to be told how long the running step took, if that says something."""
        self._writers = 0
        """For how many it writes."""

    def schedule(self, *args: Any, **kwargs: Any) -> SchedulerOutput:
        self._began = time.perf_counter()
        readers, writing = self._share_out()
        scheduled: SchedulerOutput = super().schedule(*args, **kwargs)  # type: ignore[misc]  # the method is that of the scheduler mixed in
        total = scheduled.total_num_scheduled_tokens
        self._learn = None
        if not readers and total:
            self._learn = self._pace.wrote
        elif readers and self.max_num_scheduled_tokens < self._most:
            self._learn = partial(self._pace.read, total - writing)
        return scheduled

    def _share_out(self) -> tuple[bool, int]:
        """Set how much the next step may read; say whether there is any of it, and what it writes.

        Who is alone is read as fast as it goes, and where nobody writes, one prompt at least.
        """
        readers = sum(_unread(each) > 1 for each in self.running)
        writers = [each for each in self.running if _unread(each) <= 1]
        self._writers = len(writers)
        reads = readers > 0 or any(True for _ in self.waiting)
        writing = sum(each.num_tokens_with_spec - each.num_computed_tokens for each in writers)
        if not self._pace.each or sum(self.get_request_counts()) < 2:  # type: ignore[attr-defined]  # as above
            self.max_num_scheduled_tokens = self._most
            return reads, writing
        tokens = self._pace.tokens if writers else max(self._pace.tokens, self._pace.each)
        each = self.scheduler_config.long_prefill_token_threshold = self._pace.share(tokens, readers)
        # Who writes has a place in the step, whatever those before it read.
        reading = max(tokens, each * readers)
        self.max_num_scheduled_tokens = min(self._most, writing + reading)
        return reads, writing

    def update_from_output(self, *args: Any, **kwargs: Any) -> Any:
        if self._learn is not None:
            self._learn(time.perf_counter() - self._began, self._writers)
        return super().update_from_output(*args, **kwargs)  # type: ignore[misc]  # the method is that of the scheduler mixed in


def _unread(request: Request) -> int:
    """Tokens that the model has not read yet; 1 if it is writing, but for drafts."""
    return int(request.num_tokens - request.num_computed_tokens)


class TimedScheduler(PacedPrompts, TimedMasks, GatheredSteps, Scheduler):
    """For engines that schedule a step when the one before is done, as on a CPU."""


class TimedAsyncScheduler(TimedMasks, GatheredSteps, AsyncScheduler):
    """For engines that schedule a step while the one before runs, as on a GPU."""


def scheduler_name(config: VllmConfig) -> str:
    """Return the scheduler to name in `scheduler_cls` for an engine of this configuration."""
    scheduler = TimedAsyncScheduler if config.scheduler_config.async_scheduling else TimedScheduler
    return f"{scheduler.__module__}.{scheduler.__qualname__}"


def install_backend(manager: StructuredOutputManager, config: VllmConfig, metrics: EngineMetrics) -> None:
    """Give the manager its backend before a request does.

    So the first request does not pay for reading the vocabulary, and none can choose another backend for all.
    """
    require(manager, "backend", "tokenizer")
    backend = TimedXgrammarBackend(
        config, tokenizer=manager.tokenizer, vocab_size=config.model_config.get_vocab_size()
    )
    backend.engine_metrics, backend.given_up = metrics, set()
    require(backend, "compiler")
    manager.backend = backend


def check_seams() -> None:
    """Raise `SeamError` if a name that the classes here need is gone from vLLM or XGrammar."""
    require(Scheduler, "get_grammar_bitmask", "schedule", "update_from_output", "get_request_counts")
    require(SchedulerConfig, "long_prefill_token_threshold")
    require(SchedulerOutput, "total_num_scheduled_tokens")
    require(Request, "num_tokens", "num_tokens_with_spec", "num_output_tokens")
    require(AsyncScheduler, "get_grammar_bitmask")
    require(StructuredOutputManager, "grammar_init", "grammar_bitmask")
    require(XgrammarBackend, "compile_grammar")
    require(XgrammarGrammar, "accept_tokens", "validate_tokens", "fill_bitmask", "num_processed_tokens")
    require(EngineCoreOutput, "request_id", "finish_reason", "stop_reason", "new_token_ids")
    require(EngineCoreOutputs, "outputs", "finished_requests")
    require(SamplingParams, "stream_interval")
    require(FinishReason, "REPETITION")
    require(GrammarCompiler, "get_cache_size_bytes")
    require(GrammarOutput, "grammar_bitmask")
