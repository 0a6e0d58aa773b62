"""One sequence from the engine's tokens to checked events: detokenize → parse → stop → validate → finish.

    reader = SequenceReader(tokens=TokenReader(…), …)
    events, logprobs, finish = reader.feed(Output((28, 42)))     # (Content("Hi"),), (), None

Everything here is synchronous and sees the output once, so a streamed answer and a whole one are the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from parsers.events import CallEnd, Content, Event
from server.engine.protocol import Finish, Output, TokenLogprob
from server.stop import StopSequences
from server.token_reader import TokenReader
from server.validate import AnswerGate, CallGate


class FinishReason(StrEnum):
    """Why an answer ended, as the client is told."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True, slots=True)
class Step:
    """What one engine output added to choice `index`. `finish` comes with the last step, and only there."""

    index: int
    events: tuple[Event, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    finish: FinishReason | None = None


Read = tuple[tuple[Event, ...], tuple[TokenLogprob, ...], FinishReason | None]
"""What one output came to: the fields of a `Step` but for its index."""


@dataclass(slots=True)
class TokenCounts:
    """Tokens of one sequence, `reasoning` among the `completion` ones."""

    completion: int = 0
    reasoning: int = 0
    cached: int = 0


class SequenceReader:
    """Reads one sequence. `feed` until a step has `finish`; what comes after is not read."""

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
        self._reader = tokens
        self._stop = stop
        self._calls = calls
        self._answer = answer
        self._end_ids = end_ids
        self._after_calls = after_calls
        self._called = False

    def feed(self, output: Output) -> Read:
        """Read one engine output. Raises `ApiError` (500 schema_violation)."""
        checked: list[Event] = []
        read = 0
        # Token by token: what comes after a stop sequence in the same output is neither checked nor counted.
        for token_id in output.token_ids:
            checked += self._pass(self._read(token_id))
            read += 1
            if self._stop.matched:
                break
        self.tokens.cached = output.cached_tokens or self.tokens.cached
        finish = self._finish_reason(output.finish)
        if finish is not None:
            checked += self._end(truncated=output.finish is Finish.LENGTH and not self._stop.matched)
            finish = self._finish_reason(output.finish)
        return tuple(checked), self._visible(output.logprobs[:read]), finish

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
            if self._stop.matched:
                break
            for checked in self._calls.feed([event]):
                if not isinstance(checked, Content):
                    self._called |= isinstance(checked, CallEnd)
                    passed.append(checked)
                elif text := self._answer.feed(self._stop.feed(checked.text)):
                    passed.append(Content(text))
        return passed

    def _end(self, *, truncated: bool) -> list[Event]:
        """Flush every stage in order: the parser, the stop sequences, the answer's gate."""
        checked: list[Event] = []
        if not self._stop.matched:
            checked = self._pass(self._reader.finish(truncated=truncated))
        tail = self._answer.feed(self._stop.finish())
        # A stop sequence cuts an answer as the token budget does, only on the client's own wish.
        cut = truncated or self._stop.matched
        tail += self._answer.finish(complete=not cut and not self._called)
        return [*checked, Content(tail)] if tail else checked

    def _finish_reason(self, finish: Finish | None) -> FinishReason | None:
        if not self._stop.matched:
            if finish is None:
                return None
            if finish is Finish.LENGTH:
                return FinishReason.LENGTH
        return self._after_calls if self._called else FinishReason.STOP

    def _visible(self, logprobs: tuple[TokenLogprob, ...]) -> tuple[TokenLogprob, ...]:
        return tuple(entry for entry in logprobs if entry.token_id not in self._end_ids)
