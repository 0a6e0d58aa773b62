"""vLLM's CPU worker, with a fault mended by which one client could end the engine for all, and with drafts.

A long prompt is read in chunks. After each chunk but the last, vLLM draws a token and discards it; for a
request with a seed it then winds the seed's generator back, which torch's CPU generators cannot do:

    RuntimeError: CPU Generator does not use offset    # and the engine is dead (vllm 0.32.0)

Here a token that will be discarded is drawn without the request's generator. So there is nothing to wind
back: however the prompt was cut, the first number of the seed draws the first token of the answer.

Drafts (`server.engine.drafts`) are verified in the steps that have some; all other steps are vLLM's own. A
second fault is mended there: on a CPU vLLM computes the temperatures of the drafts, loses them, and divides
by whatever the memory held before.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from vllm.triton_utils.dispatcher import register_kernels
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.outputs import AsyncModelRunnerOutput, ModelRunnerOutput
from vllm.v1.sample.rejection_sampler import RejectionSampler
from vllm.v1.spec_decode.metadata import SpecDecodeMetadata
from vllm.v1.worker.cpu_model_runner import CPUModelRunner
from vllm.v1.worker.cpu_worker import CPUWorker

from server.engine.seams import require

EXPAND = "vllm.v1.sample.rejection_sampler.expand_kernel"


def expand(
    output: torch.Tensor,
    values: torch.Tensor,
    ends: torch.Tensor,
    replace_from: float,
    replace_to: float,
    *_: Any,
) -> None:
    """Repeat each value for the tokens of its row, which end before `ends`, and replace one value."""
    repeated = values.repeat_interleave(torch.diff(ends, prepend=ends.new_zeros(1)))
    output.copy_(torch.where(repeated == replace_from, replace_to, repeated))


class DraftVerifyingCPURunner(CPUModelRunner):
    """Verifies drafts without a configuration of speculative decoding."""

    def install(self) -> None:
        """Complete a runner that was made as vLLM's own."""
        require(self, "_prepare_inputs", "_calc_spec_decode_metadata", "sampler", "speculative_config")
        if self.speculative_config is None:
            self.rejection_sampler = RejectionSampler(self.sampler, None, self.device)
            register_kernels({EXPAND: expand})

    def _prepare_inputs(
        self, scheduler_output: SchedulerOutput, num_scheduled_tokens: npt.NDArray[np.int32]
    ) -> tuple[torch.Tensor, SpecDecodeMetadata | None, int]:
        prepared: tuple[torch.Tensor, SpecDecodeMetadata | None, int] = super()._prepare_inputs(
            scheduler_output, num_scheduled_tokens
        )
        drafts = scheduler_output.scheduled_spec_decode_tokens
        if self.speculative_config is not None or not drafts:
            return prepared
        rows = self.input_batch.req_ids
        counts = np.array([len(drafts.get(request_id, ())) for request_id in rows], dtype=np.int32)
        metadata = self._calc_spec_decode_metadata(counts, np.cumsum(num_scheduled_tokens, dtype=np.int32))
        return metadata.logits_indices, metadata, int(counts.max()) + 1


class StrictcallCPUWorker(CPUWorker):
    """Named in `worker_cls` on a CPU."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        require(CPUWorker, "sample_tokens", "init_device")
        super().__init__(*args, **kwargs)

    def init_device(self) -> None:
        super().init_device()
        if self.use_v2_model_runner:
            return
        runner = self.model_runner
        require(runner, "input_batch", "discard_request_mask")
        require(runner.input_batch, "generators", "num_reqs", "req_ids")
        require(runner.discard_request_mask, "np")
        # vLLM names its runner in code. The class adds methods only, no state of its own.
        runner.__class__ = DraftVerifyingCPURunner
        runner.install()

    def sample_tokens(self, grammar_output: Any) -> ModelRunnerOutput | AsyncModelRunnerOutput:
        if self.use_v2_model_runner:  # it draws by counter, and has no generators
            return super().sample_tokens(grammar_output)
        batch = self.model_runner.input_batch
        discarded = np.nonzero(self.model_runner.discard_request_mask.np[: batch.num_reqs])[0]
        kept = {row: batch.generators.pop(row) for row in map(int, discarded) if row in batch.generators}
        try:
            return super().sample_tokens(grammar_output)
        finally:
            batch.generators.update(kept)
