"""Chat Completions out: the path's steps as one response, or as the chunks of a stream.

Both fold the same steps, so the answers are the same. The streaming rules are those which the official
SDKs' accumulators rely on (docs/compatibility.md):

    data: {"id": "chatcmpl-…", …, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, …}]}
    data: {…, "delta": {"tool_calls": [{"index": 0, "id": "call_…", "type": "function", "function": {…}}]}, …}
    data: {…, "delta": {}, "finish_reason": "tool_calls"}
    data: [DONE]
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from parsers.events import CallArguments, CallBegin, Content, Event, Reasoning, merge
from server.answering.observe import Usage
from server.answering.sequence import FinishReason, Step
from server.answering.verdict import Verdict
from server.api.custom_tools import input_text
from server.api.verdict_body import verdict_member
from server.engine.protocol import TokenLogprob
from server.errors import ApiError
from server.tokens.vocabulary import Vocabulary

DONE = b"data: [DONE]\n\n"

OPENING = '{"role": "assistant", "content": ""}'
"""The delta that begins a choice."""

quoted = json.encoder.encode_basestring
"""A string as `json.dumps(…, ensure_ascii=False)` writes it, without what leads there."""


@dataclass(frozen=True, slots=True)
class ChatShape:
    """How this client wants its answer told.

    `legacy_functions`: the request spoke of `functions`, so the answer speaks of `function_call`.
    `custom_tools`: the names of those that are called with text; no stream has any.
    """

    id: str
    model: str
    created: int
    legacy_functions: bool = False
    custom_tools: frozenset[str] = frozenset()
    include_reasoning: bool = True
    include_usage: bool = False
    with_logprobs: bool = False


def finish_reason(reason: FinishReason, shape: ChatShape) -> str:
    if reason is FinishReason.TOOL_CALLS and shape.legacy_functions:
        return "function_call"
    return reason.value


def usage_body(usage: Usage) -> dict[str, Any]:
    """`usage` in OpenAI's form."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def logprobs_body(entries: Sequence[TokenLogprob], vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """Each token with its log probability and its likeliest alternatives."""

    def described(token_id: int, logprob: float) -> dict[str, Any]:
        # What the mask forbids has no finite log probability, and JSON no infinity.
        return {
            "token": vocabulary.token_text(token_id),
            "logprob": max(logprob, -9999.0),
            "bytes": list(vocabulary.token_bytes(token_id)),
        }

    return [
        {
            **described(entry.token_id, entry.logprob),
            "top_logprobs": [described(token_id, logprob) for token_id, logprob in entry.top],
        }
        for entry in entries
    ]


@dataclass(slots=True)
class _Choice:
    """What has come of one choice."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[tuple[CallBegin, list[str]]] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish: FinishReason = FinishReason.STOP
    verdict: Verdict | None = None

    def add(self, step: Step) -> None:
        self.logprobs += step.logprobs
        self.finish = step.finish or self.finish
        self.verdict = step.verdict or self.verdict
        for event in step.events:
            match event:
                case Content(text):
                    self.content.append(text)
                case Reasoning(text):
                    self.reasoning.append(text)
                case CallBegin():
                    self.calls.append((event, []))
                case CallArguments(index, text):
                    self.calls[index][1].append(text)


class ChatResponse:
    """Folds steps into the body of a response that is not streamed."""

    def __init__(self, shape: ChatShape, vocabulary: Vocabulary, *, n: int) -> None:
        self._shape = shape
        self._vocabulary = vocabulary
        self._choices = [_Choice() for _ in range(n)]

    def add(self, step: Step) -> None:
        self._choices[step.index].add(step)

    def body(self, usage: Usage) -> dict[str, Any]:
        return {
            "id": self._shape.id,
            "object": "chat.completion",
            "created": self._shape.created,
            "model": self._shape.model,
            "choices": [self._choice(index, choice) for index, choice in enumerate(self._choices)],
            "usage": usage_body(usage),
        }

    def _choice(self, index: int, choice: _Choice) -> dict[str, Any]:
        logprobs = None
        if self._shape.with_logprobs:
            logprobs = {"content": logprobs_body(choice.logprobs, self._vocabulary), "refusal": None}
        return {
            "index": index,
            "message": self._message(choice),
            "logprobs": logprobs,
            "finish_reason": finish_reason(choice.finish, self._shape),
        }

    def _message(self, choice: _Choice) -> dict[str, Any]:
        text = "".join(choice.content)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": text if text or not choice.calls else None,
            "refusal": None,
        }
        if choice.reasoning and self._shape.include_reasoning:
            message["reasoning_content"] = "".join(choice.reasoning)
        calls = [self._call(begin, "".join(pieces)) for begin, pieces in choice.calls]
        if calls and self._shape.legacy_functions:
            message["function_call"] = calls[0]["function"]
        elif calls:
            message["tool_calls"] = calls
        return message if choice.verdict is None else {**message, **verdict_member(choice.verdict)}

    def _call(self, begin: CallBegin, arguments: str) -> dict[str, Any]:
        if begin.name in self._shape.custom_tools:
            custom = {"name": begin.name, "input": input_text(arguments)}
            return {"id": begin.id, "type": "custom", "custom": custom}
        function = {"name": begin.name, "arguments": arguments}
        return {"id": begin.id, "type": "function", "function": function}


class ChatStream:
    """Turns steps into server-sent events. Constant parts are serialised once a stream."""

    def __init__(self, shape: ChatShape, vocabulary: Vocabulary, *, n: int) -> None:
        self._shape = shape
        self._vocabulary = vocabulary
        self._n = n
        self._logprobs: dict[int, list[TokenLogprob]] = {index: [] for index in range(n)}
        head = {
            "id": shape.id,
            "object": "chat.completion.chunk",
            "created": shape.created,
            "model": shape.model,
        }
        self._head = f"data: {json.dumps(head)[:-1]}, "
        tail = ', "usage": null}\n\n' if shape.include_usage else "}\n\n"
        self._openings = [f'{self._head}"choices": [{{"index": {index}, "delta": ' for index in range(n)]
        self._plain_end = f', "logprobs": null, "finish_reason": null}}]{tail}'
        self._tail = tail

    def open(self) -> bytes:
        """The first chunk of every choice, in order: the only ones that name the role."""
        return b"".join(self._chunk(index, OPENING) for index in range(self._n))

    def encode(self, step: Step) -> bytes:
        """The chunks of one step: none if it changed nothing that the client sees."""
        self._logprobs[step.index] += step.logprobs
        chunks = [self._chunk(step.index, delta) for delta in self._deltas(step.events)]
        if step.finish is not None:
            last = "{}" if step.verdict is None else _text(verdict_member(step.verdict))
            chunks.append(self._chunk(step.index, last, finish_reason(step.finish, self._shape)))
        return b"".join(chunks)

    def close(self, usage: Usage) -> bytes:
        """The usage chunk, if it was asked for, and the end of the stream."""
        if not self._shape.include_usage:
            return DONE
        chunk = f'{self._head}"choices": [], "usage": {json.dumps(usage_body(usage))}}}\n\n'
        return chunk.encode() + DONE

    @staticmethod
    def fail(error: ApiError) -> bytes:
        """The end of a stream that has begun and cannot go on."""
        return f"data: {json.dumps(error.body(), ensure_ascii=False)}\n\n".encode() + DONE

    def _deltas(self, events: Iterable[Event]) -> Iterable[str]:
        """The JSON of each delta. What comes with every token is written without a dictionary."""
        for event in merge(events):
            match event:
                case Content(text):
                    yield f'{{"content": {quoted(text)}}}'
                case Reasoning(text) if self._shape.include_reasoning:
                    yield f'{{"reasoning_content": {quoted(text)}}}'
                case CallBegin(_, name) if self._shape.legacy_functions:
                    yield _text({"function_call": {"name": name, "arguments": ""}})
                case CallBegin(index, name, call_id):
                    begun = {"name": name, "arguments": ""}
                    call = {"index": index, "id": call_id, "type": "function", "function": begun}
                    yield _text({"tool_calls": [call]})
                case CallArguments(_, text) if self._shape.legacy_functions:
                    yield f'{{"function_call": {{"arguments": {quoted(text)}}}}}'
                case CallArguments(index, text):
                    function = f'{{"arguments": {quoted(text)}}}'
                    yield f'{{"tool_calls": [{{"index": {index}, "function": {function}}}]}}'

    def _chunk(self, index: int, delta: str, reason: str | None = None) -> bytes:
        logprobs = None
        if self._shape.with_logprobs and (entries := self._logprobs[index]):
            logprobs = {"content": logprobs_body(entries, self._vocabulary), "refusal": None}
            self._logprobs[index] = []
        end = self._plain_end
        if logprobs is not None or reason is not None:
            end = f', "logprobs": {_text(logprobs)}, "finish_reason": {_text(reason)}}}]{self._tail}'
        return f"{self._openings[index]}{delta}{end}".encode()


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
