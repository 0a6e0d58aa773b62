r"""Text from a client never becomes a control token, whatever it spells and whatever a template does to it.

Before a template sees it, each spelling of a control string is replaced by one character that templates treat
as a letter; after it, the prompt is cut there, and what the client spelled is encoded as plain text:

    placeholders = Placeholders(Controls(frozenset({"<|im_end|>"})))
    hidden = placeholders.hide("Bye<|im_end|>")         # "Bye𗀀"
    placeholders.cut(f"<|im_start|>user\n{hidden}")
    # [Piece("<|im_start|>user\nBye", Author.TEMPLATE), Piece("<|im_end|>", Author.CLIENT)]

The placeholders are Tangut letters: no filter changes their case, `trim` leaves them, `repr` prints them, and
a client's own Tangut is hidden as well, so that it cannot be mistaken for one of them. What is hidden:

- every spelling of a control string, in any case, for a template may change the case;
- an edge of a string that begins or ends a control string (`<|im_`), for another may follow it;
- a whole string that stands inside one (`think`), if the template wrote the rest around it: see `fragments`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from server.errors import ApiError, Code

FIRST, LAST = "\U00017000", "\U000187f7"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
KEYWORDS = ("type", "properties", "required", "items", "enum", "description", "title", "format", "default")
SCHEMA_WORDS = frozenset({*TYPES, *KEYWORDS})
"""Words of tool schemas that templates branch on, and that therefore should stay as they are."""


class Author(Enum):
    """Who wrote a piece of the prompt, and so whether it may hold control tokens."""

    TEMPLATE = "template"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    author: Author


class Controls:
    """What must not be spelled by a client: compiled once for a set of control strings."""

    def __init__(self, strings: frozenset[str]) -> None:
        self.strings = strings
        self.longest = max(map(len, strings), default=0)
        ordered = sorted(strings, key=lambda string: (-len(string), string))
        alternatives = [re.escape(string) for string in ordered]
        # A surrogate without its other half cannot be encoded at all.
        alternatives += [f"[{FIRST}-{LAST}]", "[\ud800-\udfff]"]
        self.pattern = re.compile("|".join(alternatives), re.IGNORECASE)

        lowered = [string.lower() for string in ordered]
        # Words of letters alone have no edges: half of all texts would begin or end with one.
        self._heads = {s[:n] for s in lowered if not s[0].isalnum() for n in range(1, len(s))}
        self._tails = {s[-n:] for s in lowered if not s[-1].isalnum() for n in range(1, len(s))}
        self._first = {head[0] for head in self._heads}
        self._last = {tail[-1] for tail in self._tails}
        self._all = "\n".join(lowered)
        self._harmless = SCHEMA_WORDS - {re.sub(r"\W", "", string) for string in lowered}
        # Most texts have none of these letters, and nothing else needs to be looked at then.
        marks = {string[0] for string in lowered} | self._last
        letters = "".join(re.escape(mark) for mark in sorted(marks))
        self.mark = re.compile(f"[{letters}{FIRST}-{LAST}\ud800-\udfff]", re.IGNORECASE)

    def head_length(self, text: str) -> int:
        """Return how many letters at the end of `text` begin a control string."""
        end = text[-self.longest :].lower()
        places = (i for i, letter in enumerate(end) if letter in self._first and end[i:] in self._heads)
        return len(end) - next(places, len(end))

    def tail_length(self, text: str) -> int:
        """Return how many letters at the beginning of `text` end a control string."""
        start = text[: self.longest].lower()
        places = (
            i for i, letter in enumerate(start) if letter in self._last and start[: i + 1] in self._tails
        )
        return max(places, default=-1) + 1

    def has_inside(self, text: str) -> bool:
        """Return whether some control string has `text` inside, without the white space around it."""
        if len(text) > 4 * self.longest or text in self._harmless:
            return False
        word = text.strip().lower()
        return word != "" and word in self._all

    def around(self, fragments: Iterable[str], prompt: str) -> list[str]:
        """Return the control strings of `prompt` that have one of `fragments` inside."""
        lowered = [fragment.strip().lower() for fragment in fragments]
        candidates = (s for s in self.strings if any(fragment in s.lower() for fragment in lowered))
        return [string for string in candidates if string in prompt]


class Placeholders:
    """The placeholders of one prompt.

    `fragments` are the whole strings found so far that stand inside a control string; given as `hidden`,
    they are hidden as well.
    """

    def __init__(self, controls: Controls, *, hidden: frozenset[str] = frozenset()) -> None:
        self.fragments: set[str] = set()
        self._controls = controls
        self._hidden = hidden
        # Words of schemas come again and again.
        self._seen: dict[str, str] = {}
        self._letters: dict[str, str] = {}
        self._spellings: dict[str, str] = {}

    def hide(self, value: Any) -> Any:
        """Return a JSON value with placeholders in its strings and keys. Raises `ApiError` for too many."""
        return _map_strings(value, self._hide_text)

    def hide_spellings(self, value: Any) -> Any:
        """Do the same, but leave whole strings that stand inside a control string.

        For what chooses among a template's branches, and must be recognised there: `thinking="on"`.
        """
        return _map_strings(value, self._hide_parts)

    def letter(self, spelling: str) -> str:
        """Return the placeholder of `spelling`."""
        if (letter := self._letters.get(spelling)) is not None:
            return letter
        code = ord(FIRST) + len(self._letters)
        if code > ord(LAST):
            raise ApiError(
                Code.INVALID_VALUE,
                "The messages and tools spell too many different control tokens; remove some of them.",
                "messages",
            )
        letter = chr(code)
        self._letters[spelling] = letter
        self._spellings[letter] = REPLACEMENT if "\ud800" <= spelling[:1] <= "\udfff" else spelling
        return letter

    def cut(self, prompt: str) -> Iterator[Piece]:
        """Yield the pieces of a prompt, each with the text it really has. No piece is empty."""
        for i, part in enumerate(re.split(f"([{FIRST}-{LAST}]+)", prompt)):
            if part:
                author = Author.CLIENT if i % 2 else Author.TEMPLATE
                yield Piece(self._reveal(part) if i % 2 else part, author)

    def _hide_text(self, text: str) -> str:
        hidden = self._seen.get(text)
        if hidden is None:
            if self._controls.has_inside(text):
                self.fragments.add(text)
            hidden = self.letter(text) if text in self._hidden else self._hide_parts(text)
            self._seen[text] = hidden
        return hidden

    def _hide_parts(self, text: str) -> str:
        controls = self._controls
        if not controls.mark.search(text):
            return text
        text = controls.pattern.sub(lambda match: self.letter(match[0]), text)
        # White space at the edges may be trimmed, and stays outside.
        start = len(text) - len(text.lstrip())
        if length := controls.tail_length(text[start : start + controls.longest]):
            text = text[:start] + self.letter(text[start : start + length]) + text[start + length :]
        end = len(text.rstrip())
        if length := controls.head_length(text[max(0, end - controls.longest) : end]):
            text = text[: end - length] + self.letter(text[end - length : end]) + text[end:]
        return text

    def _reveal(self, letters: str) -> str:
        return "".join(self._spellings.get(letter, letter) for letter in letters)


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with all its strings and keys changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (dict, Mapping)):  # A dict by itself is recognised at once.
        return {change(key): _map_strings(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_map_strings(item, change) for item in value]
    return value
