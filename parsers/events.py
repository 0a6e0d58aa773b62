"""What a parser says about a model's output, in the order the model wrote it.

One call in a Hermes answer, `Sure.<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>`, becomes

    Content("Sure."), CallBegin(0, "f"), CallArguments(0, '{"a": 1}'), CallEnd(0)

Consecutive `Content`, `Reasoning` and `CallArguments` (of one index) may be merged without changing the
meaning: however the output is cut into deltas, the merged events are the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby


class Reason(StrEnum):
    """Why a call could not be read. The values are the `reason` label of the parse failure metric."""

    TRUNCATED = "truncated"
    """The output ended (token budget, abort) inside the call."""
    UNCLOSED = "unclosed"
    """The model stopped by itself inside the call."""
    BAD_JSON = "bad_json"
    """What stands between the markers is not JSON."""
    BAD_MARKUP = "bad_markup"
    """What stands between the markers is not the family's markup, where that is not JSON."""
    NO_NAME = "no_name"
    """The call names no tool."""
    NOT_AN_OBJECT = "not_an_object"
    """The arguments are JSON, but not an object."""
    UNKNOWN_TOOL = "unknown_tool"
    """The call names a tool that the request does not have."""


@dataclass(frozen=True, slots=True)
class Content:
    """Text for the user. Never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Text from inside the reasoning span, without its markers. Never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class CallBegin:
    """A call to `name` has begun. Indices count from 0 without gaps, over the calls that have begun.

    `id` is the one that the model wrote, in families whose models do.
    """

    index: int
    name: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The next piece of the JSON text of the arguments of call `index`. Never empty."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallEnd:
    """Call `index` is complete: its pieces join to the text of one JSON object."""

    index: int


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that opened as a call could not be read as one.

    `raw` is all of its text, markers included. `index` is that of the call if `CallBegin` was said for it
    (no `CallEnd` follows then), else None.
    """

    raw: str
    reason: Reason
    index: int | None = None


Event = Content | Reasoning | CallBegin | CallArguments | CallEnd | Malformed


def merge(events: Iterable[Event]) -> list[Event]:
    """The same events, with consecutive pieces of one kind (and of one call) joined."""
    events = tuple(events)
    if len(events) < 2:
        return list(events)
    merged: list[Event] = []
    for _, run in groupby(events, lambda event: (type(event), getattr(event, "index", None))):
        first, *rest = run
        if isinstance(first, Content | Reasoning | CallArguments):
            pieces = [first.text, *(piece.text for piece in rest if isinstance(piece, type(first)))]
            merged.append(replace(first, text="".join(pieces)))
        else:
            merged += [first, *rest]
    return merged
