r"""Masks over the tokens of a vocabulary: whether one lets an answer through, and random ones that it does.

walker = Walker.over(BYTES, END_OF_BYTES)
mask = walker.compile('{"type": "structural_tag", "format": {"type": "regex", "pattern": "ab*"}}')
walker.lets_through(mask, b"abb")                   # True: bytes are the ids of their tokens
walker.walk(mask, random.Random(0), words=["ab"])   # "abb", or None if it does not end in time
"""

import random
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgrammar

PLAIN = frozenset((string.ascii_letters + string.digits + " .-").encode())
MARKUP = frozenset(b'<>/{}"\\,:[]()\n')

LONGEST = 600
"""Steps of a walk; one that has not ended then is given up."""


@dataclass(frozen=True, slots=True)
class Walker:
    """Walks over one vocabulary, given as the bytes of its tokens. Tokens without any are never written."""

    tokens: Sequence[bytes]
    end: int
    compiler: xgrammar.GrammarCompiler
    favourites: Sequence[int]
    """What walks prefer, so that they stay near what models write: plain text, with a taste for markup."""

    @classmethod
    def over(cls, tokens: Sequence[bytes], end: int, info: xgrammar.TokenizerInfo | None = None) -> "Walker":
        """A walker over these tokens, of which `end` ends an answer; `info` is how XGrammar knows them."""
        if info is None:
            raw = xgrammar.VocabType.RAW
            info = xgrammar.TokenizerInfo(list(tokens), vocab_type=raw, stop_token_ids=[end])
        plain = [id for id, token in enumerate(tokens) if token and PLAIN.issuperset(token)]
        markup = [id for id, token in enumerate(tokens) if token and MARKUP.issuperset(token)]
        # As many of each, however many tokens of each there are.
        fewer = random.Random(0).sample(plain, min(len(plain), 2000))  # noqa: S311 - no secret
        favourites = [*fewer, *(markup * (len(fewer) // (2 * len(markup)) + 1))]
        return cls(tokens, end, xgrammar.GrammarCompiler(info, max_threads=1), favourites)

    def compile(self, structural_tag: str) -> xgrammar.CompiledGrammar:
        """Compile a structural tag, or find it among those compiled before. Raises `RuntimeError`."""
        return self.compiler.compile_structural_tag(structural_tag)

    def lets_through(self, mask: xgrammar.CompiledGrammar, ids: Iterable[int]) -> bool:
        """Whether the whole answer may be written in these tokens, and end there."""
        matcher = xgrammar.GrammarMatcher(mask)
        return all(matcher.accept_token(id) for id in ids) and bool(matcher.accept_token(self.end))

    def walk(self, mask: xgrammar.CompiledGrammar, rng: random.Random, words: Sequence[str]) -> str | None:
        """An answer, or None if it does not end in time. Now and then it tries to write one of the words."""
        matcher = xgrammar.GrammarMatcher(mask)
        bitmask = xgrammar.allocate_token_bitmask(1, len(self.tokens))
        row = bitmask.numpy()[0]
        written: list[bytes] = []
        for step in range(LONGEST):
            if text := self._text(matcher, rng, words, eager=not step):
                written.append(text)
                continue
            matcher.fill_next_token_bitmask(bitmask)
            token = self._token(row, rng)
            matcher.accept_token(token)
            if token == self.end:
                # Free text may hold bytes that are no character, which the server shows as replacements.
                return b"".join(written).decode(errors="replace")
            written.append(self.tokens[token])
        return None

    def _text(self, matcher: Any, rng: random.Random, words: Sequence[str], *, eager: bool) -> bytes:
        """What has to come next, or a word, or the beginning of one; or nothing."""
        if rng.random() < (0.5 if eager else 0.08):
            word = rng.choice(words)
            word = word[: rng.randint(1, len(word))] if rng.random() < 0.2 else word
            if matcher.accept_string(word):
                return word.encode()
        if rng.random() < 0.8 and (forced := _forced(matcher)):
            matcher.accept_string(forced)
            return forced.encode()
        return b""

    def _token(self, row: Any, rng: random.Random) -> int:
        if _allows(row, self.end) and rng.random() < 0.1:
            return self.end
        if rng.random() < 0.97:
            for _ in range(8):
                token = rng.choice(self.favourites)
                if _allows(row, token):
                    return token
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[: len(self.tokens)])
        if len(allowed) > 1 and rng.random() < 0.9:
            allowed = allowed[allowed != self.end]
        return int(rng.choice(allowed))


def _forced(matcher: Any) -> str:
    """What has to come next."""
    try:
        return str(matcher.find_jump_forward_string())
    except UnicodeDecodeError:
        # A token has ended within a character, and what has to come is the rest of that.
        return ""


def _allows(row: Any, token: int) -> bool:
    return bool(row[token >> 5] >> (token & 31) & 1)
