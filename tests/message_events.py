"""The events of a message's stream, and the message that Anthropic's SDK makes of them.

fold_message(message_events(response.text))      # {"type": "message", "content": […], …}
"""

import json
from typing import Any

from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import ParsedMessage, RawMessageStreamEvent
from pydantic import TypeAdapter

EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)


def message_events(stream: str) -> list[dict[str, Any]]:
    """The events of a stream, each of which is named twice."""
    events = []
    for text in stream.removesuffix("\n\n").split("\n\n"):
        name, data = text.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


def fold_message(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that the official SDK makes of the events of a stream."""
    snapshot: ParsedMessage[None] | None = None
    buffers: dict[int, bytes] = {}
    for event in events:
        snapshot = accumulate_event(
            event=EVENT.validate_python(event), current_snapshot=snapshot, json_bufs=buffers
        )
    assert snapshot is not None
    return snapshot.model_dump(exclude_unset=True)
