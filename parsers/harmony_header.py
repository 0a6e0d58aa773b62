"""The header of a Harmony message, which says who the message is for.

    read_header("<|channel|>commentary to=functions.f <|constrain|>json", MARKS)
    # Header(channel="commentary", recipient="functions.f")
    read_header("<|start|>assistant to=functions.f<|channel|>commentary json", MARKS)     # the same

Models write the parts in either order, and now and then leave one out or write one twice.
"""

from dataclasses import dataclass

from parsers.arguments.json_lexer import WHITESPACE
from parsers.harmony_marks import CHANNELS, CONTENT_TYPES, NAMESPACE, ROLE, TO, Marks
from parsers.markers import may_become

LONGEST_HEADER = 512
"""Characters of a header, markers included; what is longer is no header."""

_KNOWN = CHANNELS | CONTENT_TYPES | {ROLE}


@dataclass(frozen=True, slots=True)
class Header:
    """What a header says. `strange` are the words in it that belong to none."""

    channel: str = ""
    recipient: str = ""
    strange: tuple[str, ...] = ()

    @property
    def tool(self) -> str:
        """The name of the tool that the message calls."""
        return self.recipient.removeprefix(NAMESPACE)


def read_header(text: str, marks: Marks) -> Header:
    """Read a header as far as it goes. Of a part that comes twice the first counts."""
    channel = recipient = ""
    strange = []
    for word in _words(text, marks):
        if word.startswith(TO) and recipient in ("", word.removeprefix(TO)):
            recipient = word.removeprefix(TO)
        elif word in CHANNELS:
            channel = channel or word
        elif word not in _KNOWN:
            strange.append(word)
    return Header(channel, recipient, tuple(strange))


def may_begin_header(text: str) -> bool:
    """Whether a header may begin with this text, which has no marker in it: a role, and who is called."""
    words = text.split()
    complete = text.endswith(tuple(WHITESPACE))
    for place, word in enumerate(words):
        ends_here = place == len(words) - 1 and not complete
        if word.startswith(TO) or (place == 0 and word == ROLE):
            continue
        if not (ends_here and may_become(word, (TO, *((ROLE,) if place == 0 else ())))):
            return False
    return True


def is_cut_off(header: Header) -> bool:
    """Whether all that is strange about the header is that its last word is not complete."""
    return all(may_become(word, (*_KNOWN, TO)) for word in header.strange[-1:]) and len(header.strange) < 2


def _words(text: str, marks: Marks) -> list[str]:
    for mark in (marks.start, marks.channel, marks.constrain):
        text = text.replace(mark, " ")
    return text.split()
