"""One streamed answer, read by the clock.

    timing = await ask(client, WORKLOADS["chat"].body("small", 0))
    timing.first, timing.total, timing.tokens      # 0.11, 1.8, 64

Pieces are read as bytes, and parsed only up to the first token and at the end: a client that takes a core to
itself measures itself.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

PATH = "chat/completions"

TAIL = 16_384
"""Bytes at the end of a stream in which its usage and finish reason are looked for."""

TOLD = ("content", "tool_calls", "function_call", "reasoning_content", "reasoning")
"""The members of a delta that come of tokens."""


class AnswerError(Exception):
    """A request got no good answer; the message says what it got."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One answer: `first` and `total` are seconds from the request to its first token and to its end."""

    first: float
    total: float
    tokens: int
    prompt_tokens: int
    finish: str

    @property
    def per_token(self) -> float | None:
        """Mean seconds of a token after the first."""
        return (self.total - self.first) / (self.tokens - 1) if self.tokens > 1 else None


async def ask(client: httpx2.AsyncClient, body: Mapping[str, Any]) -> Timing:
    """Send one request and read its stream to the end. Raises `AnswerError`."""
    started = time.perf_counter()
    try:
        async with client.stream("POST", PATH, json=body) as response:
            if response.status_code != 200:
                text = (await response.aread()).decode(errors="replace")
                raise AnswerError(f"status {response.status_code}: {text[:300]}")
            reading = Reading(started)
            async for piece in response.aiter_raw():
                reading.add(piece)
    except httpx2.HTTPError as exc:
        raise AnswerError(f"{type(exc).__name__}: {exc}") from exc
    return reading.timing()


class Reading:
    """Takes the pieces of one stream, however they are cut; `started` is when its request was sent."""

    def __init__(self, started: float) -> None:
        self._started = started
        self.first: float | None = None
        """When the first token had come."""
        self._unread = b""
        """What has come before the first token, from the last whole line on."""
        self._tail = b""

    def add(self, piece: bytes) -> None:
        self._tail = (self._tail + piece)[-TAIL:]
        if self.first is None:
            *lines, self._unread = (self._unread + piece).split(b"\n")
            if any(map(_tells, _events(lines))):
                self.first = time.perf_counter()

    def timing(self) -> Timing:
        """What the whole stream comes to. Raises `AnswerError` if it was no good answer."""
        total = time.perf_counter() - self._started
        lines = self._tail.split(b"\n")
        if b"data: [DONE]" not in (line.rstrip() for line in lines):
            raise AnswerError(f"the stream was cut off: {self._tail[-200:]!r}")
        events = list(_events(lines))
        usage = next((event["usage"] for event in reversed(events) if event.get("usage")), None)
        if any("error" in event for event in events):
            raise AnswerError(f"an error inside the stream: {self._tail[-300:].decode(errors='replace')}")
        if usage is None:
            raise AnswerError("the stream told no usage, though it was asked to")
        reasons = [
            choice["finish_reason"]
            for event in events
            for choice in event.get("choices", ())
            if choice.get("finish_reason")
        ]
        return Timing(
            first=(self.first or time.perf_counter()) - self._started,
            total=total,
            tokens=usage["completion_tokens"],
            prompt_tokens=usage["prompt_tokens"],
            finish=reasons[-1] if reasons else "none",
        )


def _events(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the JSON of each line that has one; the first may have lost its beginning."""
    for line in lines:
        if line.startswith(b"data: {"):
            event = json.loads(line[6:])
            if isinstance(event, dict):
                yield event


def _tells(event: Mapping[str, Any]) -> bool:
    """Whether something in this event comes of a token; the role alone does not."""
    return any(choice.get("delta", {}).get(name) for choice in event.get("choices", ()) for name in TOLD)
