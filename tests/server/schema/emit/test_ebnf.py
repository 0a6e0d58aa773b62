"""Pieces of EBNF mean what they say to XGrammar, whatever characters they are of."""

import pytest
import xgrammar as xgr

from server.mask.trial import byte_tokens
from server.schema.emit.ebnf import Fixed, alternatives, characters, fixed, literal, sequence

ODD = ['"', "\\", "\n", "\x00", "\x7f", "é", "🚀", "]", "^", "-", "`", "a", "'"]


def accepts(body: str, text: str) -> bool:
    compiler = xgr.GrammarCompiler(byte_tokens(), max_threads=1, cache_enabled=False)
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(f"root ::= {body}\n"))
    return bool(matcher.accept_string(text) and matcher.is_completed())


@pytest.mark.parametrize("odd", ODD)
def test_literal_is_its_text(odd: str) -> None:
    """Digits behind a character's number are not part of it."""
    assert accepts(literal(odd + "c0"), odd + "c0")
    assert not accepts(literal(odd + "c0"), "c0")


@pytest.mark.parametrize("odd", ODD)
def test_class_is_its_characters(odd: str) -> None:
    """No character has a meaning of its own in a class."""
    charset = tuple(sorted({(ord(odd), ord(odd)), (ord("0"), ord("9"))}))

    assert accepts(characters(charset), odd)
    assert accepts(characters(charset), "5")
    assert not accepts(characters(charset), "x")


def test_fixed_texts_that_meet_are_one() -> None:
    """So that they are compiled as one."""
    assert sequence(fixed("a"), fixed(""), fixed("b")) == (Fixed("ab"),)


def test_alternatives_are_written_once_each() -> None:
    """The same text twice is no choice."""
    assert alternatives([fixed("a"), fixed("b"), fixed("a")]) == '"a" | "b"'
