"""What the grammars of schemas rely on in XGrammar: a new version that answers otherwise fails here first."""

import json

import pytest
import xgrammar as xgr


def accepts(compiler: xgr.GrammarCompiler, grammar: str, text: str | bytes) -> bool:
    """Whether a grammar allows a text, inside a structural tag."""
    tag = {"type": "structural_tag", "format": {"type": "grammar", "grammar": grammar}}
    matcher = xgr.GrammarMatcher(compiler.compile_structural_tag(json.dumps(tag)))
    return bool(matcher.accept_string(text) and matcher.is_completed())


def test_a_rule_with_a_lookahead_ends_before_it_and_nowhere_else(compiler: xgr.GrammarCompiler) -> None:
    """The rules of strings have one: a mask is found much sooner where a rule's end is known."""
    grammar = 'root ::= "[" r "]"\nr ::= ([a-z] r | "!") (=[\\u005d])'

    assert accepts(compiler, grammar, "[ab!]")
    assert not accepts(compiler, grammar, "[ab]")


@pytest.mark.parametrize(
    ("characters", "text", "is_one"),
    [
        ("[\\u0060]", "`", True),
        ("[\\U0001f600]", "😀", True),
        ("[a-c\\u00e9]", "é", True),
        ("[\\u0020-\\ud7ff\\ue000-\\U0010ffff]", "€", True),
        ("[\\u0020-\\ud7ff\\ue000-\\U0010ffff]", b"\xed\xa0\x80", False),
        ("[\\u0020-\\ud7ff\\ue000-\\U0010ffff]", "\n", False),
    ],
)
def test_classes_are_of_code_points(
    compiler: xgr.GrammarCompiler, characters: str, text: str | bytes, is_one: bool
) -> None:
    """Of four or eight digits each. Halves of surrogate pairs are none."""
    assert accepts(compiler, f"root ::= {characters}", text) is is_one


def test_rules_may_lead_round_in_a_circle(compiler: xgr.GrammarCompiler) -> None:
    """A value within itself is a rule within itself."""
    grammar = 'root ::= "[" (root (", " root)*)? "]"'

    assert accepts(compiler, grammar, "[[], [[]]]")
    assert not accepts(compiler, grammar, "[[]")


def test_repeats_are_counted(compiler: xgr.GrammarCompiler) -> None:
    """Items between two bounds."""
    grammar = 'root ::= "a" (", a"){1,3}'

    assert [accepts(compiler, grammar, ", ".join("a" * count)) for count in range(1, 6)] == [
        *(False, True, True, True),
        False,
    ]


def test_an_escape_by_bytes_takes_all_digits_that_follow(compiler: xgr.GrammarCompiler) -> None:
    """Which is why none is written. Should this be mended, it may be."""
    assert accepts(compiler, "root ::= [\\x60c]", "\u060c")
    assert not accepts(compiler, "root ::= [\\x60c]", "c")
