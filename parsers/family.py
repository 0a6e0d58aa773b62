r"""The record of a model family: what it writes, stated once, as data.

Parser, mask and writer are all derived from the record, so that none of them can disagree:

    Family(
        name="hermes",
        call=CallSyntax("<tool_call>", "</tool_call>", JsonCall(), lead="\n", trail="\n", separator="\n"),
        reasoning=Span("<think>", "</think>", after="\n\n"),
    )
"""

from dataclasses import dataclass
from enum import Enum

from parsers.arguments.style import ArgumentStyle


class CallInside(Enum):
    """What a call marker inside a reasoning span means."""

    AWAITS_END = "awaits_end"
    """Reasoning if the span is closed later, or cut off by the token budget; a call, which ends the span
    by itself, if the model stops with the span still open. What follows the marker is therefore held back
    until then, in a streamed answer too."""
    ENDS_SPAN = "ends_span"
    """The end of the span, at once."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text between two markers. `after` is what the model was trained to write behind it."""

    begin: str
    end: str
    after: str = ""
    call_inside: CallInside = CallInside.AWAITS_END


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """A call is written `begin`, `lead`, what the style writes, `trail`, `end`.

    `begin` and `end` are the markers by which a call is found. `lead` and `trail` are the whitespace
    inside them, and `separator` that between two calls, as the model was trained; the parser takes any.
    """

    begin: str
    end: str
    style: ArgumentStyle
    lead: str = ""
    trail: str = ""
    separator: str = ""

    def frame(self, name: str) -> tuple[str, str]:
        """All the text of a call of `name`, before and after its arguments."""
        before, after = self.style.frame(name)
        return self.begin + self.lead + before, after + self.trail + self.end


@dataclass(frozen=True, slots=True)
class Family:
    """What the models of one family write."""

    name: str
    call: CallSyntax
    reasoning: Span | None = None
