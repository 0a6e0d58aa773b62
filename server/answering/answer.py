"""The one path, whatever the API: check → render → constrain → generate → parse → validate → respond.

    answer = await prepare(request, context)       # refuses what can be refused; no model time spent yet
    async with aclosing(answer.steps()) as steps:
        async for step in steps:                   # Step(index=0, events=(Content("Hi"),), …)
            …                                      # the API's encoder responds

Leaving `steps()` early, as a client that goes away makes it do, aborts the request in the engine.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from server.answering.attempt import Attempt, make_prompt, plan_attempt
from server.answering.check import check
from server.answering.choice import Choice
from server.answering.merge import merge
from server.answering.observe import RequestObserver, Usage
from server.answering.sequence import Step
from server.answering.verdict import Coverage, coverage
from server.context import Context
from server.limits.time_limit import current_limit
from server.request import FreeText, Request, Templated

QUICK_LETTERS = 2_000
"""So much is cut into tokens in half a millisecond, for which others can wait, and a thread costs too."""

MESSAGE_LETTERS = 100
"""What a template adds to a message, at the least; many empty ones take their time too."""


async def prepare(request: Request, context: Context) -> "Answer":
    """Do all that needs no model, off the event loop if it takes time. Raises `ApiError` (4xx)."""
    if _is_quick(request):
        return _prepare([request], context)
    return await prepare_all([request], context)


def _is_quick(request: Request) -> bool:
    """Whether there are no schemas and little text."""
    if request.tools or not isinstance(request.answer_format, FreeText):
        return False
    if not isinstance(request.source, Templated) or any(each.tool_calls for each in request.messages):
        return False
    letters = sum(MESSAGE_LETTERS + len(each.content) + len(each.reasoning) for each in request.messages)
    return letters <= QUICK_LETTERS


async def prepare_all(requests: Sequence[Request], context: Context) -> "Answer":
    """Prepare one answer to several requests, which differ in their prompts only. Raises `ApiError` (4xx)."""
    return await asyncio.to_thread(_prepare, requests, context)


async def count_prompt(request: Request, context: Context) -> int:
    """Count the tokens of the prompt of a request that `prepare` would take. Raises `ApiError` (4xx)."""
    return await asyncio.to_thread(_count_prompt, request, context)


def _count_prompt(request: Request, context: Context) -> int:
    _check(request, context)
    return len(make_prompt(request, context).token_ids)


def _check(request: Request, context: Context) -> None:
    check(
        request,
        model_names=context.model_names,
        vocabulary=context.vocabulary,
        max_model_len=context.engine.max_model_len,
        planner=context.planner,
        profile=context.settings.schema_profile,
    )


def _prepare(requests: Sequence[Request], context: Context) -> "Answer":
    for request in requests:
        _check(request, context)
    attempts = [plan_attempt(request, context) for request in requests]
    first = attempts[0]
    told = coverage(first.constraint) if first.request.policy.report else None
    return Answer(attempts, context, told)


class Answer:
    """Requests that nothing is wrong with, ready to be generated once: the choices of each, in order."""

    def __init__(self, attempts: Sequence[Attempt], context: Context, told: Coverage | None = None) -> None:
        request = attempts[0].request
        self.prompts = [attempt.prompt for attempt in attempts]
        self._n = request.n
        self._limit = current_limit()
        self._observer = RequestObserver(
            request, family=context.family.name, metrics=context.metrics, limit=self._limit
        )
        self._observer.constrained(attempts[0].constraint)
        firsts = (attempt for attempt in attempts for _ in range(request.n))
        self._choices = [
            Choice(index, first, context, self._observer, coverage=told) for index, first in enumerate(firsts)
        ]

    async def steps(self) -> AsyncGenerator[Step, None]:
        """Generate all choices side by side.

        Raises `EngineError` if the engine fails, `ApiError` (500) if a call or answer breaks its schema and
        may not pass, `ApiError` (504, 503) if the request's time ends.
        """
        try:
            async with aclosing(merge([choice.steps() for choice in self._choices])) as steps:
                while True:
                    try:
                        step = await self._limit.wait(steps.__anext__)
                    except StopAsyncIteration:
                        break
                    yield step
        finally:
            self._observer.used(self.usage)

    @property
    def usage(self) -> Usage:
        """What was used so far; final once `steps()` has ended. A prompt counts once for all its choices."""
        used = [choice.usage for choice in self._choices]
        return Usage(
            prompt=sum(len(prompt.token_ids) for prompt in self.prompts) + sum(each.prompt for each in used),
            completion=sum(each.completion for each in used),
            reasoning=sum(each.reasoning for each in used),
            cached=sum(choice.cached_at_first for choice in self._choices[:: self._n])
            + sum(each.cached for each in used),
        )
