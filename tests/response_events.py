"""The events of a Responses stream, read as strictly as the strictest client does.

response_of(response.text)      # the final response; every rule of order and identity was held on the way
"""

import json
from collections.abc import Iterator
from typing import Any

from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
ENDS = ("response.completed", "response.incomplete", "response.failed")
CONTENT = {
    "message": ("response.output_text.delta", "response.output_text.done", "text"),
    "reasoning": ("response.reasoning_text.delta", "response.reasoning_text.done", "text"),
    "function_call": (
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "arguments",
    ),
    "custom_tool_call": (
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "input",
    ),
}
"""By the type of an item: how its content is told piece by piece, how at its end, and where there."""

Event = dict[str, Any]


def events_of(text: str) -> list[Event]:
    """The events, each named as its data says, numbered from 0 without gaps."""
    *blocks, last = text.split("\n\n")
    assert last == ""
    events = []
    for number, block in enumerate(blocks):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        assert event["sequence_number"] == number
        events.append(event)
    return events


def response_of(text: str) -> Event:
    """The response that a stream ends with, which is what the stream told."""
    events = events_of(text)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    *told, end = events[2:]
    assert end["type"] in ENDS
    assert end["type"] == f"response.{end['response']['status']}"
    responses = [*(event["response"] for event in events[:2]), end["response"]]
    assert len({each["id"] for each in responses}) == 1
    assert [each["output"] for each in responses[:2]] == [[], []]
    assert all(each["status"] == "in_progress" for each in responses[:2])
    items = list(_items(iter(told)))
    assert items == end["response"]["output"]
    _accumulate(events)
    final: Event = end["response"]
    return final


def _items(events: Iterator[Event]) -> Iterator[Event]:
    """The items that the events tell of, one after the other."""
    index = 0
    for event in events:
        if event["type"] == "error":
            continue
        assert event["type"] == "response.output_item.added"
        assert event["output_index"] == index
        assert event["item"]["status"] == "in_progress"
        yield _item(event["item"], index, events)
        index += 1


def _item(added: Event, index: int, events: Iterator[Event]) -> Event:
    delta, done, where = CONTENT[added["type"]]
    parts = added["type"] in ("message", "reasoning")
    assert added["content" if parts else where] in ([], "")
    pieces: list[str] = []
    seen: list[str] = []
    item: Event = {}
    for event in events:
        assert event["output_index"] == index
        seen.append(event["type"])
        if event["type"] == "response.output_item.done":
            item = event["item"]
            break
        assert event["item_id"] == added["id"]
        if event["type"] == delta:
            pieces.append(event["delta"])
        elif event["type"] == done:
            assert event[where] == "".join(pieces)
    names = [name for name in seen if name != delta]
    around = ["response.content_part.added"], ["response.content_part.done"]
    assert names == [*around[0] * parts, done, *around[1] * parts, "response.output_item.done"]
    whole = item["content"][0]["text"] if parts else item[where]
    assert whole == "".join(pieces)
    assert {key: item[key] for key in ("id", "type")} == {key: added[key] for key in ("id", "type")}
    assert item.get("call_id") == added.get("call_id")
    assert item["status"] in ("completed", "incomplete")
    return item


def _accumulate(events: list[Event]) -> None:
    """Let the official SDK's accumulator follow, which raises where identities change."""
    state: ResponseStreamState[Any] = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in events:
        if event["type"] != "error":
            state.handle_event(EVENT.validate_python(event))
