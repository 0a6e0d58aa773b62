"""Tokens that a mask leaves no choice about, in the model's own tokens.

After `{"city": "Oslo",` a mask may allow nothing but ` "unit": "`, and then `celsius` or `fahrenheit`. That
text is certain, but its tokens are not: a mask of text allows every way to cut it. Models are trained on one
way, their tokenizer's, and so that one is planned, and the mask narrowed to it:

    planner = TokenPlanner(tokenizer, texts)
    planner.plan(matcher, written).forced         # the tokens ` "`, `unit`, `":`, ` "`
    planner.masks.narrow(row, plan.forced[0])     # no ` ` any more

The forced text is tokenized together with what stands before it, and only those tokens are planned that the
usual text behind could not change: ` ` is left to the model where ` true` or ` false` may follow. Where the
text ends, tokens that reach further are left to it too: a path may begin with ` "/`, which is one token.
"""

import codecs
import string
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from typing import Protocol

import numpy as np
import numpy.typing as npt

MOST_FORCED = 256
"""Bytes that are looked ahead at once. XGrammar's own jump forward has no bound, and may have no end."""

MOST_PIECES = 4
"""Looks ahead of which a plan is made at most."""

MOST_SECONDS = 0.1
"""How long a plan may take. Usual ones take a hundredth of that, but a mask may be slow to fill."""

TAIL = 4
"""Tokens before the forced text that it is tokenized with: merges reach back over the last ones only."""

USUAL = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
OTHER = tuple("\"'-+.,:;[]{}()<>/\\_ \n")
"""Kinds of characters that may follow forced text. Free text begins with a usual one where it can."""

OF_EACH_KIND = 2
"""Characters of a kind that are tried as what follows; tokens rarely tell apart more."""

NO_TEXT = 256
"""Stands in place of the first byte of a token without text."""


class Encoding(Protocol):
    @property
    def ids(self) -> list[int]: ...


class Tokenizer(Protocol):
    """What is needed of a `tokenizers.Tokenizer`."""

    def encode(self, sequence: str, /, *, add_special_tokens: bool) -> Encoding: ...

    def decode(self, ids: Sequence[int], /, *, skip_special_tokens: bool) -> str: ...


class Matcher(Protocol):
    """What is needed of an `xgrammar.GrammarMatcher`. Whatever is accepted is one step to roll back."""

    def accept_string(self, input_str: str | bytes, /) -> bool: ...

    def accept_token(self, token_id: int, /) -> bool: ...

    def rollback(self, num_tokens: int = 1, /) -> None: ...

    def is_completed(self) -> bool: ...

    def fill_next_token_bitmask(self, bitmask: npt.NDArray[np.int32], /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Forced:
    """A planned token, and all the forced text that begins with it."""

    token: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What follows the first `start` tokens of an answer. `goes_on`: more may be forced behind it."""

    start: int
    forced: Sequence[Forced]
    goes_on: bool

    def rest(self, written: Sequence[int]) -> Sequence[Forced] | None:
        """What the plan says of the next tokens: none if they are open, None if it says nothing."""
        done = len(written) - self.start
        followed = [each.token for each in self.forced[:done]] == list(written[self.start :])
        return self.forced[done:] if followed and done < max(len(self.forced), 1) else None


class Masks:
    """Reads and narrows masks over one vocabulary. `texts` are the bytes of each token."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._mask = np.zeros((1, (len(texts) + 31) // 32), dtype=np.int32)
        self._first = np.array([text[0] if text else NO_TEXT for text in texts], dtype=np.int16)
        self._beginning_otherwise = np.stack([self._packed(self._first != byte) for byte in range(NO_TEXT)])
        self._ids: dict[bytes, list[int]] = {}
        for token, text in enumerate(texts):
            self._ids.setdefault(text, []).append(token)
        self._longest = max(map(len, texts))

    def only_byte(self, matcher: Matcher) -> bytes:
        """The byte with which every allowed token begins, or none if they differ or the answer may end."""
        if matcher.is_completed() or not matcher.fill_next_token_bitmask(self._mask):
            return b""
        words = self._mask[0].view(np.uint32)
        filled = np.flatnonzero(words)
        if not filled.size:
            return b""
        lowest = int(words[filled[0]])
        byte = self._first[int(filled[0]) * 32 + (lowest & -lowest).bit_length() - 1]
        if byte == NO_TEXT or (words[filled] & self._beginning_otherwise[byte, filled]).any():
            return b""
        return bytes([byte])

    def narrow(self, row: npt.NDArray[np.int32], forced: Forced) -> None:
        """Forbid tokens that end within the forced text, but for the planned one.

        Those that reach its end are the model's to choose: they may be how its tokenizer cuts what it wants
        to write behind. So every text that the mask allows can still be written.
        """
        words = row.view(np.uint32)
        for length in range(1, min(len(forced.text), self._longest + 1)):
            for token in self._ids.get(forced.text[:length], ()):
                if token != forced.token:
                    words[token // 32] &= ~np.uint32(1 << token % 32)

    def _packed(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
        room = np.zeros(self._mask.shape[1] * 32, dtype=np.bool_)
        room[: len(chosen)] = chosen
        return np.packbits(room, bitorder="little").view(np.uint32)


class TokenPlanner:
    """Plans for sequences of one model. Leaves every matcher as it finds it."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[bytes]) -> None:
        self._tokenizer = tokenizer
        self._texts = texts
        self.masks = Masks(texts)

    def plan(self, matcher: Matcher, written: Sequence[int]) -> Plan:
        """Plan what follows `written`, behind which `matcher` stands."""
        forced: list[Forced] = []
        goes_on, until = True, time.perf_counter() + MOST_SECONDS
        try:
            for _ in range(MOST_PIECES):
                near = [*written[-TAIL:], *(each.token for each in forced)][-TAIL:]
                known = len(forced)
                for each in self._piece(matcher, near, until):
                    if not matcher.accept_token(each.token):
                        break
                    forced.append(each)
                if goes_on := len(forced) > known:
                    continue
                break
            return Plan(len(written), tuple(forced), goes_on)
        finally:
            if forced:
                matcher.rollback(len(forced))

    def _piece(self, matcher: Matcher, tail: Sequence[int], until: float) -> Iterator[Forced]:
        """The tokens of the text that is forced next, as long as they are just that text."""
        forced, following = self._look_ahead(matcher, until)
        rest = forced.encode()
        for token in self._cut(tail, forced, following) if forced else ():
            text = self._texts[token]
            if not text or not rest.startswith(text):
                break
            yield Forced(token, rest)
            rest = rest[len(text) :]

    def _cut(self, tail: Sequence[int], forced: str, following: str | None) -> list[int]:
        """The tokens of the forced text, without those at its end that may still change."""
        before, tail = self._before(tail, forced)
        tokens = self._encode(before + forced)
        if following is None:
            return tokens[len(tail) : -1]
        stable = min(
            (common(tokens, self._encode(before + forced + follower)) for follower in following),
            default=len(tokens),
        )
        return tokens[len(tail) : stable]

    def _look_ahead(self, matcher: Matcher, until: float) -> tuple[str, str | None]:
        """The text that is forced, and characters that stand for what may come behind it, if known."""
        forced = bytearray()
        try:
            while (known := len(forced) < MOST_FORCED and time.perf_counter() < until) and (
                byte := self.masks.only_byte(matcher)
            ):
                if not matcher.accept_string(byte):
                    break
                forced += byte
            return whole_characters(bytes(forced)), what_follows(matcher) if known else None
        finally:
            if forced:
                matcher.rollback(len(forced))

    def _before(self, tail: Sequence[int], forced: str) -> tuple[str, Sequence[int]]:
        """As much of the tail as its tokens stay when it is tokenized with the forced text, and its text."""
        for start in range(len(tail)):
            text = self._tokenizer.decode(tail[start:], skip_special_tokens=False)
            if self._encode(text + forced)[: len(tail) - start] == list(tail[start:]):
                return text, tail[start:]
        return "", ()

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids


def whole_characters(text: bytes) -> str:
    """The text up to its last whole character."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(text)


def what_follows(matcher: Matcher) -> str | None:
    """A few characters that stand for all that may follow; none where the answer ends, None where unknown."""
    found = may_follow(matcher, USUAL) or may_follow(matcher, OTHER)
    return found or ("" if matcher.is_completed() else None)


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
