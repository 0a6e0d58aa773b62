"""Completions out: the path's steps as one response, or as the chunks of a stream.

    data: {"id": "cmpl-…", "object": "text_completion", …, "choices": [{"index": 0, "text": " time", …}]}
    data: {…, "choices": [{"index": 0, "text": "", "logprobs": null, "finish_reason": "length"}]}
    data: [DONE]

Both fold the same steps, so the answers are the same.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from parsers.events import Content
from server.answering.observe import Usage
from server.answering.sequence import Step
from server.api.chat.encode import DONE, usage_body
from server.api.verdict_body import verdict_member
from server.engine.protocol import TokenLogprob
from server.errors import ApiError
from server.tokens.vocabulary import Vocabulary

LEAST = -9999.0
"""What the mask forbids has no finite log probability, and JSON no infinity."""


@dataclass(frozen=True, slots=True)
class CompletionShape:
    """How this client wants its answer told. `echoed` is what each choice begins with, in their order."""

    id: str
    model: str
    created: int
    echoed: tuple[str, ...]
    include_usage: bool = False
    with_logprobs: bool = False

    def head(self) -> dict[str, Any]:
        return {"id": self.id, "object": "text_completion", "created": self.created, "model": self.model}


@dataclass(slots=True)
class _Logprobs:
    """Log probabilities of one choice, in the form of this API, from where the last ones ended."""

    vocabulary: Vocabulary
    offset: int

    def body(self, entries: Sequence[TokenLogprob]) -> dict[str, Any]:
        text_of = self.vocabulary.token_text
        offsets = []
        for entry in entries:
            offsets.append(self.offset)
            self.offset += len(text_of(entry.token_id))
        return {
            "tokens": [text_of(entry.token_id) for entry in entries],
            "token_logprobs": [max(entry.logprob, LEAST) for entry in entries],
            "top_logprobs": [
                {text_of(token_id): max(logprob, LEAST) for token_id, logprob in entry.top}
                for entry in entries
            ],
            "text_offset": offsets,
        }


def text_of(step: Step) -> str:
    """What a step adds to its choice."""
    return "".join(event.text for event in step.events if isinstance(event, Content))


@dataclass(slots=True)
class _Choice:
    text: list[str]
    logprobs: list[TokenLogprob] = field(default_factory=list)
    last: Step | None = None


class CompletionResponse:
    """Folds steps into the body of a response that is not streamed."""

    def __init__(self, shape: CompletionShape, vocabulary: Vocabulary) -> None:
        self._shape = shape
        self._vocabulary = vocabulary
        self._choices = [_Choice([echoed]) for echoed in shape.echoed]

    def add(self, step: Step) -> None:
        choice = self._choices[step.index]
        choice.text.append(text_of(step))
        choice.logprobs += step.logprobs
        choice.last = step

    def body(self, usage: Usage) -> dict[str, Any]:
        return {
            **self._shape.head(),
            "choices": [self._choice(index, choice) for index, choice in enumerate(self._choices)],
            "usage": usage_body(usage),
        }

    def _choice(self, index: int, choice: _Choice) -> dict[str, Any]:
        logprobs = None
        if self._shape.with_logprobs:
            logprobs = _Logprobs(self._vocabulary, 0).body(choice.logprobs)
        return choice_body(index, "".join(choice.text), logprobs, choice.last)


class CompletionStream:
    """Turns steps into server-sent events."""

    def __init__(self, shape: CompletionShape, vocabulary: Vocabulary) -> None:
        self._shape = shape
        self._logprobs = [_Logprobs(vocabulary, 0) for _ in shape.echoed]
        self._held: list[list[TokenLogprob]] = [[] for _ in shape.echoed]

    def open(self) -> bytes:
        """What each choice begins with, if the prompt is to be echoed."""
        return b"".join(
            self._chunk(choice_body(index, text, None, None))
            for index, text in enumerate(self._shape.echoed)
            if text
        )

    def encode(self, step: Step) -> bytes:
        """The chunk of one step: none if it changed nothing that the client sees."""
        text, held = text_of(step), self._held[step.index]
        held += step.logprobs
        if not text and step.finish is None:
            return b""
        logprobs = None
        if self._shape.with_logprobs:
            logprobs, self._held[step.index] = self._logprobs[step.index].body(held), []
        return self._chunk(choice_body(step.index, text, logprobs, step))

    def close(self, usage: Usage) -> bytes:
        """The usage chunk, if it was asked for, and the end of the stream."""
        if not self._shape.include_usage:
            return DONE
        return _event({**self._shape.head(), "choices": [], "usage": usage_body(usage)}) + DONE

    @staticmethod
    def fail(error: ApiError) -> bytes:
        """The end of a stream that has begun and cannot go on."""
        return _event(error.body()) + DONE

    def _chunk(self, choice: dict[str, Any]) -> bytes:
        usage = {"usage": None} if self._shape.include_usage else {}
        return _event({**self._shape.head(), "choices": [choice], **usage})


def choice_body(index: int, text: str, logprobs: Any, last: Step | None) -> dict[str, Any]:
    """A choice, or a part of one; `last` is the step that it ends with."""
    finish = None if last is None or last.finish is None else last.finish.value
    body = {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish}
    verdict = None if last is None else last.verdict
    return body if verdict is None else {**body, **verdict_member(verdict)}


def _event(body: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()
