r"""Random walks: answers that are made of nothing but what a compiled mask lets through.

walker = walker_of_characters()
walker.walk(walker.compile(tag), random.Random(0), words=["<tool_call>"])    # "Hm<tool_call>\n{…", or None
"""

import json
import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import xgrammar as xgr

CHARACTERS = [bytes([byte]) for byte in range(128)] + [char.encode() for char in "é世🚀｜▁"] + [b"<eos>"]
"""One token for each ASCII character, a few for others, and an end token."""

PLAIN = frozenset((string.ascii_letters + string.digits + " .-").encode())
MARKUP = frozenset(b'<>/{}"\\,:[]()\n')

LONGEST = 600
"""Steps of a walk; one that has not ended then is given up."""


@dataclass(frozen=True, slots=True)
class Walker:
    """Walks over one vocabulary, given as the bytes of its tokens."""

    tokens: Sequence[bytes]
    end: int
    compiler: xgr.GrammarCompiler
    favourites: Sequence[int]
    """What walks prefer, so that they stay near what models write: plain text, with a taste for markup."""

    @classmethod
    def over(cls, tokens: Sequence[bytes], end: int, info: xgr.TokenizerInfo) -> "Walker":
        plain = [id for id, token in enumerate(tokens) if token and PLAIN.issuperset(token)]
        markup = [id for id, token in enumerate(tokens) if token and MARKUP.issuperset(token)]
        # As many of each, however many tokens of each there are.
        fewer = random.Random(0).sample(plain, min(len(plain), 2000))
        favourites = [*fewer, *(markup * (len(fewer) // (2 * len(markup)) + 1))]
        return cls(tokens, end, xgr.GrammarCompiler(info, max_threads=1), favourites)

    @classmethod
    def of_tokenizer(cls, tokenizer: Any) -> "Walker":
        """Over the vocabulary of a model, whose tokenizer's tokens are bytes spelled in letters."""
        info = xgr.TokenizerInfo.from_huggingface(tokenizer)
        return cls.over(info.decoded_vocab, tokenizer.eos_token_id, info)

    def compile(self, tag: Mapping[str, Any]) -> Any:
        return self.compiler.compile_structural_tag(json.dumps(tag))

    def walk(self, grammar: Any, rng: random.Random, words: Sequence[str]) -> str | None:
        """An answer, or None if it does not end in time. Now and then it tries to write one of the words."""
        matcher = xgr.GrammarMatcher(grammar)
        bitmask = xgr.allocate_token_bitmask(1, len(self.tokens))
        row = bitmask.numpy()[0]
        written: list[bytes] = []
        for step in range(LONGEST):
            if text := self._text(matcher, rng, words, eager=not step):
                written.append(text)
                continue
            matcher.fill_next_token_bitmask(bitmask)
            token = self._token(row, rng)
            assert matcher.accept_token(token)
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
            assert matcher.accept_string(forced)
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


@cache
def walker_of_characters() -> Walker:
    """Over one token for each character, which walks the furthest in the least time."""
    end = len(CHARACTERS) - 1
    info = xgr.TokenizerInfo(CHARACTERS, vocab_type=xgr.VocabType.RAW, stop_token_ids=[end])
    return Walker.over(CHARACTERS, end, info)


def _forced(matcher: Any) -> str:
    """What has to come next."""
    try:
        return str(matcher.find_jump_forward_string())
    except UnicodeDecodeError:
        # A token has ended within a character, and what has to come is the rest of that.
        return ""


def _allows(row: Any, token: int) -> bool:
    return bool(row[token >> 5] >> (token & 31) & 1)
