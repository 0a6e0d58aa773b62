"""Masks over a vocabulary's tokens, and walks through them."""

import json
import random

from server.walk import BYTES, END_OF_BYTES, Mask, Tokens

PATTERN = "a[bc]{0,3}d"


def mask(tokens: Tokens, pattern: str = PATTERN) -> Mask:
    return tokens.compile(
        json.dumps({"type": "structural_tag", "format": {"type": "regex", "pattern": pattern}})
    )


def letters() -> Tokens:
    return Tokens(BYTES, end_ids=[END_OF_BYTES])


def test_an_answer_passes_if_it_may_end_there() -> None:
    """The whole of it, and nothing less or more."""
    assert mask(letters()).lets_through(b"abcd")
    assert not mask(letters()).lets_through(b"abc")
    assert not mask(letters()).lets_through(b"abcde")


def test_walks_stay_within_the_mask() -> None:
    """Whatever the scripts are, and each seed has its own walk."""
    through = mask(letters())
    walks = [through.walk(random.Random(seed), [b"abd", b"x"]) for seed in range(20)]

    assert all(walk is not None and through.lets_through(walk) for walk in walks)
    assert len({bytes(walk or []) for walk in walks}) > 3


def test_a_walk_that_does_not_end_is_none() -> None:
    """Its end is the limit."""
    assert mask(letters(), "a{9,}").walk(random.Random(1), [b"a"], limit=8) is None


def test_walks_like_to_write_scripts() -> None:
    """As far as the mask lets them: else a marker of some length would hardly ever come."""
    through = mask(letters(), "[a-z]{0,40}")
    walks = [through.walk(random.Random(seed), [b"wombat"]) or [] for seed in range(10)]

    assert any(b"wombat" in bytes(walk) for walk in walks)


def test_tokens_without_text_are_never_drawn() -> None:
    """They are special tokens that are no part of an answer; a token may have several letters."""
    through = mask(Tokens([b"a", b"bc", b"d", b"", b"<end>"], end_ids=[4]))
    walks = [through.walk(random.Random(seed), [[0, 1]]) or [] for seed in range(10)]

    assert through.lets_through([0, 1, 2])
    assert not through.lets_through([0, 3, 2])
    assert {id for walk in walks for id in walk} <= {0, 1, 2}
