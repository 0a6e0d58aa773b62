"""The one path, whatever the API: check → render → constrain → generate → parse → validate → respond.

    answer = await prepare(request, context)       # refuses what can be refused; no model time spent yet
    async with aclosing(answer.steps()) as steps:
        async for step in steps:                   # Step(index=0, events=(Content("Hi"),), …)
            …                                      # the API's encoder responds

Leaving `steps()` early, as a client that goes away makes it do, aborts the request in the engine.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from server.call_ids import CallIdSource
from server.check import check, fit
from server.constrain import Constraint, constrain
from server.context import Context
from server.engine.protocol import EngineError
from server.errors import ApiError
from server.labels import AbortCause
from server.merge import merge
from server.observe import RequestObserver, Usage
from server.render import Prompt, render
from server.request import FreeText, Mode, Request, SamplingParams
from server.sequence import FinishReason, SequenceReader, Step
from server.settings import NamedFinish
from server.stop import StopSequences
from server.token_reader import TokenReader
from server.validate import AnswerGate, CallGate

PROMPT_TAIL = 16
"""Prompt tokens that the detokenizer sees first: enough for any character or leading space to depend on."""


SEEDS = 2**63
"""Seeds wrap around here, where the engine's end."""


async def prepare(request: Request, context: Context) -> "Answer":
    """Do all that needs no model, off the event loop. Raises `ApiError` (4xx)."""
    return await asyncio.to_thread(_prepare, request, context)


def _prepare(request: Request, context: Context) -> "Answer":
    check(
        request,
        model_names=context.model_names,
        vocabulary=context.vocabulary,
        max_model_len=context.engine.max_model_len,
        planner=context.planner,
    )
    prompt = render(request, template=context.template, vocabulary=context.vocabulary, family=context.family)
    request = fit(request, prompt_tokens=len(prompt.token_ids), max_model_len=context.engine.max_model_len)
    constraint = constrain(
        request,
        family=context.family,
        planner=context.planner,
        tool_mask=context.settings.tool_mask,
        max_calls=context.settings.max_calls,
        opens_reasoning=prompt.opens_reasoning,
    )
    return Answer(request, context, prompt, constraint)


class Answer:
    """A request that nothing is wrong with, ready to be generated once."""

    def __init__(self, request: Request, context: Context, prompt: Prompt, constraint: Constraint) -> None:
        self.request = request
        self._context = context
        self._prompt = prompt
        self._constraint = constraint
        self._observer = RequestObserver(request, family=context.family.name, metrics=context.metrics)
        self._observer.constrained(constraint)
        self._readers = [self._reader() for _ in range(request.n)]
        self._cause = AbortCause.DISCONNECT
        """Why choices that still run are ended: the client left, unless another choice has failed."""

    async def steps(self) -> AsyncGenerator[Step, None]:
        """Generate all choices side by side.

        Raises `EngineError` if the engine fails, `ApiError` (500) if a strict call or answer does.
        """
        try:
            async with aclosing(merge([self._generate(index) for index in range(self.request.n)])) as steps:
                async for step in steps:
                    yield step
        finally:
            self._observer.used(self.usage)

    @property
    def usage(self) -> Usage:
        """What was used so far; final once `steps()` has ended."""
        counts = [reader.tokens for reader in self._readers]
        return Usage(
            prompt=len(self._prompt.token_ids),
            completion=sum(count.completion for count in counts),
            reasoning=sum(count.reasoning for count in counts),
            cached=counts[0].cached,
        )

    async def _generate(self, index: int) -> AsyncGenerator[Step, None]:
        """One choice, from the engine's first token to the step that has `finish`."""
        reader, pace = self._readers[index], self._observer.pace()
        call_ids = CallIdSource(self._context.call_id_form, self.request.messages)
        outputs = self._context.engine.generate(
            f"{self.request.id}-{index}",
            self._prompt.token_ids,
            _sampling(self.request, index),
            self._constraint.structural_tag,
        )
        try:
            async with aclosing(outputs):
                async for output in outputs:
                    pace.saw(len(output.token_ids))
                    events, logprobs, finish = reader.feed(output)
                    step = Step(index, call_ids.named(events), logprobs, finish)
                    if step.finish is not None and output.finish is None:
                        self._observer.aborted(AbortCause.STOP_SEQUENCE)
                    yield step
                    if step.finish is not None:
                        pace.ended()
                        return
        except (GeneratorExit, asyncio.CancelledError):
            self._observer.aborted(self._cause)
            raise
        except (ApiError, EngineError):
            self._cause = AbortCause.FAILURE
            self._observer.aborted(self._cause)
            raise
        raise EngineError("it ended the request without saying why")

    def _reader(self) -> SequenceReader:
        context, request = self._context, self.request
        named_stops = context.settings.named_finish_reason is NamedFinish.STOP
        return SequenceReader(
            tokens=self._token_reader(),
            stop=StopSequences(request.stop),
            calls=CallGate(self._constraint, self._observer),
            answer=AnswerGate(self._constraint.answer, self._observer),
            end_ids=frozenset(context.vocabulary.end_ids),
            after_calls=FinishReason.STOP
            if named_stops and request.choice.mode is Mode.NAMED
            else FinishReason.TOOL_CALLS,
        )

    def _token_reader(self) -> TokenReader:
        """What reads the tokens of one choice.

        A mask is made of text: under it, text that spells a marker is the marker, whatever its tokens.
        """
        context = self._context
        markers = context.markers if self._constraint.structural_tag is None else {}
        return TokenReader(
            context.vocabulary.detokenizer(
                self._prompt.token_ids[-PROMPT_TAIL:], keep=frozenset(context.markers)
            ),
            context.family.parser(
                self._constraint.schemas,
                opens_reasoning=self._prompt.opens_reasoning,
                in_form=not isinstance(self.request.answer_format, FreeText),
                tokens=markers.values(),
            ),
            markers,
        )


def _sampling(request: Request, index: int) -> SamplingParams:
    """Choice `index` draws from a seed of its own, or all choices would be the same."""
    seed = request.sampling.seed
    return request.sampling if seed is None else replace(request.sampling, seed=(seed + index) % SEEDS)
