"""What the path needs of an engine: token ids in, token ids out, under a structural tag.

    async for output in engine.generate("req-1-0", prompt_ids, sampling, structural_tag):
        output.token_ids     # (28, 42): only the new ones
        output.finish        # Finish.STOP with the last

Closing the iterator aborts the request in the engine.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from server.request import SamplingParams


class Finish(Enum):
    """Why the engine stopped by itself."""

    STOP = "stop"
    """The model wrote one of its end tokens, which is among the token ids."""
    LENGTH = "length"
    """The token budget or the context is used up."""


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """Natural log probability of one token after the mask. `top`: the likeliest alternatives, best first."""

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """What one engine step, or several that the reader was too slow for, added to one sequence."""

    token_ids: tuple[int, ...]
    finish: Finish | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    cached_tokens: int = 0
    """Prompt tokens that the prefix cache paid for."""


class EngineError(Exception):
    """The engine failed this request; others may go on."""


class MaskTooSlowError(EngineError):
    """The request's grammar took longer with each token, and was ended so that others need not wait."""

    STOP_REASON = "mask_too_slow"
    """What the engine's process calls it."""


def given_up(reason: str, stop_reason: object) -> EngineError:
    """The error for a request that the engine ended without an answer, by what the engine says of it."""
    if stop_reason == MaskTooSlowError.STOP_REASON:
        return MaskTooSlowError("The mask of the request took too long.")
    return EngineError(f"The engine gave the request up: {reason}.")


class EngineDeadError(EngineError):
    """The engine is gone, and every request with it."""


class EngineRestartingError(EngineError):
    """There is no engine at this moment, but there will be."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds after which a request may find it again."""


class WorkerLostError(EngineRestartingError):
    """The worker that ran this request is gone, or none can be reached; another may take it."""


class Engine(Protocol):
    """Generates for many requests at once."""

    max_model_len: int
    """Tokens that prompt and answer may have together."""
    version: str
    """What runs behind, for `/version`: `vllm 0.32.0`."""

    @property
    def unfinished(self) -> int:
        """How many requests are not finished, waiting ones included."""
        ...

    def generate(
        self, request_id: str, prompt: Sequence[int], sampling: SamplingParams, structural_tag: str | None
    ) -> AsyncGenerator[Output, None]:
        """Generate one sequence. `sampling.max_tokens` is set and fits the context.

        Raises `EngineError`; closing the iterator early aborts the request.
        """
        ...

    async def check(self) -> None:
        """Raise `EngineError` if nothing can be generated now, `EngineDeadError` if never again."""
        ...

    async def close(self) -> None:
        """Stop the engine and its processes."""
        ...
