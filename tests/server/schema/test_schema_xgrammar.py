"""What server.schema relies on in XGrammar: a new version that answers otherwise fails here first."""

import json
from typing import Any

import pytest
import xgrammar as xgr


def convert(schema: Any) -> str:
    return str(xgr.Grammar.from_json_schema(json.dumps(schema), any_whitespace=False, strict_mode=False))


def accepts(compiler: xgr.GrammarCompiler, grammar: str, text: str | bytes) -> bool:
    tag = {"type": "structural_tag", "format": {"type": "grammar", "grammar": grammar}}
    matcher = xgr.GrammarMatcher(compiler.compile_structural_tag(json.dumps(tag)))
    return bool(matcher.accept_string(text) and matcher.is_completed())


def test_constant_is_one_literal_in_the_grammar() -> None:
    """Fragments find their place by it."""
    assert r'"\"marker0\""' in convert({"type": "object", "properties": {"a": {"const": "marker0"}}})


def test_key_pattern_is_one_regex_in_the_grammar() -> None:
    """Fragments for keys find their place by it."""
    grammar = convert(
        {"patternProperties": {"^marker0$": {}}, "additionalProperties": False, "type": "object"}
    )

    assert 'Regex("^marker0$", json_string=true)' in grammar


def test_rules_that_are_mended_are_there() -> None:
    """Strings, exponents and undeclared keys are mended by the names and bodies of these rules."""
    grammar = convert({"type": "object", "properties": {"a": {}}})

    assert '\nbasic_escape ::= (([\\"\\\\/bfnrt])' in "\n" + grammar
    assert r"[^\0-\x1f\"\\\r\n] basic_string_sub" in grammar
    assert "[eE] basic_number_4 basic_number_digits{1, -1}" in grammar
    assert "_addl_key" in grammar


def test_grammar_that_is_printed_can_be_read(compiler: xgr.GrammarCompiler) -> None:
    """The printed grammar means what the schema meant, inside a structural tag."""
    grammar = convert(
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]}
    )

    assert accepts(compiler, grammar, '{"a": 3}')
    assert not accepts(compiler, grammar, '{"a": 2}')


def test_undeclared_key_cannot_repeat_a_plain_declared_one(compiler: xgr.GrammarCompiler) -> None:
    """With other keys free, a declared ASCII key stays its own, a longer one with the same start included."""
    grammar = convert({"type": "object", "properties": {"ab": {"type": "null"}}})

    assert accepts(compiler, grammar, '{"abc": 1}')
    assert accepts(compiler, grammar, '{"a": 1}')
    assert not accepts(compiler, grammar, '{"ab": 1}')


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "minLength": 1}, '"\t"'),
        ({"type": "string", "pattern": '^a"b$'}, '"a"b"'),
        ({"type": "string", "pattern": "^a(b[0-9]+)?c$"}, '"a1c"'),
        ({"type": "string", "format": "json-pointer"}, '"/\t"'),
        ({"type": "string"}, '"\\ud800"'),
        ({"type": "string"}, b'"\xed\xa0\x80"'),
        ({"type": "object", "properties": {"a": {"type": "null"}}}, '{"\\u0061": 1}'),
        ({"type": "integer", "multipleOf": 3, "minimum": 1}, "4"),
        ({"type": "string", "enum": ["a"], "minLength": 2}, '"a"'),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_fault_that_we_work_around_is_still_there(
    compiler: xgr.GrammarCompiler, schema: Any, text: str | bytes
) -> None:
    """XGrammar alone lets these through. Should one be mended, its work-around may go."""
    assert accepts(compiler, convert(schema), text)
