"""What reads an answer, whatever the family: text and markers go in, events come out.

parser = HERMES.parser(["f"])
parser.feed('Sure.<tool_call>{"name": "f"')    # [Content("Sure."), CallBegin(0, "f")]
parser.finish(truncated=True)                  # [Malformed('<tool_call>{"name": "f"', TRUNCATED, 0)]
"""

from typing import Protocol

from parsers.events import Event


class AnswerParser(Protocol):
    """Reads one answer. However its text is cut, the merged events are the same."""

    @property
    def in_reasoning(self) -> bool:
        """Whether the end of what was fed stands in the reasoning span, by what is known so far."""
        ...

    def feed(self, text: str) -> list[Event]:
        """Read the next piece of the answer."""
        ...

    def feed_marker(self, marker: str) -> list[Event]:
        """Read a marker that is a token of its own: one of the `tokens` that the parser was made with."""
        ...

    def finish(self, *, truncated: bool = False) -> list[Event]:
        """The answer is over: it was cut off (`truncated`), or the model ended it. Feed no more."""
        ...
