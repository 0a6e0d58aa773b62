"""A request whose masks take too long is ended; no other ever is."""

from itertools import cycle

import pytest
import xgrammar as xgr
from vllm.v1.structured_output.backend_xgrammar import XgrammarGrammar

from server.engine.bounded_masks import BoundedGrammar, allowed
from tests.parsers.walking import CHARACTERS

MOST = 1_500
"""Tokens of the longest answer here."""


def written(grammar: str, text: str) -> tuple[int, list[str]]:
    """How many tokens of a text that is repeated for ever are accepted, and which requests were given up."""
    given_up: list[str] = []
    vocabulary = xgr.TokenizerInfo(CHARACTERS, stop_token_ids=[len(CHARACTERS) - 1])
    compiled = xgr.GrammarCompiler(vocabulary).compile_grammar(grammar)
    size = vocabulary.vocab_size
    bounded = BoundedGrammar.of(
        XgrammarGrammar(vocab_size=size, matcher=xgr.GrammarMatcher(compiled), ctx=compiled),
        given_up=given_up.append,
    )
    masks = xgr.allocate_token_bitmask(1, size)
    ids = {token: number for number, token in enumerate(CHARACTERS)}
    for count, character in enumerate(cycle(text)):
        bounded.fill_bitmask(masks, 0)
        if count == MOST or not bounded.accept_tokens("request", [ids[character.encode()]]):
            return count, given_up
    raise AssertionError


@pytest.mark.parametrize(
    "grammar",
    ['root ::= ("ab")+', 'root ::= "ab" root | "ab"', "root ::= item*\nitem ::= [a-z] [a-z]?"],
    ids=["repeat", "rule", "pairs"],
)
def test_a_grammar_may_be_as_long_as_it_likes(grammar: str) -> None:
    """Where each token costs the same, the answer ends with its budget."""
    assert written(grammar, "ab") == (MOST, [])


def test_a_grammar_that_reads_a_text_in_ever_more_ways_ends() -> None:
    """What its tokens cost grows with the square of their number, and nobody waits for the next."""
    count, given_up = written('root ::= s\ns ::= "ab" | s s', "ab")

    assert 0 < count < MOST
    assert given_up == ["request"]


def test_an_answer_may_take_what_its_tokens_allow() -> None:
    """A second for its first masks, which are the dearest, and a little for each token."""
    assert [allowed(0), allowed(1_000)] == [1, 6]
