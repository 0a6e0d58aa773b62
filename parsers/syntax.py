r"""How the answers of a model family are marked up, stated as data.

CallSyntax("<tool_call>", "</tool_call>", JsonCall(), lead="\n", trail="\n", separator="\n")
Span("<think>", "</think>", after="\n\n")
Envelope("<response>\n", "\n</response>")
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from parsers.arguments.json_lexer import WHITESPACE
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
class Envelope:
    """What models may write around the text for the user, and is no part of it. One of the two may be empty.

    The parser drops both wherever they stand outside of reasoning and calls, with the whitespace around them.
    """

    begin: str
    end: str

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.begin.strip(), self.end.strip())))


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """How calls stand in an answer: in blocks, each between the markers `begin` and `end`.

    A block is written `begin`, `lead`, calls, `trail`, `end`. It holds one call, and `separator` stands
    between two blocks; or, where `joint` is given, there is one block for all calls, with `joint` between
    them. `before` is what a model writes in front of its first block: whitespace, or the envelope of no
    text. All whitespace is as the model was trained; the parser takes any.

    `end` is empty where the calls themselves tell where they end. `begin` is empty where nothing announces
    a call: then one is looked for at the very start of the answer, and elsewhere by the style's cue.
    `openers` are other markers that models begin a block with. Where the style's calls have a marker of
    their own, one may also stand without a block around it.
    """

    begin: str
    end: str
    style: ArgumentStyle
    lead: str = ""
    trail: str = ""
    separator: str = ""
    joint: str | None = None
    before: str = ""
    openers: tuple[str, ...] = ()

    @property
    def markers(self) -> tuple[str, ...]:
        """Everything that announces a call in text."""
        return tuple(filter(None, (self.begin, *self.openers, self.style.opening)))

    def cues(self, names: Iterable[str]) -> tuple[str, ...]:
        """What tells of calls of these names where no marker does."""
        if self.begin:
            return ()
        return tuple(self.lead + cue for name in names if (cue := self.style.cue(name)))

    def heads(self, names: Iterable[str]) -> tuple[str, ...]:
        """What tells of another call of these names in a block, where no marker does."""
        if self.begin and self.joint is None:
            return ()
        return tuple(head for name in names if (head := self.style.head(name)))

    def behind(self, text: str) -> str:
        """What of the text behind a call, where no further one follows, is not markup."""
        around = (self.trail.strip(WHITESPACE), (self.joint or "").strip(WHITESPACE))
        markup = tuple(filter(None, (*around, self.style.closing, *self.style.surplus)))
        at = end = 0
        while at < len(text):
            if mark := next((mark for mark in markup if text.startswith(mark, at)), ""):
                at = end = at + len(mark)
            elif text[at] in WHITESPACE:
                at += 1
            else:
                break
        return text[end:]

    @property
    def surplus(self) -> tuple[str, ...]:
        """What models may write behind a block of calls though nothing has begun that it would end."""
        if self.ends_with_its_call:
            return self.style.surplus
        return (self.end,) if self.end else ()

    @property
    def ends_with_its_call(self) -> bool:
        """Whether a block is over with its first call: nothing marks its end, nor another call in it."""
        return bool(self.begin) and not self.end and not self.style.opening and self.joint is None

    @property
    def landmarks(self) -> tuple[str, ...]:
        """Everything at which a call that cannot be read may have ended."""
        return tuple(filter(None, (*self.markers, self.end, self.style.closing)))
