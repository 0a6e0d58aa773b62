"""An engine that replays what it is told: for tests and benchmarks, where a model would be slow or random.

    engine = ScriptedEngine([Script([(28, 42), (2,)])])
    async for output in engine.generate("req-1", prompt, sampling, structural_tag):
        output          # Output((28, 42)), then Output((2,), finish=Finish.STOP)
    engine.asked[0].structural_tag

It knows no model and no mask. Whether a script is something that a masked model could have written is up to
whoever wrote it.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from server.engine.protocol import EngineDeadError, EngineError, Finish, Output, TokenLogprob
from server.request import SamplingParams


@dataclass(frozen=True, slots=True)
class Script:
    """What one request gets, step by step.

    `deltas` are the token ids of each step. After them comes `error`, if there is one; else the last step
    says `finish`. A request whose token budget ends before gets `Finish.LENGTH` there. Before each step,
    `gate` (if given) must be set. `logprobs` are those of all tokens in order, told if the request asks.
    """

    deltas: Sequence[Sequence[int]]
    finish: Finish = Finish.STOP
    error: EngineError | None = None
    gate: asyncio.Event | None = None
    logprobs: Sequence[TokenLogprob] = ()
    cached_tokens: int = 0


class Ending(Enum):
    """How a request went by, for assertions."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CLOSED = "closed"
    """The consumer left early: a real engine aborts the request then."""


@dataclass(slots=True)
class Asked:
    """One call of `generate`, as it came in, and what has become of it."""

    request_id: str
    prompt: tuple[int, ...]
    sampling: SamplingParams
    structural_tag: str | None
    ending: Ending = field(default=Ending.RUNNING)


Scripts = Iterable[Script] | Callable[[Asked], Script]
"""One script for each request, in the order in which they begin, or a function that writes it."""


class ScriptedEngine:
    """Answers request after request from `scripts`. Records every request in `asked`."""

    version = "scripted"

    def __init__(self, scripts: Scripts = (), *, max_model_len: int = 8192) -> None:
        self.max_model_len = max_model_len
        self.asked: list[Asked] = []
        self.dead = False
        """Set it to have an engine that died: everything raises `EngineDeadError`."""
        self._script_for = scripts if callable(scripts) else one_by_one(iter(scripts))

    async def generate(
        self, request_id: str, prompt: Sequence[int], sampling: SamplingParams, structural_tag: str | None
    ) -> AsyncGenerator[Output, None]:
        """Replay the next script; see `server.engine.protocol.Engine.generate`."""
        await self.check()
        asked = Asked(request_id, tuple(prompt), sampling, structural_tag)
        self.asked.append(asked)
        try:
            script = self._script_for(asked)
            for output in outputs(script, sampling):
                if script.gate is not None:
                    await script.gate.wait()
                await self.check()
                if output.finish is not None:
                    asked.ending = Ending.FINISHED
                yield output
            if script.error is not None and asked.ending is Ending.RUNNING:
                raise script.error
        except EngineError:
            asked.ending = Ending.FAILED
            raise
        finally:
            if asked.ending is Ending.RUNNING:
                asked.ending = Ending.CLOSED

    @property
    def unfinished(self) -> int:
        """How many requests still run."""
        return sum(asked.ending is Ending.RUNNING for asked in self.asked)

    async def check(self) -> None:
        """Raise `EngineDeadError` if `dead` was set."""
        if self.dead:
            raise EngineDeadError("The scripted engine is dead.")

    async def close(self) -> None:
        """Be dead from now on."""
        self.dead = True


def outputs(script: Script, sampling: SamplingParams) -> Iterator[Output]:
    """Yield the steps of the script up to the token budget; the last says `finish` unless it is to fail."""
    left = sum(map(len, script.deltas)) if sampling.max_tokens is None else sampling.max_tokens
    logprobs = iter(script.logprobs if sampling.logprobs is not None else ())
    final = None if script.error else len(script.deltas) - 1
    for number, delta in enumerate(script.deltas):
        token_ids = tuple(delta[:left])
        left -= len(token_ids)
        told = tuple(itertools.islice(logprobs, len(token_ids)))
        if number == final and len(token_ids) == len(delta):
            yield Output(token_ids, script.finish, told, script.cached_tokens)
        elif left == 0:
            yield Output(token_ids, Finish.LENGTH, told, script.cached_tokens)
            return
        else:
            yield Output(token_ids, None, told, script.cached_tokens)


def one_by_one(scripts: Iterator[Script]) -> Callable[[Asked], Script]:
    """Return a function that hands out the scripts in order."""

    def following(asked: Asked) -> Script:
        try:
            return next(scripts)
        except StopIteration:
            raise EngineError(f"No script is left for the request {asked.request_id!r}.") from None

    return following
