"""vLLM's CPU worker, with a fault mended by which one client could end the engine for all.

A long prompt is read in chunks. After each chunk but the last, vLLM draws a token and discards it; for a
request with a seed it then winds the seed's generator back, which torch's CPU generators cannot do:

    RuntimeError: CPU Generator does not use offset    # and the engine is dead (vllm 0.32.0)

Here a token that will be discarded is drawn without the request's generator. So there is nothing to wind
back: however the prompt was cut, the first number of the seed draws the first token of the answer.
"""

from typing import Any

import numpy as np
from vllm.v1.outputs import AsyncModelRunnerOutput, ModelRunnerOutput
from vllm.v1.worker.cpu_worker import CPUWorker

from server.engine.core import require


class SeedKeepingCPUWorker(CPUWorker):
    """Named in `worker_cls` on a CPU."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        require(CPUWorker, "sample_tokens", "init_device")
        super().__init__(*args, **kwargs)

    def init_device(self) -> None:
        super().init_device()
        if self.use_v2_model_runner:
            return
        require(self.model_runner, "input_batch", "discard_request_mask")
        require(self.model_runner.input_batch, "generators", "num_reqs")
        require(self.model_runner.discard_request_mask, "np")

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
