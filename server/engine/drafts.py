"""Forced tokens, held by the masks and read several in one step: our extension of vLLM's scheduler.

Where a mask forces text, the model writes it in its tokenizer's own tokens (`server.engine.drafting`): the
mask allows no other. Such tokens need no model, so they are given to the next step as drafts: it reads them
all and writes the token behind them. They are always accepted, and what comes after is what would have come
without drafts: each forced token has the probability 1, to a greedy request and to one that samples.

vLLM knows drafts as speculative decoding, whose configuration costs what has nothing to do with drafts: it
refuses `logit_bias` and `min_p`, and samples every request by the slower path. So none is configured here.
The scheduler sets the drafts itself, and `server.engine.worker` verifies them in the steps that have some.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from vllm import SamplingParams
from vllm.config import VllmConfig
from vllm.platforms import current_platform
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.sched.output import GrammarOutput, SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine import EngineCoreOutputs
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.spec_decode.metrics import SpecDecodingStats
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_xgrammar import XgrammarGrammar
from xgrammar import GrammarMatcher

from server.engine.core import TimedMasks, require
from server.engine.drafting import TAIL, Plan, TokenPlanner
from server.metrics import EngineMetrics

logger = logging.getLogger(__name__)

MOST_DRAFTED = 32
"""Of one sequence in one step: as long as what opens a call."""

Draft = tuple[Request, list[int]]

STEP_TOKENS = 64
"""Tokens of one step, of all sequences together, up to which drafts are added. Each costs compute."""

FULL = 0.9
"""The share of the KV cache in use from which on sequences are about to be displaced for want of blocks."""


class ForcedTokens:
    """Mixed into a scheduler of vLLM, before `TimedMasks`: forced text is written in planned tokens."""

    vllm_config: VllmConfig
    structured_output_manager: StructuredOutputManager
    requests: dict[str, Request]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        require(self, "requests", "running", "kv_cache_manager", "max_model_len")
        require(self.structured_output_manager.tokenizer, "backend_tokenizer")
        tokenizer = self.structured_output_manager.tokenizer.backend_tokenizer
        vocabulary_size = self.vllm_config.model_config.get_vocab_size()
        self._planner = TokenPlanner(tokenizer, vocabulary_size=vocabulary_size)
        self._plans: dict[str, Plan] = {}

    def get_grammar_bitmask(self, scheduler_output: SchedulerOutput) -> GrammarOutput | None:
        # The method is that of the scheduler which this class is mixed into; so below.
        masks: GrammarOutput | None = super().get_grammar_bitmask(scheduler_output)  # type: ignore[misc]
        if masks is None:
            return None
        drafts, row = scheduler_output.scheduled_spec_decode_tokens, 0
        plans: dict[str, Plan] = {}
        for request_id in masks.structured_output_request_ids:
            rows = 1 + len(drafts.get(request_id, ()))
            narrow(masks.grammar_bitmask[row : row + rows], self.forced(self.requests[request_id]))
            row += rows
            if plan := self._plans.get(request_id):
                plans[request_id] = plan
        self._plans = plans
        return masks

    def forced(self, request: Request) -> Sequence[int]:
        """The tokens that must come next in a sequence."""
        position, plan = request.num_output_tokens, self._plans.get(request.request_id)
        if plan is None or not plan.covers(position):
            matcher = matcher_of(request)
            if matcher is None:
                return ()
            tokens, goes_on = self._planned(request, matcher)
            plan = self._plans[request.request_id] = Plan(position, tokens, goes_on)
        return plan.tokens[position - plan.start :]

    def _planned(self, request: Request, matcher: GrammarMatcher) -> tuple[Sequence[int], bool]:
        """Plan, or do without a plan: whatever a mask may bring to light, it must not end the engine."""
        written, ends = request.output_token_ids[-TAIL:], end_tokens(request.sampling_params)
        try:
            return self._planner.plan(matcher, written, ends=ends)
        except (RuntimeError, ValueError):
            logger.exception("No tokens could be planned for request %s.", request.request_id)
            return (), False


class ForcedTokenDrafts(ForcedTokens):
    """Drafts the planned tokens as well."""

    engine_metrics: EngineMetrics
    kv_cache_manager: KVCacheManager
    running: list[Request]
    max_model_len: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        make_room(self.structured_output_manager, self.vllm_config.scheduler_config.max_num_seqs)

    def update_from_output(
        self, scheduler_output: SchedulerOutput, model_runner_output: ModelRunnerOutput
    ) -> dict[int, EngineCoreOutputs]:
        outputs: dict[int, EngineCoreOutputs] = super().update_from_output(  # type: ignore[misc]
            scheduler_output, model_runner_output
        )
        room = self._room()
        candidates = [request for request in self.running if draftable(request)] if room > 0 else []
        for request, tokens in shared([(request, self._draft(request)) for request in candidates], room):
            request.spec_token_ids = tokens
        return outputs

    def make_spec_decoding_stats(
        self,
        stats: SpecDecodingStats | None,  # noqa: ARG002 - the parameters are vLLM's
        num_draft_tokens: int,
        num_accepted_tokens: int,
        num_invalid_spec_tokens: dict[str, int] | None,  # noqa: ARG002
        request_id: str,  # noqa: ARG002
    ) -> SpecDecodingStats | None:
        """Called for each sequence whose drafts were verified. vLLM's own figures want its configuration."""
        self.engine_metrics.forced_tokens_drafted.inc(num_draft_tokens)
        self.engine_metrics.forced_tokens_accepted.inc(num_accepted_tokens)
        return None

    def _room(self) -> int:
        """How many tokens may be drafted for the next step. A block for them must displace no sequence."""
        if self.kv_cache_manager.usage > FULL:
            return 0
        return STEP_TOKENS - len(self.running)

    def _draft(self, request: Request) -> list[int]:
        """The first planned tokens. The step writes one more behind them, which may be the answer's last.

        That one must be planned too where the plan may go on or ends the answer.
        """
        left = min(request.max_tokens - request.num_output_tokens, self.max_model_len - request.num_tokens)
        tokens, plan = self.forced(request), self._plans.get(request.request_id)
        if plan is None or not tokens:
            return []
        last_is_written = plan.goes_on or tokens[-1] in end_tokens(request.sampling_params)
        return list(tokens[: max(0, min(MOST_DRAFTED, left - 1, len(tokens) - last_is_written))])


class PlanningScheduler(ForcedTokens, TimedMasks, Scheduler):
    """Named in `scheduler_cls` where there is no obstacle."""


class DraftingScheduler(ForcedTokenDrafts, TimedMasks, Scheduler):
    """The same, with drafts."""


def narrow(rows: Any, tokens: Sequence[int]) -> None:
    """Let each of these rows of a mask allow its planned token only. Rows behind the plan stay."""
    words = rows.view(np.uint32)
    for row, token in zip(words, tokens, strict=False):
        row.fill(0)
        row[token // 32] = 1 << token % 32


def matcher_of(request: Request) -> GrammarMatcher | None:
    """Return what knows the mask of a sequence, if there is one."""
    constraint = request.structured_output_request
    grammar = constraint.grammar if constraint is not None else None
    return grammar.matcher if isinstance(grammar, XgrammarGrammar) and not grammar.is_terminated() else None


def draftable(request: Request) -> bool:
    """Whether a sequence is past its prompt, and its tokens do not depend on a count of random numbers.

    With a seed they would depend on how busy the engine is: drafts use up other numbers than single steps.
    """
    parameters = request.sampling_params
    if parameters is None or not request.use_structured_output or not request.num_output_tokens:
        return False
    decodes = request.num_computed_tokens >= request.num_tokens - 1
    return decodes and (parameters.temperature == 0 or parameters.seed is None)


def end_tokens(parameters: SamplingParams | None) -> list[int]:
    """The tokens that end an answer, the model's usual one first."""
    if parameters is None:
        return []
    first = parameters.eos_token_id
    others = parameters.all_stop_token_ids - {first}
    return [*([] if first is None else [first]), *others]


def shared(drafts: Sequence[Draft], room: int) -> Iterator[Draft]:
    """Cut the drafts to so many tokens together, the same for each, and leave out the empty ones."""
    filled = [(request, tokens) for request, tokens in drafts if tokens]
    if sum(len(tokens) for _, tokens in filled) > room:
        each = room // len(filled)
        filled = [(request, tokens[:each]) for request, tokens in filled if each]
    yield from filled


def make_room(manager: StructuredOutputManager, sequences: int) -> None:
    """Let a step have masks for drafts, of which vLLM only knows from its own configuration.

    Without one it keeps a row for each sequence, and fills them on several threads where there are many.
    """
    require(manager, "backend", "_grammar_bitmask", "fill_bitmask_parallel_threshold")
    if manager.backend is not None:
        rows = manager.backend.allocate_token_bitmask(sequences + STEP_TOKENS)
        manager._grammar_bitmask = rows  # noqa: SLF001 - vLLM allocates it where it is None
    manager.fill_bitmask_parallel_threshold = sequences


def check_planning_seams() -> None:
    """Raise `SeamError` if a name that drafting needs is gone from vLLM or XGrammar."""
    require(Scheduler, "update_from_output", "make_spec_decoding_stats")
    require(Request, "num_output_tokens", "num_tokens", "append_output_token_ids")
    require(SamplingParams, "eos_token_id", "all_stop_token_ids")
    require(XgrammarGrammar, "matcher", "is_terminated")
    require(GrammarMatcher, "find_jump_forward_string", "accept_string", "rollback", "is_completed")
    require(SchedulerOutput, "scheduled_spec_decode_tokens")


def scheduler_for(*, drafts: bool) -> str:
    """Return the scheduler to name in `scheduler_cls`."""
    scheduler = DraftingScheduler if drafts else PlanningScheduler
    return f"{scheduler.__module__}.{scheduler.__qualname__}"


def obstacle(config: VllmConfig) -> str | None:
    """Return why an engine of this configuration cannot plan forced tokens, or None if it can."""
    obstacles = {
        "another method of speculative decoding is set": config.speculative_config is not None,
        "vLLM lets steps overlap": bool(config.scheduler_config.async_scheduling),
        "the model does not run on a CPU": not current_platform.is_cpu() or config.use_v2_model_runner,
        "the model has a recurrent state": config.model_config.is_hybrid
        or config.model_config.has_inner_state,
        "LoRA adapters are on": config.lora_config is not None,
        "vLLM's reasoning parser is on": bool(config.structured_outputs_config.reasoning_parser),
        "the model is split into pipeline stages": config.parallel_config.pipeline_parallel_size > 1,
    }
    return next((reason for reason, holds in obstacles.items() if holds), None)
