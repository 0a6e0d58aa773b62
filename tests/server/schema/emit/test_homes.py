"""Free text up to a mark is one rule, and holds whatever does not look like the mark twice in a row."""

import re
from functools import cache
from typing import Any

import pytest
import xgrammar as xgr
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.spelling import TextForm
from server.mask.trial import byte_tokens
from server.schema.automata.automaton import ANY_TEXT
from server.schema.automata.languages import Languages
from server.schema.emit.limited import LimitedTexts
from server.schema.emit.rules import Rules
from server.schema.emit.texts import TextRules
from server.schema.unmasked import Ledger

MARKS = ("</p>", "<q")
FORM = TextForm("", "", never=MARKS)
BEGUN_ANEW = re.compile("<+/p?<")
"""What looks like the beginning of a mark and then begins again."""


@cache
def grammar(*kinds: str) -> str:
    """Text up to `</p>` that looks like no value of the kinds."""
    limited, rules = LimitedTexts(Languages(), Ledger()), Rules()
    language = limited.without(ANY_TEXT, MARKS, kinds, "#")
    assert language is not None
    name = TextRules(rules, FORM, after="</p>").rule(language, limited.free(MARKS))
    return rules.grammar(name)


@cache
def mask(*kinds: str) -> Any:
    return xgr.GrammarCompiler(byte_tokens(), max_threads=1).compile_grammar(grammar(*kinds))


def accepts(mask: Any, text: str) -> bool:
    matcher = xgr.GrammarMatcher(mask)
    return bool(matcher.accept_string(text + "</p>") and matcher.is_completed())


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("</p>qa"), max_size=12))
def test_all_text_can_be_written_that_does_not_hold_a_mark(text: str) -> None:
    """Also text that ends as a mark begins."""
    holds = any(mark in text for mark in MARKS)

    assert accepts(mask(), text) is not (holds or bool(BEGUN_ANEW.search(text)))


def test_free_text_is_one_rule() -> None:
    """Rules that lead in a circle would be compiled again for each request."""
    assert len(grammar().splitlines()) == 2


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("<apNul l"), max_size=6))
def test_text_beside_null_is_no_null(text: str) -> None:
    """Wherever it only begins like it, all is free again, but for marks that begin right there."""
    holds = any(mark in text for mark in MARKS)

    assert accepts(mask("null"), text) is not (holds or text.strip().lower() == "null")


@pytest.mark.parametrize("text", ["<b>null", "nulls", "n", "  nu", "<<null", "</b>null"])
def test_text_that_begins_like_null_or_a_tag_can_be_written(text: str) -> None:
    """It is neither."""
    assert accepts(mask("null"), text)
