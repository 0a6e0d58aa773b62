r"""Masks over the tokens of a vocabulary: whether one lets an answer through, and random ones that it does.

tokens = Tokens(BYTES, end_ids=[END_OF_BYTES])
mask = tokens.compile('{"type": "structural_tag", "format": {"type": "regex", "pattern": "ab*"}}')
mask.lets_through(b"abb")              # True: bytes are the ids of their tokens
mask.walk(random.Random(0), [b"ab"])   # [97, 98, 98]
"""

import random
import string
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xgrammar

from server.forms import BYTES, END_OF_BYTES

__all__ = ["BYTES", "END_OF_BYTES", "Mask", "Tokens"]

Flags = np.ndarray[Any, np.dtype[np.bool_]]
"""One truth for each token."""

PROSE = frozenset((string.ascii_letters + string.digits + " .-\n").encode())
MARKUP = frozenset(b'<>/{}"\\,:[]')


class Tokens:
    """The texts of all tokens, by id. Those of which the text is empty are never let through."""

    def __init__(self, texts: Sequence[bytes], *, end_ids: Iterable[int]) -> None:
        self.ends = np.isin(np.arange(len(texts)), list(end_ids))
        self.prose = _made_of(texts, PROSE) & ~self.ends
        self.markup = _made_of(texts, MARKUP) & ~self.ends
        info = xgrammar.TokenizerInfo(
            list(texts),
            vocab_type=xgrammar.VocabType.RAW,
            stop_token_ids=np.flatnonzero(self.ends).tolist(),
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1)

    def compile(self, structural_tag: str) -> "Mask":
        """Compile a structural tag, or find it among those compiled before. Raises `RuntimeError`."""
        return Mask(self._compiler.compile_structural_tag(structural_tag), self)


class Mask:
    """A compiled structural tag."""

    def __init__(self, compiled: Any, tokens: Tokens) -> None:
        self._compiled = compiled
        self._tokens = tokens

    def lets_through(self, ids: Iterable[int]) -> bool:
        """Whether the whole answer may be written, and end there."""
        matcher = xgrammar.GrammarMatcher(self._compiled)
        if not all(matcher.accept_token(id) for id in ids):
            return False
        return bool((self._allowed(matcher) & self._tokens.ends).any())

    def walk(
        self, rng: random.Random, scripts: Sequence[Sequence[int]], *, limit: int = 400
    ) -> list[int] | None:
        """Draw a random answer that the mask lets through, or None if it does not end within `limit` tokens.

        Now and then it tries to write one of the `scripts`, as far as the mask lets it. Else it stays near
        what models write, with a taste for the characters of markup.
        """
        matcher = xgrammar.GrammarMatcher(self._compiled)
        written, script = list[int](), list[int]()
        while len(written) < limit:
            allowed = self._allowed(matcher)
            if not script and rng.random() < (0.1 if written else 0.5):
                script = list(rng.choice(scripts))
            if script and allowed[script[0]]:
                token, script = script[0], script[1:]
            else:
                token, script = self._draw(allowed, rng), []
            matcher.accept_token(token)
            if self._tokens.ends[token]:
                return written
            written.append(token)
        return None

    def _allowed(self, matcher: Any) -> Flags:
        size = len(self._tokens.ends)
        bitmask = xgrammar.allocate_token_bitmask(1, size)
        matcher.fill_next_token_bitmask(bitmask)
        return np.unpackbits(bitmask.numpy().view(np.uint8), bitorder="little")[:size].astype(bool)

    def _draw(self, allowed: Flags, rng: random.Random) -> int:
        """Draw one of the allowed tokens, of which there always is one."""
        tokens = self._tokens
        ends, others = np.flatnonzero(allowed & tokens.ends), allowed & ~tokens.ends
        if ends.size and (not others.any() or rng.random() < 0.02):
            return int(rng.choice(ends))
        for preferred, chance in ((tokens.markup, 0.3), (tokens.prose, 0.95)):
            if rng.random() < chance and (others & preferred).any():
                others = others & preferred
        return int(rng.choice(np.flatnonzero(others)))


def _made_of(texts: Sequence[bytes], letters: frozenset[int]) -> Flags:
    return np.array([bool(text) and letters.issuperset(text) for text in texts])
