"""Messages out: the path's steps as one message, or as the events of a stream.

    event: content_block_start
    data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

Both fold the same steps, so the answers are the same. Blocks are numbered without gaps, and each ends where
the next one begins.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from typing import Any

from pydantic_core import from_json

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Reasoning, merge
from server.answering.observe import Usage
from server.answering.sequence import FinishReason, Step
from server.api.verdict_body import verdict_member
from server.errors import ApiError
from server.http.dialect import ANTHROPIC

UNREADABLE = "INVALID_JSON"
"""The key under which Anthropic has clients put the text of an input that is no JSON."""

LARGEST = 1.7976931348623157e308
"""What stands for a number that is too large for JSON's readers."""

quoted = json.encoder.encode_basestring


@dataclass(frozen=True, slots=True)
class MessageShape:
    """How this client wants its answer told. `request_id` is the exchange's, for an error in a stream."""

    id: str
    model: str
    request_id: str
    include_thinking: bool = True


def stop_reason(step: Step, *, called: bool) -> str:
    """Why an answer ended with this step; `called`: there is a call in it."""
    if step.finish is FinishReason.LENGTH:
        return "max_tokens"
    # After a named call too, whatever the server says to OpenAI's clients: these ask here whether to go on.
    if called:
        return "tool_use"
    return "end_turn" if step.stop_sequence is None else "stop_sequence"


def stop_members(step: Step, *, called: bool) -> dict[str, Any]:
    """`stop_reason`, and the stop sequence if it was one."""
    reason = stop_reason(step, called=called)
    return {
        "stop_reason": reason,
        "stop_sequence": step.stop_sequence if reason == "stop_sequence" else None,
    }


def usage_body(usage: Usage) -> dict[str, Any]:
    """`usage` in Anthropic's form, in which what the cache had is no input."""
    return {
        "input_tokens": usage.prompt - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.completion,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
    }


def input_of(text: str) -> dict[str, Any]:
    """The input of a call; of one that the budget cut, what of it is there, as the SDKs' streams have it."""
    try:
        value = from_json(text, allow_partial=True) if text else {}
    except ValueError:
        return {UNREADABLE: text}
    return _writable(value) if isinstance(value, dict) else {UNREADABLE: text}


def _writable(value: Any) -> Any:
    match value:
        case dict():
            return {key: _writable(member) for key, member in value.items()}
        case list():
            return [_writable(item) for item in value]
        case float() if not isfinite(value):
            return LARGEST if value > 0 else -LARGEST
    return value


def message_body(shape: MessageShape, usage: Usage) -> dict[str, Any]:
    """A message that has only begun."""
    return {
        "id": shape.id,
        "type": "message",
        "role": "assistant",
        "model": shape.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage_body(usage),
    }


def block_of(event: Event) -> tuple[str, int] | None:
    """The block that an event is part of: pieces of one block follow each other."""
    match event:
        case Content():
            return "text", 0
        case Reasoning():
            return "thinking", 0
        case CallBegin(index) | CallArguments(index):
            return "tool_use", index
    return None


class MessageResponse:
    """Folds steps into the body of a response that is not streamed."""

    def __init__(self, shape: MessageShape) -> None:
        self._shape = shape
        self._events: list[Event] = []
        self._last = Step(0)

    def add(self, step: Step) -> None:
        self._events += step.events
        self._last = step

    def body(self, usage: Usage) -> dict[str, Any]:
        called = any(isinstance(event, CallEnd) for event in self._events)
        pieces = (event for event in self._events if block_of(event))
        body = {
            **message_body(self._shape, usage),
            "content": [self._block(list(block)) for _, block in groupby(pieces, block_of)],
            **stop_members(self._last, called=called),
        }
        verdict = self._last.verdict
        return body if verdict is None else {**body, **verdict_member(verdict)}

    def _block(self, pieces: Sequence[Event]) -> dict[str, Any]:
        text = "".join(
            piece.text for piece in pieces if isinstance(piece, Content | Reasoning | CallArguments)
        )
        match pieces[0]:
            case CallBegin(_, name, call_id):
                return {"type": "tool_use", "id": call_id, "name": name, "input": input_of(text)}
            case Reasoning():
                shown = text if self._shape.include_thinking else ""
                return {"type": "thinking", "thinking": shown, "signature": self._shape.id}
        return {"type": "text", "text": text}


class MessageStream:
    """Turns steps into server-sent events. What comes with every token is written without a dictionary."""

    def __init__(self, shape: MessageShape, *, begun: Usage) -> None:
        self._shape = shape
        self._begun = begun
        self._block: tuple[str, int] | None = None
        self._index = -1
        self._called = False
        self._last = Step(0)

    def open(self) -> bytes:
        """`message_start`, with what is known of the usage before the first token."""
        return _event("message_start", {"message": message_body(self._shape, self._begun)}).encode()

    def encode(self, step: Step) -> bytes:
        """The events of one step: none if it changed nothing that the client sees."""
        self._last = step
        return "".join(part for event in merge(step.events) for part in self._parts(event)).encode()

    def close(self, usage: Usage) -> bytes:
        """The end of the last block, why the answer ended, and what it used."""
        delta = stop_members(self._last, called=self._called)
        verdict = self._last.verdict
        if verdict is not None:
            delta |= verdict_member(verdict)
        end = _event("message_delta", {"delta": delta, "usage": usage_body(usage)})
        return f"{self._stop()}{end}{_event('message_stop', {})}".encode()

    def fail(self, error: ApiError) -> bytes:
        """The end of a stream that has begun and cannot go on."""
        return _event("error", ANTHROPIC.error_body(error, self._shape.request_id)).encode()

    def _parts(self, event: Event) -> Iterator[str]:
        self._called |= isinstance(event, CallEnd)
        block = block_of(event)
        if block is None:
            return
        if block != self._block:
            yield self._stop()
            yield self._start(block, event)
        match event:
            case Content(text):
                yield self._delta(f'"text_delta", "text": {quoted(text)}')
            case CallArguments(_, text):
                yield self._delta(f'"input_json_delta", "partial_json": {quoted(text)}')
            case Reasoning(text) if self._shape.include_thinking:
                yield self._delta(f'"thinking_delta", "thinking": {quoted(text)}')

    def _start(self, block: tuple[str, int], event: Event) -> str:
        self._block = block
        self._index += 1
        match event:
            case CallBegin(_, name, call_id):
                begun: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            case Reasoning():
                begun = {"type": "thinking", "thinking": "", "signature": ""}
            case _:
                begun = {"type": "text", "text": ""}
        return _event("content_block_start", {"index": self._index, "content_block": begun})

    def _stop(self) -> str:
        """The end of the open block, if there is one; a thought is signed first."""
        if self._block is None:
            return ""
        signed = self._delta(f'"signature_delta", "signature": {quoted(self._shape.id)}')
        stop = _event("content_block_stop", {"index": self._index})
        thought = self._block[0] == "thinking"
        self._block = None
        return signed + stop if thought else stop

    def _delta(self, delta: str) -> str:
        data = f'{{"type": "content_block_delta", "index": {self._index}, "delta": {{"type": {delta}}}}}'
        return f"event: content_block_delta\ndata: {data}\n\n"


def _event(kind: str, members: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members}, ensure_ascii=False)}\n\n"
