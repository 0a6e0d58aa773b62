r"""Text of prompts as its marks, words and letters, so that comparisons never cut a mark in two.

    marks = Marks({"<|call|>"})
    marks.split('<|call|>f\n')                         # ["<|call|>", "f", "\n"]
    marks.different("<a>f()</a><z>", "<a>Hi.</a><z>")  # "f()"

A mark is a control token of the vocabulary, or what looks like one: `<tag>`, `<tag=`, `[TAG]`.
"""

import re
from collections.abc import Collection, Sequence
from itertools import takewhile

_TAG = r"<[^\s<>\"'=(){}]*[>=]?"
_SQUARE = r"\[/?[A-Z][A-Z_]+\]"


class Marks:
    """The marks of one vocabulary."""

    def __init__(self, control_strings: Collection[str]) -> None:
        controls = sorted(filter(str.strip, control_strings), key=len, reverse=True)
        mark = "|".join([*map(re.escape, controls), _TAG, _SQUARE])
        self._mark = re.compile(mark)
        self._token = re.compile(rf"{mark}|\w+|.", re.DOTALL)

    def split(self, text: str) -> list[str]:
        """The marks, words and other letters of a text."""
        return self._token.findall(text)

    def is_mark(self, token: str) -> bool:
        return self._mark.fullmatch(token) is not None

    def different(self, text: str, other: str) -> str:
        """What of a text is not also how the other begins or ends."""
        tokens, others = self.split(text), self.split(other)
        head = _common(tokens, others)
        tail = _common(tokens[head:][::-1], others[head:][::-1])
        return "".join(tokens[head : len(tokens) - tail])

    def common_head(self, text: str, other: str) -> str:
        """What both begin with, without the whitespace at its end."""
        tokens = self.split(text)
        return "".join(tokens[: _common(tokens, self.split(other))]).rstrip()

    def common_tail(self, text: str, other: str) -> str:
        """What both end with, from its first mark on."""
        tokens = self.split(text)
        tail = tokens[len(tokens) - _common(tokens[::-1], self.split(other)[::-1]) :]
        first = next((i for i, token in enumerate(tail) if self.is_mark(token)), len(tail))
        return "".join(tail[first:])

    def after_last(self, text: str) -> tuple[str, str]:
        """The text through its last mark, and what follows that."""
        tokens = self.split(text)
        last = max((i for i, token in enumerate(tokens) if self.is_mark(token)), default=-1)
        return "".join(tokens[: last + 1]), "".join(tokens[last + 1 :])

    def before_last(self, text: str) -> tuple[str, str]:
        """The text before its last mark, and from there on. All of it is the first if it has one mark."""
        tokens = self.split(text)
        places = [i for i, token in enumerate(tokens) if self.is_mark(token)]
        at = places[-1] if len(places) > 1 else len(tokens)
        return "".join(tokens[:at]), "".join(tokens[at:])

    def first(self, text: str) -> tuple[str, str, str]:
        """What stands before the first mark, the mark, and the rest."""
        tokens = self.split(text)
        at = next((i for i, token in enumerate(tokens) if self.is_mark(token)), len(tokens))
        return "".join(tokens[:at]), "".join(tokens[at : at + 1]), "".join(tokens[at + 1 :])


def _common(tokens: Sequence[str], others: Sequence[str]) -> int:
    """How many tokens both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(tokens, others, strict=False)))
