"""Masks over bytes: what a plan's format accepts, and random texts that it allows."""

import json
import random
from collections.abc import Callable

import numpy as np
import pytest
import xgrammar as xgr

from server.schema.plan import SchemaPlan

Accepts = Callable[[SchemaPlan, str], bool]
Walks = Callable[[SchemaPlan, int, int], list[str]]

_END = 256
_LONG = 60
_TOO_LONG = 1_000


@pytest.fixture(scope="session")
def compiler() -> xgr.GrammarCompiler:
    """One token for each byte, so that every mask is exact to the byte."""
    vocabulary = [bytes([byte]) for byte in range(_END)] + [b"<end>"]
    tokens = xgr.TokenizerInfo(vocabulary, vocab_type=xgr.VocabType.RAW, stop_token_ids=[_END])
    return xgr.GrammarCompiler(tokens, max_threads=1, cache_enabled=True)


def _compile(compiler: xgr.GrammarCompiler, plan: SchemaPlan) -> xgr.CompiledGrammar:
    return compiler.compile_structural_tag(json.dumps({"type": "structural_tag", "format": plan.format}))


@pytest.fixture(scope="session")
def accepts(compiler: xgr.GrammarCompiler) -> Accepts:
    """Whether a plan's mask allows a text as a whole."""

    def accept(plan: SchemaPlan, text: str) -> bool:
        matcher = xgr.GrammarMatcher(_compile(compiler, plan))
        return bool(matcher.accept_string(text) and matcher.is_completed())

    return accept


@pytest.fixture(scope="session")
def walks(compiler: xgr.GrammarCompiler) -> Walks:
    """`walks(plan, count, seed)`: texts that the mask allows, byte by byte at random, but no endless ones."""

    def walk_all(plan: SchemaPlan, count: int, seed: int) -> list[str]:
        compiled, chance = _compile(compiler, plan), random.Random(seed)
        texts = (_walk(compiled, chance) for _ in range(count))
        return [text.decode() for text in texts if text is not None]

    return walk_all


def _walk(compiled: xgr.CompiledGrammar, chance: random.Random) -> bytes | None:
    matcher = xgr.GrammarMatcher(compiled)
    mask = xgr.allocate_token_bitmask(1, _END + 1)
    text = bytearray()
    while len(text) < _TOO_LONG:
        matcher.fill_next_token_bitmask(mask)
        bits = np.unpackbits(mask.numpy().view(np.uint8), bitorder="little")
        allowed = bits[: _END + 1].nonzero()[0].tolist()
        assert allowed, f"the mask is at a dead end after {bytes(text)!r}"
        bytes_allowed = [token for token in allowed if token != _END]
        if not bytes_allowed or (_END in allowed and (len(text) > _LONG or chance.random() < 0.3)):
            return bytes(text)
        closing = [token for token in bytes_allowed if token in b'"]}']
        token = chance.choice(closing if closing and len(text) > _LONG else bytes_allowed)
        assert matcher.accept_token(token)
        text.append(token)
    return None
