"""One sequence from the engine's tokens to checked events: detokenize → parse → stop → validate → finish.

    reader = SequenceReader(tokens=TokenReader(…), …)
    events, logprobs, finish = reader.feed(Output((28, 42)))     # (Content("Hi"),), (), None
    reader.rejected          # None, or the violation because of which no more is to be read

Everything here is synchronous and sees the output once, so a streamed answer and a whole one are the same.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from parsers.events import CallBegin, CallEnd, Content, Event
from server.answering.stop import StopSequences
from server.answering.validate import AnswerGate, CallGate, Violation
from server.answering.verdict import Verdict
from server.engine.protocol import Finish, Output, TokenLogprob
from server.tokens.reader import TokenReader


class FinishReason(StrEnum):
    """Why an answer ended, as the client is told."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class Step:
    """What one engine output added to choice `index`. The last step has `finish`, and its `verdict`.

    `stop_sequence` is the one of the request's that ended the text, if one did; only the last step has it.
    """

    index: int
    events: tuple[Event, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    finish: FinishReason | None = None
    verdict: Verdict | None = None
    stop_sequence: str | None = None


Read = tuple[tuple[Event, ...], tuple[TokenLogprob, ...], FinishReason | None]
"""What one output came to: the fields of a `Step` but for its index."""


@dataclass(slots=True)
class TokenCounts:
    """Tokens of one sequence, `reasoning` among the `completion` ones."""

    completion: int = 0
    reasoning: int = 0
    cached: int = 0


class SequenceReader:
    """Reads one sequence. `feed` until it has `finish` or is `rejected`; what comes after is not read.

    The log probabilities of what is held are held with it, and go with it where it is rejected.
    """

    def __init__(
        self,
        *,
        tokens: TokenReader,
        stop: StopSequences,
        calls: CallGate,
        answer: AnswerGate,
        end_ids: frozenset[int],
        after_calls: FinishReason = FinishReason.TOOL_CALLS,
    ) -> None:
        self.tokens = TokenCounts()
        self.violations: list[Violation] = []
        """What broke its schema: those that passed all the same, and last the one that did not."""
        self._reader = tokens
        self._stop = stop
        self._calls = calls
        self._answer = answer
        self._end_ids = end_ids
        self._after_calls = after_calls
        self._called = False
        self._held: list[TokenLogprob] = []

    @property
    def rejected(self) -> Violation | None:
        """The violation that ends the sequence, because it must not pass."""
        last = self.violations[-1] if self.violations else None
        return None if last is None or last.passes else last

    @property
    def stop_sequence(self) -> str | None:
        """The stop sequence that ended the text."""
        return self._stop.matched

    @property
    def _over(self) -> bool:
        return self.stop_sequence is not None or self.rejected is not None

    def feed(self, output: Output) -> Read:
        """Read one engine output."""
        checked: list[Event] = []
        logprobs: list[TokenLogprob] = []
        told = iter(output.logprobs)
        # Token by token: what comes after a stop sequence in the same output is neither checked nor counted.
        for token_id in output.token_ids:
            passed = self._pass(self._read(token_id))
            if output.logprobs:
                self._held += itertools.islice(told, 1)
            if passed:
                checked += passed
                logprobs += self._released() if self._held else ()
            if self._over:
                break
        self.tokens.cached = output.cached_tokens or self.tokens.cached
        if self._finish_reason(output.finish) is not None:
            checked += self._end(truncated=output.finish is Finish.LENGTH and self.stop_sequence is None)
        elif self.rejected is not None:
            checked += self._text(self._stop.finish())
        finish = self._finish_reason(output.finish)
        if finish is not None:
            logprobs += self._released()
        return tuple(checked), tuple(logprobs), finish

    def _released(self) -> list[TokenLogprob]:
        held, self._held = self._held, []
        return [entry for entry in held if entry.token_id not in self._end_ids]

    def _read(self, token_id: int) -> list[Event]:
        reasoning = self._reader.in_reasoning
        events = self._reader.feed(token_id)
        self.tokens.completion += 1
        self.tokens.reasoning += reasoning and self._reader.in_reasoning
        return events

    def _pass(self, events: Iterable[Event]) -> list[Event]:
        """Check the calls, and take the text through stop sequences and gate; nothing passes after a stop."""
        passed: list[Event] = []
        for event in events:
            if self._over:
                break
            for checked in self._calls.feed([event]):
                match checked:
                    case Violation():
                        self.violations.append(checked)
                    case Content(text):
                        passed += self._text(self._stop.feed(text))
                    case _:
                        if isinstance(checked, CallBegin):
                            # No stop sequence goes on behind a call, and clients take no text there.
                            passed += self._text(self._stop.finish())
                        self._called |= isinstance(checked, CallEnd)
                        passed.append(checked)
        return passed

    def _text(self, text: str) -> list[Event]:
        passed = self._answer.feed(text)
        return [Content(passed)] if passed else []

    def _end(self, *, truncated: bool) -> list[Event]:
        """Flush every stage in order: the parser, the stop sequences, the answer's gate."""
        checked: list[Event] = []
        if self.stop_sequence is None:
            checked = self._pass(self._reader.finish(truncated=truncated))
        tail = self._answer.feed(self._stop.finish())
        # A stop sequence cuts an answer as the token budget does, only on the client's own wish.
        cut = truncated or self.stop_sequence is not None
        complete = not cut and not self._called and self.rejected is None
        held, violation = self._answer.finish(complete=complete)
        if violation is not None:
            self.violations.append(violation)
        tail += held
        return [*checked, Content(tail)] if tail else checked

    def _finish_reason(self, finish: Finish | None) -> FinishReason | None:
        if self.rejected is not None:
            return None
        if self.stop_sequence is None:
            if finish is None:
                return None
            if finish is Finish.LENGTH:
                return FinishReason.LENGTH
        return self._after_calls if self._called else FinishReason.STOP
