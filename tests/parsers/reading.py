"""Reading an answer in tests: whole and in every kind of piece, with the same result.

read('<tool_call>{"name": "f"}</tool_call>').calls  ->  [("f", "{}")]
"""

import random
from collections.abc import Collection
from dataclasses import dataclass, field

from parsers.events import (
    CallArguments,
    CallBegin,
    CallEnd,
    Content,
    Event,
    Malformed,
    Reasoning,
    merge,
)
from parsers.families.hermes import HERMES
from parsers.family import Family

TOOLS = ("f", "g", "h")


@dataclass
class Answer:
    """What a client would see. `calls` are those that ended, with the text of their arguments."""

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)


def fold(events: list[Event]) -> Answer:
    """Join the events, asserting their order: begin, arguments, then end or malformed, one call at a time."""
    answer = Answer()
    name, arguments, began = "", "", 0
    for event in events:
        match event:
            case Content(text):
                answer.content += text
            case Reasoning(text):
                answer.reasoning += text
            case CallBegin(index, name):
                assert index == began
                began, arguments = began + 1, ""
            case CallArguments(index, text):
                assert index == began - 1
                arguments += text
            case CallEnd(index):
                assert index == began - 1
                answer.calls.append((name, arguments))
            case Malformed():
                answer.malformed.append(event)
    return answer


def feed(
    pieces: list[str],
    tools: Collection[str] = TOOLS,
    *,
    truncated: bool = False,
    opens_reasoning: bool = False,
    in_form: bool = False,
    family: Family = HERMES,
) -> list[Event]:
    """The merged events of an answer that comes in these pieces."""
    parser = family.parser(tools, opens_reasoning=opens_reasoning, in_form=in_form)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return merge(events + parser.finish(truncated=truncated))


def cut(text: str, rng: random.Random, longest: int = 12) -> list[str]:
    """The text in pieces of random length."""
    pieces = []
    while text:
        length = rng.randint(1, longest)
        pieces.append(text[:length])
        text = text[length:]
    return pieces


def events_of(
    text: str,
    tools: Collection[str] = TOOLS,
    *,
    truncated: bool = False,
    opens_reasoning: bool = False,
    family: Family = HERMES,
) -> list[Event]:
    """The merged events of `text`, which must not depend on how it is cut."""
    rng = random.Random(len(text))
    whole, *others = (
        feed(pieces, tools, truncated=truncated, opens_reasoning=opens_reasoning, family=family)
        for pieces in ([text], list(text), *(cut(text, rng) for _ in range(4)))
    )
    for other in others:
        assert other == whole
    return whole


def read(
    text: str,
    tools: Collection[str] = TOOLS,
    *,
    truncated: bool = False,
    opens_reasoning: bool = False,
    family: Family = HERMES,
) -> Answer:
    """What a client sees of `text`, however it is cut."""
    return fold(events_of(text, tools, truncated=truncated, opens_reasoning=opens_reasoning, family=family))
