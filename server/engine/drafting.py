"""Tokens that a mask leaves no choice about, in the model's own tokens.

After `{"city": "Oslo",` a mask may allow nothing but ` "unit": "`, and then `celsius` or `fahrenheit`. That
text is certain, but its tokens are not: a mask of text allows every way to cut it. Models are trained on one
way, their tokenizer's, and so that one is planned, and the others are not allowed:

planner = TokenPlanner(tokenizer, vocabulary_size=49152)
planner.plan(matcher, written, ends=[2])     # [476, 14420, 1799, 476], False: ` "`, `unit`, `":`, ` "`

The forced text is tokenized together with what stands before it, and only those tokens are planned that no
text behind could change: ` ` is left to the model where ` true` or ` false` may follow.
"""

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from typing import Protocol

import numpy as np
import numpy.typing as npt

MOST_FORCED = 8192
"""Characters that are planned at once. In longer text the plan ends, and another is made there."""

TAIL = 4
"""Tokens before the forced text that it is tokenized with: merges reach back over the last ones only."""

USUAL = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
OTHER = tuple("\"'-+.,:;[]{}()<>/\\_ \n")
"""Kinds of characters that may follow forced text. Free text begins with a usual one where it can."""

OF_EACH_KIND = 2
"""Characters of a kind that are tried as what follows; tokens rarely tell apart more."""


class Encoding(Protocol):
    @property
    def ids(self) -> list[int]: ...


class Tokenizer(Protocol):
    """What is needed of a `tokenizers.Tokenizer`."""

    def encode(self, sequence: str, /, *, add_special_tokens: bool) -> Encoding: ...

    def decode(self, ids: Sequence[int], /, *, skip_special_tokens: bool) -> str: ...


class Matcher(Protocol):
    """What is needed of an `xgrammar.GrammarMatcher`. Whatever is accepted is one step to roll back."""

    def find_jump_forward_string(self) -> str: ...

    def accept_string(self, input_str: str, /) -> bool: ...

    def accept_token(self, token_id: int, /) -> bool: ...

    def rollback(self, num_tokens: int = 1, /) -> None: ...

    def is_completed(self) -> bool: ...

    def fill_next_token_bitmask(self, bitmask: npt.NDArray[np.int32], /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """The tokens that must follow the first `start` of an answer. `goes_on`: more may have to follow them."""

    start: int
    tokens: Sequence[int]
    goes_on: bool

    def covers(self, position: int) -> bool:
        """Whether the plan says what stands at this position, or that this is open."""
        return self.start <= position < self.start + max(len(self.tokens), 1)


class TokenPlanner:
    """Plans for sequences of one model. Leaves every matcher as it finds it."""

    def __init__(self, tokenizer: Tokenizer, *, vocabulary_size: int) -> None:
        self._tokenizer = tokenizer
        self._mask = np.zeros((1, (vocabulary_size + 31) // 32), dtype=np.int32)

    def plan(
        self, matcher: Matcher, written: Sequence[int], *, ends: Sequence[int]
    ) -> tuple[Sequence[int], bool]:
        """Return the tokens that must follow `written`, and whether more may have to follow these.

        `matcher` stands behind `written`, of which the end is enough. Where only end tokens may follow, the
        first of `ends` is planned.
        """
        tokens: list[int] = []
        goes_on = True
        try:
            while goes_on and len(tokens) < MOST_FORCED // 4:
                near = [*written[-TAIL:], *tokens][-TAIL:]
                further = self._piece(matcher, near)
                tokens += further
                goes_on = bool(further)
            if not goes_on and self._only_ends(matcher, ends):
                return (*tokens, ends[0]), False
            return tokens, goes_on
        finally:
            if tokens:
                matcher.rollback(len(tokens))

    def _piece(self, matcher: Matcher, tail: Sequence[int]) -> list[int]:
        """Tokens that must come next. They are accepted."""
        forced, following = look_ahead(matcher)
        tokens = self._cut(tail, forced, following) if forced else []
        return list(takewhile(matcher.accept_token, tokens))

    def _cut(self, tail: Sequence[int], forced: str, following: str) -> list[int]:
        """The tokens of the forced text, without those at its end that may still change."""
        before, tail = self._before(tail, forced)
        tokens = self._encode(before + forced)
        stable = min(
            (common(tokens, self._encode(before + forced + follower)) for follower in following),
            default=len(tokens),
        )
        return tokens[len(tail) : stable]

    def _before(self, tail: Sequence[int], forced: str) -> tuple[str, Sequence[int]]:
        """As much of the tail as its tokens stay when it is tokenized with the forced text, and its text."""
        for start in range(len(tail)):
            text = self._tokenizer.decode(tail[start:], skip_special_tokens=False)
            if self._encode(text + forced)[: len(tail) - start] == list(tail[start:]):
                return text, tail[start:]
        return "", ()

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def _only_ends(self, matcher: Matcher, ends: Sequence[int]) -> bool:
        """Whether the mask allows the first end token, and no token that is none."""
        if not ends or not matcher.is_completed():
            return False
        matcher.fill_next_token_bitmask(self._mask)
        allowed = np.unpackbits(self._mask.view(np.uint8), bitorder="little").nonzero()[0]
        return ends[0] in allowed and set(allowed.tolist()) <= set(ends)


def look_ahead(matcher: Matcher) -> tuple[str, str]:
    """The text that is forced, and characters that stand for what may come behind it."""
    forced, steps = "", 0
    try:
        # XGrammar stops looking where a rule of the grammar ends, though the next one may force more.
        while len(forced) < MOST_FORCED and (more := jump_forward(matcher)):
            if not matcher.accept_string(more):
                break
            forced, steps = forced + more, steps + 1
        if len(forced) > MOST_FORCED:
            return forced[:MOST_FORCED], forced[MOST_FORCED]
        return forced, forced and (may_follow(matcher, USUAL) or may_follow(matcher, OTHER))
    finally:
        if steps:
            matcher.rollback(steps)


def jump_forward(matcher: Matcher) -> str:
    """What XGrammar knows to be forced, up to the last whole character."""
    try:
        return matcher.find_jump_forward_string()
    except UnicodeDecodeError as error:  # the next character is not certain, but its first byte is
        return bytes(error.object[: error.start]).decode()


def may_follow(matcher: Matcher, kinds: Iterable[str]) -> str:
    """A few characters of each kind that the mask allows next."""
    return "".join(
        character
        for kind in kinds
        for character in islice(filter(partial(allows, matcher), kind), OF_EACH_KIND)
    )


def allows(matcher: Matcher, text: str) -> bool:
    accepted: bool = matcher.accept_string(text)
    if accepted:
        matcher.rollback(1)
    return accepted


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens are the same from the start."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    return sum(1 for _ in same)
