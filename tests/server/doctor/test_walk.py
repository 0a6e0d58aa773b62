"""Masks over a vocabulary's tokens, and walks through them."""

import json
import random
from typing import Any

from server.doctor import walk
from server.doctor.walk import Walker
from server.mask.forms import BYTES, END_OF_BYTES

LETTERS = Walker.over(BYTES, END_OF_BYTES)


def mask(pattern: str = "a[bc]{0,3}d", *, walker: Walker = LETTERS) -> Any:
    return walker.compile(
        json.dumps({"type": "structural_tag", "format": {"type": "regex", "pattern": pattern}})
    )


def test_an_answer_passes_if_it_may_end_there() -> None:
    """The whole of it, and nothing less or more."""
    assert LETTERS.lets_through(mask(), b"abcd")
    assert not LETTERS.lets_through(mask(), b"abc")
    assert not LETTERS.lets_through(mask(), b"abcde")


def test_walks_stay_within_the_mask() -> None:
    """Whatever the words are, and each seed has its own walk."""
    walks = [LETTERS.walk(mask(), random.Random(seed), ["abd", "x"]) for seed in range(20)]

    assert all(text is not None and LETTERS.lets_through(mask(), text.encode()) for text in walks)
    assert len(set(walks)) > 3


def test_a_walk_that_does_not_end_is_none() -> None:
    """Its end is a number of steps."""
    assert LETTERS.walk(mask(f"[ab]{{{2 * walk.LONGEST},}}"), random.Random(1), ["a"]) is None


def test_walks_like_to_write_words() -> None:
    """As far as the mask lets them: else a marker of some length would hardly ever come."""
    walks = [LETTERS.walk(mask("[a-z]{0,40}"), random.Random(seed), ["wombat"]) or "" for seed in range(10)]

    assert any("wombat" in text for text in walks)


def test_tokens_without_text_are_never_written() -> None:
    """They are special tokens that are no part of an answer; a token may have several letters."""
    walker = Walker.over([b"a", b"bc", b"d", b"", b"<end>", b"\n"], 4)
    walks = [walker.walk(mask(walker=walker), random.Random(seed), ["abc"]) or "" for seed in range(10)]

    assert walker.lets_through(mask(walker=walker), [0, 1, 2])
    assert not walker.lets_through(mask(walker=walker), [0, 3, 2])
    assert "abcd" in walks
    assert set("".join(walks)) <= set("abcd")
