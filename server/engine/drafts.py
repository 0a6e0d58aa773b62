"""Forced tokens, held by the masks and read several in one step: our extension of vLLM's scheduler.

Where a mask forces text, it is narrowed to the tokens that the model's tokenizer makes of that text
(`server.engine.drafting`). They are given to the next step as drafts: it reads them all, keeps those that the
model would have written, and writes the token behind them. vLLM's rejection sampler decides, so that drafts
change nothing but the number of steps: a greedy request keeps a draft that is its likeliest token, one that
samples keeps it with the probability that the model gives it, and draws from the others otherwise.

vLLM knows drafts as speculative decoding, whose configuration costs what has nothing to do with drafts: it
refuses `logit_bias` and `min_p`, and samples every request by the slower path. So none is configured here.
The scheduler sets the drafts itself, and `server.engine.worker` verifies them in the steps that have some.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend, XgrammarGrammar
from xgrammar import GrammarMatcher

from server.engine.core import PacedPrompts, TimedMasks
from server.engine.drafting import MOST_SECONDS, Forced, Plan, TokenPlanner
from server.engine.gathered_steps import GatheredSteps
from server.engine.seams import require
from server.telemetry.metrics import EngineMetrics

logger = logging.getLogger(__name__)

WORKER = "server.engine.worker.StrictcallCPUWorker"
"""The only worker that verifies drafts which vLLM's configuration does not know of."""

MOST_DRAFTED = 32
"""Of one sequence in one step: as long as what opens a call."""

STEP_TOKENS = 64
"""Tokens of one step, of all sequences together, up to which drafts are added. Each costs compute."""

FULL = 0.9
"""The share of the KV cache in use from which on sequences are about to be displaced for want of blocks."""

PATIENCE = 16
"""By how many drafts more may be rejected than accepted before a sequence is written without any."""


@dataclass(frozen=True, slots=True)
class Course:
    """What is planned for a sequence, and how its drafts have fared."""

    plan: Plan
    seconds: float = 0
    """How long the plan took."""
    accepted: int = 0
    rejected: int = 0

    @property
    def plannable(self) -> bool:
        """Whether another plan may be made: one that took too long is the last."""
        return self.seconds < MOST_SECONDS

    @property
    def worthwhile(self) -> bool:
        return self.rejected - self.accepted <= PATIENCE


Draft = tuple[Request, Sequence[int]]


class ForcedTokens:
    """Mixed into a scheduler of vLLM, before `TimedMasks`: forced text is written in planned tokens."""

    engine_metrics: EngineMetrics
    requests: dict[str, Request]
    structured_output_manager: StructuredOutputManager
    vllm_config: VllmConfig

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        require(self, "requests", "running", "kv_cache_manager", "max_model_len")
        manager = self.structured_output_manager
        require(manager.tokenizer, "backend_tokenizer")
        self._planner = TokenPlanner(manager.tokenizer.backend_tokenizer, token_texts(manager))
        self._courses: dict[str, Course] = {}

    def get_grammar_bitmask(self, scheduler_output: SchedulerOutput) -> GrammarOutput | None:
        # The method is that of the scheduler which this class is mixed into; so below.
        masks: GrammarOutput | None = super().get_grammar_bitmask(scheduler_output)  # type: ignore[misc]
        if masks is None:
            return None
        drafts, row = scheduler_output.scheduled_spec_decode_tokens, 0
        courses: dict[str, Course] = {}
        for request_id in masks.structured_output_request_ids:
            rows = masks.grammar_bitmask[row : row + 1 + len(drafts.get(request_id, ()))]
            for each, forced in zip(rows, self.forced(self.requests[request_id]), strict=False):
                self._planner.masks.narrow(each, forced)
            row += len(rows)
            if course := self._courses.get(request_id):
                courses[request_id] = course
        self._courses = courses
        return masks

    def forced(self, request: Request) -> Sequence[Forced]:
        """The tokens that are planned to come next in a sequence."""
        course = self._courses.get(request.request_id)
        rest = course.plan.rest(request.output_token_ids) if course else None
        if rest is not None:
            return rest
        matcher = matcher_of(request)
        if matcher is None or (course is not None and not course.plannable):
            return ()
        started = time.perf_counter()
        plan = self._planned(request, matcher)
        seconds = time.perf_counter() - started
        self.engine_metrics.forced_token_plan_seconds.observe(seconds)
        self._courses[request.request_id] = replace(course or Course(plan), plan=plan, seconds=seconds)
        return plan.forced

    def _planned(self, request: Request, matcher: GrammarMatcher) -> Plan:
        """Plan, or do without a plan: whatever a mask may bring to light, it must not end the engine."""
        try:
            return self._planner.plan(matcher, request.output_token_ids)
        except (RuntimeError, ValueError):
            logger.exception("No tokens could be planned for request %s.", request.request_id)
            return Plan(request.num_output_tokens, (), goes_on=False)


class ForcedTokenDrafts(ForcedTokens):
    """Drafts the planned tokens as well."""

    kv_cache_manager: KVCacheManager
    max_model_len: int
    running: list[Request]

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
            request.spec_token_ids = list(tokens)
        return outputs

    def make_spec_decoding_stats(
        self,
        stats: SpecDecodingStats | None,  # noqa: ARG002 - the parameters are vLLM's
        num_draft_tokens: int,
        num_accepted_tokens: int,
        num_invalid_spec_tokens: dict[str, int] | None,  # noqa: ARG002 - as above
        request_id: str,
    ) -> SpecDecodingStats | None:
        """Called for each sequence whose drafts were verified. vLLM's own figures want its configuration."""
        self.engine_metrics.forced_tokens_drafted.inc(num_draft_tokens)
        self.engine_metrics.forced_tokens_accepted.inc(num_accepted_tokens)
        if course := self._courses.get(request_id):
            self._courses[request_id] = replace(
                course,
                accepted=course.accepted + num_accepted_tokens,
                rejected=course.rejected + num_draft_tokens - num_accepted_tokens,
            )
        return None

    def _room(self) -> int:
        """How many tokens may be drafted for the next step. A block for them must displace no sequence."""
        if self.kv_cache_manager.usage > FULL:
            return 0
        return STEP_TOKENS - len(self.running)

    def _draft(self, request: Request) -> Sequence[int]:
        """The first planned tokens. The step writes one more behind them, which may be the answer's last.

        That one must be planned too where the plan may go on.
        """
        forced, course = self.forced(request), self._courses.get(request.request_id)
        if course is None or not course.worthwhile:
            return ()
        left = min(request.max_tokens - request.num_output_tokens, self.max_model_len - request.num_tokens)
        most = max(0, min(MOST_DRAFTED, left - 1, len(forced) - course.plan.goes_on))
        return [each.token for each in forced[:most]]


class PlanningScheduler(ForcedTokens, PacedPrompts, TimedMasks, GatheredSteps, Scheduler):
    """Named in `scheduler_cls` where there is no obstacle."""


class DraftingScheduler(ForcedTokenDrafts, PacedPrompts, TimedMasks, GatheredSteps, Scheduler):
    """The same, with drafts."""


def scheduler_for(*, drafts: bool) -> str:
    """Return the scheduler to name in `scheduler_cls`."""
    scheduler = DraftingScheduler if drafts else PlanningScheduler
    return f"{scheduler.__module__}.{scheduler.__qualname__}"


def token_texts(manager: StructuredOutputManager) -> Sequence[bytes]:
    """The bytes of every token, as the masks know them."""
    require(manager, "backend")
    require(manager.backend, "compiler")
    # A compiler does not show its vocabulary, but what it has compiled does.
    texts: Sequence[bytes] = manager.backend.compiler.compile_regex("a").tokenizer_info.decoded_vocab
    return texts


def matcher_of(request: Request) -> GrammarMatcher | None:
    """Return what knows the mask of a sequence, if there is one."""
    constraint = request.structured_output_request
    grammar = constraint.grammar if constraint is not None else None
    return grammar.matcher if isinstance(grammar, XgrammarGrammar) and not grammar.is_terminated() else None


def draftable(request: Request) -> bool:
    """Whether a sequence has a mask, is past its prompt, and drafts leave its tokens as they are."""
    parameters = request.sampling_params
    if parameters is None or not request.use_structured_output or not request.num_output_tokens:
        return False
    return request.num_computed_tokens >= request.num_tokens - 1 and verifiable(parameters)


def verifiable(parameters: SamplingParams) -> bool:
    """Whether vLLM decides on drafts as it would on single tokens.

    Its rejection sampler knows neither `logit_bias` nor `min_p`. And with a seed the tokens would depend on
    how busy the engine is: drafts use up other random numbers than single steps.
    """
    if parameters.logit_bias:
        return False
    return parameters.temperature == 0 or (parameters.seed is None and not parameters.min_p)


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


def check_drafting_seams() -> None:
    """Raise `SeamError` if a name that drafting needs is gone from vLLM or XGrammar."""
    require(Scheduler, "update_from_output", "make_spec_decoding_stats")
    require(Request, "num_output_tokens", "num_tokens", "append_output_token_ids")
    require(SamplingParams, "logit_bias", "min_p", "seed", "temperature")
    require(XgrammarBackend, "allocate_token_bitmask")
    require(XgrammarGrammar, "matcher", "is_terminated")
    require(GrammarMatcher, "fill_next_token_bitmask", "accept_string", "rollback", "is_completed")


def obstacle(config: VllmConfig) -> str | None:
    """Return why an engine of this configuration cannot draft forced tokens, or None if it can."""
    obstacles = {
        "another method of speculative decoding is set": config.speculative_config is not None,
        "vLLM lets steps overlap": bool(config.scheduler_config.async_scheduling),
        "the model does not run on a CPU": not current_platform.is_cpu() or config.use_v2_model_runner,
        "another worker is set": config.parallel_config.worker_cls != WORKER,
        "the model has a recurrent state": config.model_config.is_hybrid
        or config.model_config.has_inner_state,
        "LoRA adapters are on": config.lora_config is not None,
        "vLLM's reasoning parser is on": bool(config.structured_outputs_config.reasoning_parser),
        "the model is split into pipeline stages": config.parallel_config.pipeline_parallel_size > 1,
    }
    return next((reason for reason, holds in obstacles.items() if holds), None)
