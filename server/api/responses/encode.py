r"""Responses out: the path's steps as one response, or as the events of a stream.

    event: response.created
    data: {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_…", …}}

    event: response.output_text.delta
    data: {"type": "response.output_text.delta", "sequence_number": 4, "delta": "Hi", …}

The order is what the official SDKs' accumulators rely on (docs/compatibility.md).
"""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from server.answering.observe import Usage
from server.answering.sequence import FinishReason, Step
from server.answering.verdict import Verdict
from server.api.chat.encode import logprobs_body
from server.api.responses.names import ToolNames
from server.api.responses.output import Message, ResponseOutput, Status
from server.api.verdict_body import verdict_member
from server.errors import ApiError
from server.tokens.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class ResponseShape:
    """How this client wants its answer told.

    `echo` is what the response repeats of its request, `names` what its tools are called, and `warnings` what
    was skipped of it.
    """

    id: str
    created: int
    echo: Mapping[str, Any] = field(default_factory=dict)
    names: ToolNames = field(default_factory=ToolNames)
    warnings: tuple[str, ...] = ()
    with_logprobs: bool = False
    seals_reasoning: bool = False


def usage_body(usage: Usage) -> Message:
    """`usage` as Responses has it."""
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt + usage.completion,
    }


class _Response:
    """What has come of one response: its output, and what there is to say of the whole."""

    def __init__(self, shape: ResponseShape, vocabulary: Vocabulary) -> None:
        self._shape = shape
        self._vocabulary = vocabulary
        self._output = ResponseOutput(shape.id, shape.names, seals_reasoning=shape.seals_reasoning)
        self._status = Status.IN_PROGRESS
        self._verdict: Verdict | None = None

    def add(self, step: Step) -> list[Message]:
        """Take a step; return the events that tell of it."""
        logprobs: list[Message] = []
        if self._shape.with_logprobs:
            logprobs = logprobs_body(step.logprobs, self._vocabulary)
        told = self._output.add(step.events, logprobs)
        if step.finish is not None:
            cut = step.finish is FinishReason.LENGTH
            self._status = Status.INCOMPLETE if cut else Status.COMPLETED
            self._verdict = step.verdict
            told += self._end()
        return told

    def _end(self) -> list[Message]:
        told = self._output.end(self._status)
        kinds = {item["type"] for item in self._output.items}
        # Agents end with a message or go on with calls: with neither, they would ask again.
        if self._status is Status.COMPLETED and kinds <= {"reasoning"}:
            told += self._output.empty_message()
        return told

    def failed(self, error: ApiError) -> tuple[list[Message], Message]:
        """End what is open; return the events of that, and the failed response."""
        told = self._output.end(Status.INCOMPLETE)
        self._status = Status.FAILED
        # OpenAI's list of codes for this place is short; the event before it has ours.
        fault = {"code": "server_error", "message": error.message}
        return told, {**self.body(), "error": fault, "store": False}

    @property
    def status(self) -> Status:
        return self._status

    def body(self, usage: Usage | None = None) -> Message:
        """The response as far as it has come."""
        shape, status = self._shape, self._status
        return {
            "id": shape.id,
            "object": "response",
            "created_at": shape.created,
            "completed_at": int(time.time()) if status is Status.COMPLETED else None,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if status is Status.INCOMPLETE else None,
            **shape.echo,
            "output": self._output.items,
            "usage": None if usage is None else usage_body(usage),
            **self._said(),
        }

    def _said(self) -> Message:
        """Our own member: what held the answer to its schemas, and what was skipped of the request."""
        said: Message = {} if self._verdict is None else verdict_member(self._verdict).get("strictcall", {})
        if self._shape.warnings:
            said = {**said, "warnings": [*self._shape.warnings]}
        return {"strictcall": said} if said else {}


class ResponseWhole:
    """Folds steps into the body of a response that is not streamed."""

    def __init__(self, shape: ResponseShape, vocabulary: Vocabulary) -> None:
        self._response = _Response(shape, vocabulary)
        self.final: Message = {}
        """The body, once there is one."""

    def add(self, step: Step) -> None:
        self._response.add(step)

    def body(self, usage: Usage) -> Message:
        self.final = self._response.body(usage)
        return self.final


class ResponseStream:
    """Turns steps into server-sent events."""

    def __init__(self, shape: ResponseShape, vocabulary: Vocabulary) -> None:
        self._response = _Response(shape, vocabulary)
        self._number = 0
        self.final: Message = {}
        """The response that the stream ends with, once it does."""

    def open(self) -> bytes:
        begun = self._response.body()
        return self._written(
            {"type": f"response.{name}", "response": begun} for name in ("created", "in_progress")
        )

    def encode(self, step: Step) -> bytes:
        return self._written(self._response.add(step))

    def close(self, usage: Usage) -> bytes:
        self.final = self._response.body(usage)
        return self._written([{"type": f"response.{self._response.status}", "response": self.final}])

    def fail(self, error: ApiError) -> bytes:
        """The error by itself, as the SDKs raise it, and in the response, as agents look for it."""
        told, failed = self._response.failed(error)
        detail = error.body()["error"]
        alone = {
            "type": "error",
            "code": detail["code"],
            "message": error.message,
            "param": error.param,
            "error": detail,
        }
        return self._written([*told, alone, {"type": "response.failed", "response": failed}])

    def _written(self, events: Iterable[Message]) -> bytes:
        text = []
        for event in events:
            kind = event["type"]
            numbered = {"type": kind, "sequence_number": self._number, **event}
            text.append(f"event: {kind}\ndata: {json.dumps(numbered, ensure_ascii=False)}\n\n")
            self._number += 1
        return "".join(text).encode()
