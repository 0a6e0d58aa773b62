"""One attempt at an answer, ready to be generated: its prompt, its mask, and what reads its tokens.

attempt = plan_attempt(request, context)        # raises `ApiError` (4xx); spends no model time
reader = attempt.reader(context, observer)
"""

from dataclasses import dataclass, replace

from parsers.family import Family
from parsers.unmarked import Unmarked
from server.answering.check import fit
from server.answering.observe import RequestObserver
from server.answering.sequence import FinishReason, SequenceReader
from server.answering.stop import StopSequences
from server.answering.validate import AnswerGate, CallGate, told_at_end
from server.config.settings import NamedFinish
from server.context import Context
from server.mask.compiling import check_compiling, check_form
from server.mask.constrain import Constraint, constrain
from server.mask.unsupported import described, refuse_unmasked
from server.policy import UnsupportedKeywords
from server.prompt.render import Prompt, render
from server.request import FreeText, Mode, RawText, RawTokens, Request, SamplingParams, Templated
from server.telemetry.tracing import stage
from server.tokens.reader import TokenReader

GATHERED = 16
"""Tokens that come together where the client sees none before the last, or what is held is complete.

So many may be written for nothing behind a call that is to be written again.
"""

PROMPT_TAIL = 16
"""Prompt tokens that the detokenizer sees first: enough for any character or leading space to depend on."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the engine is asked, but for the seed. `sampling` is the request's, bounded by the context."""

    request: Request
    prompt: Prompt
    constraint: Constraint
    sampling: SamplingParams

    def reader(self, context: Context, observer: RequestObserver, *, passed: int = 0) -> SequenceReader:
        """Make what reads one sequence of it; `passed` calls of the answer came before."""
        constraint, request = self.constraint, self.request
        named_stops = context.settings.named_finish_reason is NamedFinish.STOP
        return SequenceReader(
            tokens=self._token_reader(context),
            stop=StopSequences(request.stop),
            calls=CallGate(constraint, observer, passed=passed),
            answer=AnswerGate(constraint.answer, observer, constraint.policy),
            end_ids=frozenset(context.vocabulary.end_ids),
            after_calls=FinishReason.STOP
            if named_stops and request.choice.mode is Mode.NAMED
            else FinishReason.TOOL_CALLS,
        )

    def _token_reader(self, context: Context) -> TokenReader:
        """What reads the tokens.

        A mask is made of text: under it, text that spells a marker is the marker, whatever its tokens.
        """
        markers = context.markers if self.constraint.structural_tag is None else {}
        return TokenReader(
            context.vocabulary.detokenizer(
                self.prompt.token_ids[-PROMPT_TAIL:], keep=frozenset(context.markers)
            ),
            family_of(self.request, context).parser(
                self.constraint.schemas,
                opens_reasoning=self.prompt.opens_reasoning,
                in_form=not isinstance(self.request.answer_format, FreeText),
                tokens=markers.values(),
            ),
            markers,
        )


def family_of(request: Request, context: Context) -> Family:
    """What the model writes to this request: in a template's turn what its family does, else text alone."""
    return context.family if isinstance(request.source, Templated) else Unmarked(context.family)


def make_prompt(request: Request, context: Context) -> Prompt:
    """Make what the model is to read of a request. Raises `ApiError` (400)."""
    match request.source:
        case RawText(text):
            return Prompt(text, tuple(context.vocabulary.encode_document(text)), opens_reasoning=False)
        case RawTokens(token_ids):
            return Prompt(context.vocabulary.decode(token_ids), token_ids, opens_reasoning=False)
    shown = request
    if request.policy.unsupported_keywords is UnsupportedKeywords.DESCRIBE:
        shown = described(request, context.planner, context.family.call.style)
    return render(shown, template=context.template, vocabulary=context.vocabulary, family=context.family)


def plan_attempt(request: Request, context: Context, *, passed: int = 0) -> Attempt:
    """Render and constrain a request, of which `passed` calls have passed already.

    Runs in a thread: it may take a while. Raises `ApiError` (400).
    """
    with stage("render") as rendering:
        prompt = make_prompt(request, context)
        rendering.says(gen_ai__usage__input_tokens=len(prompt.token_ids))
    budget = fit(request, prompt_tokens=len(prompt.token_ids), max_model_len=context.engine.max_model_len)
    constraint = _constrain(request, prompt, context, passed=passed)
    if request.policy.unsupported_keywords is UnsupportedKeywords.REJECT:
        refuse_unmasked(constraint)
    with stage("compile"):
        check_compiling(constraint, context.deadline)
    interval = _stream_interval(request, constraint, family_of(request, context))
    sampling = replace(request.sampling, max_tokens=budget, stream_interval=interval)
    return Attempt(request, prompt, constraint, sampling)


def _stream_interval(request: Request, constraint: Constraint, family: Family) -> int:
    """How many tokens may come together, which costs a fraction of what they do one by one."""
    if request.stop:
        return 1  # what they spell may end the answer
    whole = not request.stream or (told_at_end(constraint) and family.reasoning is None)
    return GATHERED if whole else 1


def _constrain(request: Request, prompt: Prompt, context: Context, *, passed: int) -> Constraint:
    with stage("constrain"):
        check_form(request.answer_format, context.settings.schema_limits, context.deadline)
        return constrain(
            request,
            family=family_of(request, context),
            planner=context.planner,
            tool_mask=context.settings.tool_mask,
            max_calls=max(1, context.settings.max_calls - passed),
            opens_reasoning=prompt.opens_reasoning,
        )
