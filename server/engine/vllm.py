"""vLLM in this process's event loop, behind the `Engine` protocol: the only adapter that knows vLLM's API.

    engine = await VllmEngine.start("/models/qwen", options={"max_model_len": 4096})
    async for output in engine.generate("req-1-0", prompt_ids, SamplingParams(max_tokens=50), structural_tag):
        output.token_ids     # (28, 42)

vLLM is imported when an engine is started, not before. Its model runs in processes of its own.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import ValidationError

from server.engine.environment import multiprocess_metrics, prepare_environment
from server.engine.protocol import (
    EngineDeadError,
    EngineError,
    Finish,
    Output,
    TokenLogprob,
    given_up,
)
from server.engine.sampling import drawn
from server.request import SamplingParams
from server.telemetry.tracing import trace_headers

if TYPE_CHECKING:
    import vllm
    from vllm.inputs import EngineInput, PromptType
    from vllm.logprobs import Logprob
    from vllm.v1.engine.async_llm import AsyncLLM

GIB = 2**30

OPTIONS: Mapping[str, Any] = {
    "structured_outputs_config": {"backend": "xgrammar"},
}
"""Set for every engine: another backend, once chosen, would serve every later request and lacks our tags."""

LONG_PREFILL = 128
"""Tokens of one prompt that a step reads on a CPU, where they take some tenths of a second."""

CPU_OPTIONS: Mapping[str, Any] = {
    "enforce_eager": True,  # compiling costs a minute at start, and has given wrong text
    "max_num_seqs": 32,
    "kv_cache_memory_bytes": 2 * GIB,  # vLLM's own default is a share of all memory
    "worker_cls": "server.engine.worker.StrictcallCPUWorker",
    # A prompt of thousands of tokens is read in pieces if others are waiting for their next token.
    "long_prefill_token_threshold": LONG_PREFILL,
}
"""What vLLM is given on a CPU unless the user says otherwise."""

STOP_SECONDS = 20.0
"""How long the engine's processes may take to end before they are killed: they have much memory to return."""

FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}


def cpu_options() -> dict[str, Any]:
    """`CPU_OPTIONS`, in float32 where an x86 processor has no bfloat16 arithmetic.

    There a product in bfloat16, which most models are stored in, takes many times as long as in float32.
    """
    from torch import cpu

    able = cpu.get_capabilities()
    lacks_bf16 = able["architecture"] == "x86_64" and not able["avx512_bf16"]
    return {**CPU_OPTIONS, **({"dtype": "float32"} if lacks_bf16 else {})}


def fitting(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with no prompt read in pieces that are longer than the context, which vLLM refuses."""
    piece, context = options.get("long_prefill_token_threshold"), options.get("max_model_len")
    if isinstance(piece, int) and isinstance(context, int) and 0 < context < piece:
        return {**options, "long_prefill_token_threshold": context}
    return dict(options)


class VllmEngine:
    """Generates with a vLLM engine. Made by `start`; belongs to the event loop that first generates."""

    def __init__(self, llm: "AsyncLLM", *, version: str, undrafted: str | None = None) -> None:
        self._llm: AsyncLLM | None = llm
        self._defaults: Mapping[str, Any] = llm.model_config.get_diff_sampling_param()
        self.max_model_len: int = llm.model_config.max_model_len
        self.version = version
        self.undrafted = undrafted
        """Why forced tokens are not drafted, or None if they are."""
        self._running: set[str] = set()

    @classmethod
    async def start(
        cls,
        model: str,
        *,
        options: Mapping[str, Any] | None = None,
        metrics_directory: Path | None = None,
        draft_forced_tokens: bool = True,
    ) -> Self:
        """Load `model` (a directory or a hub name) and return once it can generate.

        `options` are fields of vLLM's `AsyncEngineArgs`, see `server.engine.arguments`. The engine's
        processes keep their figures in `metrics_directory` (`Metrics.engine_directory`). The event loop stays
        free. Raises `EngineError` if the engine does not come up.
        """
        start = partial(cls._start, draft_forced_tokens=draft_forced_tokens)
        return await asyncio.to_thread(start, model, options or {}, metrics_directory)

    @classmethod
    def _start(
        cls,
        model: str,
        options: Mapping[str, Any],
        metrics_directory: Path | None,
        *,
        draft_forced_tokens: bool,
    ) -> Self:
        prepare_environment()
        import vllm
        from vllm.platforms import current_platform
        from vllm.v1.engine.async_llm import AsyncLLM

        from server.engine.scheduling import install_scheduler
        from server.engine.seams import SeamError
        from server.engine.stat_logger import SparingStatLogger, check_stat_seams

        defaults = {**(cpu_options() if current_platform.is_cpu() else {}), **OPTIONS}
        try:
            arguments = vllm.AsyncEngineArgs(model=model, **fitting({**defaults, **options}))
            config = arguments.create_engine_config()
            undrafted = install_scheduler(config, drafts=draft_forced_tokens)
            check_stat_seams()
            with multiprocess_metrics(metrics_directory):
                # In no variable: vLLM keeps a traceback that keeps this frame, which would keep the engine.
                version = f"vllm {vllm.__version__}"
                return cls(
                    AsyncLLM.from_vllm_config(config, stat_loggers=[SparingStatLogger]),
                    version=version,
                    undrafted=undrafted,
                )
        except (SeamError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise EngineError(f"vLLM could not start with the model {model!r}: {reason_of(error)}") from error

    async def generate(
        self, request_id: str, prompt: Sequence[int], sampling: SamplingParams, structural_tag: str | None
    ) -> AsyncGenerator[Output, None]:
        """Generate one sequence; see `server.engine.protocol.Engine.generate`."""
        llm = self._living()
        self._running.add(request_id)
        try:
            with translated_errors():
                parameters = sampling_parameters(sampling, self._defaults, structural_tag)
                steps = llm.generate(
                    engine_prompt(prompt, checked_apart=structural_tag is not None),
                    parameters,
                    request_id,
                    # vLLM takes them only where it sends spans itself.
                    trace_headers=trace_headers() if llm.observability_config.otlp_traces_endpoint else None,
                )
                async with contextlib.aclosing(steps):
                    async for step in steps:
                        yield to_output(step, sampling.logprobs or 0)
        except EngineError:
            await llm.abort(request_id)  # vLLM forgets to where a request fails on its way to the engine
            raise
        finally:
            self._running.discard(request_id)

    async def check(self) -> None:
        """Raise `EngineDeadError` if nothing can be generated any more."""
        with translated_errors():
            await self._living().check_health()

    @property
    def unfinished(self) -> int:
        """How many requests vLLM has not finished; see `server.engine.protocol.Engine.unfinished`."""
        return self._llm.get_num_unfinished_requests() if self._llm else 0

    async def close(self) -> None:
        """Stop the engine and its processes. Requests that are running end with an `EngineError`."""
        if self._llm is None:
            return
        llm, self._llm = self._llm, None
        await llm.abort(self._running)
        if llm.output_handler is not None:
            llm.output_handler.cancel()  # or it reports the end of the processes as a failure
        await asyncio.to_thread(llm.shutdown, STOP_SECONDS)
        await asyncio.sleep(0)  # for the sockets, whose end vLLM has left to this loop
        llm.engine_core.resources.ctx.destroy(linger=0)

    def _living(self) -> "AsyncLLM":
        if self._llm is None:
            raise EngineDeadError("The engine was stopped.")
        return self._llm


def reason_of(error: Exception) -> str:
    """Return what an exception says, without the frame that pydantic sets around it."""
    if isinstance(error, ValidationError):
        return "; ".join(found["msg"] for found in error.errors(include_url=False, include_input=False))
    return str(error) or str(error.__cause__) or type(error).__name__


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Turn vLLM's exceptions into those of the protocol."""
    from vllm.exceptions import VLLMError
    from vllm.v1.engine.exceptions import EngineDeadError as VllmDeadError

    try:
        yield
    except VllmDeadError as error:
        raise EngineDeadError("The engine has stopped. Its log says why.") from error
    except (VLLMError, ValueError) as error:
        raise EngineError(f"The engine refused the request: {reason_of(error)}") from error


def engine_prompt(prompt: Sequence[int], *, checked_apart: bool) -> "PromptType | EngineInput":
    """Return vLLM's form of a prompt.

    One that is ready is checked where it comes, with its request, and a raw one on a thread. That is what a
    structural tag needs, as its check may take long.
    """
    from vllm.inputs import tokens_input

    ids = list(prompt)
    return {"prompt_token_ids": ids} if checked_apart else tokens_input(ids)


def sampling_parameters(
    sampling: SamplingParams, defaults: Mapping[str, Any], structural_tag: str | None
) -> "vllm.SamplingParams":
    """Return vLLM's form of `sampling`. `defaults` are those of the model's generation config."""
    import vllm
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    return vllm.SamplingParams(
        **drawn(sampling, defaults),
        frequency_penalty=sampling.frequency_penalty,
        presence_penalty=sampling.presence_penalty,
        seed=sampling.seed,
        logit_bias=dict(sampling.logit_bias) or None,
        max_tokens=sampling.max_tokens,
        logprobs=sampling.logprobs,
        detokenize=False,  # the path does it, from ids, so that a split marker cannot be mistaken
        skip_special_tokens=False,
        output_kind=RequestOutputKind.DELTA,
        stream_interval=sampling.stream_interval,
        structured_outputs=(
            None if structural_tag is None else StructuredOutputsParams(structural_tag=structural_tag)
        ),
    )


def to_output(step: "vllm.RequestOutput", alternatives: int) -> Output:
    """Return what `step` adds. Raises `EngineError` if vLLM gave the request up."""
    [completion] = step.outputs
    reason = completion.finish_reason
    if reason is not None and reason not in FINISHES:
        raise given_up(reason, completion.stop_reason)
    token_ids = tuple(completion.token_ids)
    return Output(
        token_ids=token_ids,
        finish=FINISHES.get(reason),
        logprobs=to_logprobs(token_ids, completion.logprobs, alternatives) if completion.logprobs else (),
        cached_tokens=step.num_cached_tokens or 0,
    )


def to_logprobs(
    token_ids: Sequence[int], logprobs: "Sequence[Mapping[int, Logprob]]", alternatives: int
) -> tuple[TokenLogprob, ...]:
    """Return the logprob of each token; vLLM may have fewer than tokens."""
    told = zip(token_ids, logprobs, strict=False)
    return tuple(to_logprob(token_id, candidates, alternatives) for token_id, candidates in told)


def to_logprob(token_id: int, candidates: "Mapping[int, Logprob]", alternatives: int) -> TokenLogprob:
    """Return the token's logprob and the likeliest `alternatives`, without those that the mask forbids."""
    possible = [(other, found.logprob) for other, found in candidates.items() if math.isfinite(found.logprob)]
    possible.sort(key=lambda pair: -pair[1])
    return TokenLogprob(token_id, candidates[token_id].logprob, tuple(possible[:alternatives]))
