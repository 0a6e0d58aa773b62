"""One choice of an answer, attempt after attempt, until what it writes may pass.

    choice = Choice(0, attempt, context, observer, coverage=None)
    async with aclosing(choice.steps()) as steps:
        async for step in steps: …      # of the attempts that were wrong only what had passed before

A call or an answer outside its schema is held back while it is written, so that nothing of it has been told
when it is found to be wrong; the model is then shown its errors, and writes it
again (`server.answering.repair`).
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from parsers.events import CallBegin
from server.answering.attempt import Attempt, plan_attempt
from server.answering.observe import RequestObserver, Usage
from server.answering.repair import Written, can_follow, follow_up
from server.answering.sequence import FinishReason, SequenceReader, Step
from server.answering.slices import in_slices
from server.answering.validate import Violation, violation_error
from server.answering.verdict import Coverage, Verdict
from server.context import Context
from server.engine.protocol import EngineError, Output
from server.errors import ApiError
from server.prompt.call_ids import CallIdSource
from server.request import Request, SamplingParams
from server.telemetry.labels import AbortCause, Repair
from server.telemetry.tracing import Stage, stage

MOST_CHOICES = 128
"""So far apart are the seeds of attempts; as many choices a request may ask for."""

SEEDS = 2**63
"""Seeds wrap around here, where the engine's end."""


class Choice:
    """Generates choice `index`, beginning with the attempt that all choices have in common."""

    def __init__(
        self,
        index: int,
        first: Attempt,
        context: Context,
        observer: RequestObserver,
        *,
        coverage: Coverage | None,
    ) -> None:
        self._index = index
        self._attempt = first
        self._context = context
        self._observer = observer
        self._coverage = coverage
        self._ids = CallIdSource(context.call_id_form, first.request.messages)
        self._pace = observer.pace()
        self._readers = [first.reader(context, observer)]
        self._prompts: list[int] = []
        """Tokens of the prompts of further attempts."""
        self._passed = 0
        self._finish: FinishReason | None = None

    async def steps(self) -> AsyncGenerator[Step, None]:
        """Yield up to the step that has `finish`. Raises `EngineError`, or `ApiError` (500)."""
        try:
            # One generator for all of this: each one that a token passes through takes its time.
            while True:
                written, reader = Written(), self._readers[-1]
                with stage("generate") as generating:
                    async with aclosing(self._run(reader, generating)) as steps:
                        async for step in steps:
                            self._finish = step.finish
                            written.add(step.events)
                            yield step
                    generating.says(gen_ai__usage__output_tokens=reader.tokens.completion)
                if reader.rejected is None:
                    return
                await self._try_again(written, reader.rejected)
        except (GeneratorExit, asyncio.CancelledError):
            self._observer.left()
            raise
        except (ApiError, EngineError):
            self._observer.failed()
            raise
        finally:
            if self._prompts:
                self._observer.repaired(self._outcome())

    @property
    def usage(self) -> Usage:
        """What its sequences used so far, and the prompts of all attempts but the first."""
        counts = [reader.tokens for reader in self._readers]
        return Usage(
            prompt=sum(self._prompts),
            completion=sum(count.completion for count in counts),
            reasoning=sum(count.reasoning for count in counts),
            cached=sum(count.cached for count in counts[1:]),
        )

    @property
    def cached_at_first(self) -> int:
        """Tokens of the first prompt that the prefix cache paid for."""
        return self._readers[0].tokens.cached

    async def _run(self, reader: SequenceReader, generating: Stage) -> AsyncGenerator[Step, None]:
        """One attempt, from the engine's first token to its end, or to where it is rejected."""
        async with aclosing(self._outputs()) as outputs:
            async for output in outputs:
                for number, part in enumerate(in_slices(output)):
                    if number:
                        await asyncio.sleep(0)  # the others have their turn
                    first = self._pace.saw(len(part.token_ids))
                    if first:
                        generating.happened("first_token")
                    step, rejected = self._read(reader, part), reader.rejected is not None
                    # The first step says that the model has begun, even if nothing passes yet.
                    if step.events or step.finish is not None or (first and not rejected):
                        yield step
                    if step.finish is not None or rejected:
                        return
        raise EngineError("it ended the request without saying why")

    def _outputs(self) -> AsyncGenerator[Output, None]:
        """Begin an attempt in the engine."""
        attempt, number = self._attempt, len(self._readers)
        name = f"{attempt.request.id}-{self._index}"
        return self._context.engine.generate(
            name if number == 1 else f"{name}-{number}",
            attempt.prompt.token_ids,
            # The choices of each of several prompts draw as they would if it were the only one.
            _sampling(attempt.sampling, self._index % attempt.request.n, number),
            attempt.constraint.structural_tag,
        )

    def _read(self, reader: SequenceReader, output: Output) -> Step:
        """Read one output; tell the observer if it is not the engine that ends the attempt with it."""
        events, logprobs, finish = reader.feed(output)
        named = self._ids.named(events)
        if finish is None:
            rejected = reader.rejected
            if rejected is not None and output.finish is None and self._may_try_again(rejected):
                self._observer.aborted(AbortCause.RETRY)
            return Step(self._index, named, logprobs)
        if output.finish is None:
            self._observer.aborted(AbortCause.STOP_SEQUENCE)
        self._pace.ended()
        return Step(self._index, named, logprobs, finish, self._verdict(), reader.stop_sequence)

    def _may_try_again(self, rejected: Violation) -> bool:
        request = self._attempt.request
        return can_follow(request, rejected) and len(self._readers) < request.policy.max_attempts

    async def _try_again(self, written: Written, rejected: Violation) -> None:
        """Make ready for the next attempt. Raises `ApiError` (500) if there is to be none."""
        error = violation_error(rejected, attempts=len(self._readers))
        if not self._may_try_again(rejected):
            raise error
        self._passed += len(written.calls)
        request = follow_up(self._attempt.request, written, rejected, self._id_of(rejected))
        try:
            self._attempt = await asyncio.to_thread(self._plan, request)
        except ApiError as exc:  # the longer conversation does not fit, or its template refuses it
            raise error from exc
        self._observer.retried(rejected.errors)
        self._prompts.append(len(self._attempt.prompt.token_ids))
        self._readers.append(self._attempt.reader(self._context, self._observer, passed=self._passed))

    def _plan(self, request: Request) -> Attempt:
        return plan_attempt(request, self._context, passed=self._passed)

    def _id_of(self, rejected: Violation) -> str:
        """Return an id for a call that no client sees."""
        [named] = self._ids.named([CallBegin(0, rejected.name)])
        return named.id or "" if isinstance(named, CallBegin) else ""

    def _verdict(self) -> Verdict:
        violations = tuple(
            (number, violation)
            for number, reader in enumerate(self._readers, 1)
            for violation in reader.violations
        )
        return Verdict(len(self._readers), violations, self._coverage)

    def _outcome(self) -> Repair:
        if self._readers[-1].rejected is not None:
            return Repair.FAILED
        done = self._finish not in (None, FinishReason.LENGTH)
        return Repair.REPAIRED if done else Repair.UNFINISHED


def _sampling(sampling: SamplingParams, index: int, number: int) -> SamplingParams:
    """Each choice draws from a seed of its own, or all would be the same, and so does each attempt at it."""
    seed = sampling.seed
    if seed is None:
        return sampling
    return replace(sampling, seed=(seed + index + MOST_CHOICES * (number - 1)) % SEEDS)
