"""The estimate of what a mask costs to compile, against what was measured with 150,000 tokens."""

import json

import pytest

from server.schema.cost import AGAIN, WIDE_CLASS, estimate, shapes
from server.schema.deadline import DOUBTFUL_MS


def tag(**part: object) -> str:
    return json.dumps({"type": "structural_tag", "format": {"type": "sequence", "elements": [part]}})


def pattern(text: str) -> str:
    return tag(type="regex", pattern=text)


def grammar(*rules: str) -> str:
    return tag(type="grammar", grammar="\n".join(rules))


def choices(count: int) -> str:
    return grammar("root ::= " + " | ".join(f'"value number {number}"' for number in range(count)))


def chain(length: int, characters: str = r'[^"\\]') -> str:
    """A string of bounded length, as our own grammars spell it."""
    steps = [rf's{left} ::= ("\"" | {characters} s{left - 1})' for left in range(length, 0, -1)]
    return grammar(f"root ::= s{length}", *steps, r's0 ::= "\""')


CHEAP = [
    pattern("[a-z]+"),
    pattern(r"\d{3}-\d{4}"),
    pattern("(a|b|c){1,100}"),
    pattern("x" * 5_000),
    pattern("(foo|bar|[0-9]+)*"),
    choices(1_000),
    choices(5_000),
    tag(type="const_string", value="[^a]{9}" * 1_000),
    chain(10),
    pattern("([a-z]{1,100}-){1,99}"),
    grammar('root ::= "[" item{1,1000} "]"', 'item ::= "0" | "1"'),
    grammar(
        *(f'r{n} ::= "key{n}" r{n - 1} | r{n - 1}' for n in range(1, 300)), 'r0 ::= "e"', "root ::= r299"
    ),
    grammar("root ::= " + " | ".join(f'"{number * 1.5}"' for number in range(5_000))),
    grammar(r'root ::= "\"" [^"\\]{0,10} "\""'),
]
"""What took less than half a second."""
COSTLY = [
    pattern(".{1,1000}"),
    pattern("([^a]{1,100}b){3}"),
    chain(200),
    grammar(r'root ::= "\"" [^"\\]{0,100} "\""'),
    tag(type="json_schema", json_schema={"enum": list(range(20_000))}),
    grammar(
        "root ::= " + " | ".join(f'"{number:06}{"abcdefghij"[number % 10] * 44}"' for number in range(5_000))
    ),
    grammar(f'root ::= "{"x" * 100_000}"'),
    pattern("x" * 100_000),
    grammar(
        *(f'r{n} ::= "key{n}" r{n - 1} | r{n - 1}' for n in range(1, 2_000)), 'r0 ::= "end"', "root ::= r1999"
    ),
]
"""What took two seconds or more."""


@pytest.mark.parametrize("mask", CHEAP, ids=range(len(CHEAP)))
def test_what_compiles_at_once_is_not_doubted(mask: str) -> None:
    """It goes to the engine without being tried."""
    assert estimate(mask) < DOUBTFUL_MS


@pytest.mark.parametrize("mask", COSTLY, ids=range(len(COSTLY)))
def test_what_takes_seconds_is_doubted(mask: str) -> None:
    """It is tried before the engine sees it."""
    assert estimate(mask) >= DOUBTFUL_MS


def test_what_is_larger_costs_more() -> None:
    """In the order of what it was measured to cost."""
    for growing in (
        [chain(size) for size in (10, 100, 1_000)],
        [choices(size) for size in (100, 1_000, 5_000)],
    ):
        assert sorted(growing, key=estimate) == growing


def test_a_rule_that_was_met_before_costs_less_and_a_known_one_nothing() -> None:
    """The compiler remembers rules by their structure, whatever their names."""
    once, twice = grammar("root ::= [^a] b"), grammar("root ::= [^a] b", "b ::= [^a] c")

    assert estimate(twice) - estimate(once) == pytest.approx(WIDE_CLASS * AGAIN, rel=0.01)
    assert estimate(chain(200), shapes(chain(256))) < 50


@pytest.mark.parametrize("text", ["", ")", "(", "[", "{3}", '"', "a{", "\\", "((((" * 500], ids=range(9))
def test_what_is_no_expression_has_an_estimate_all_the_same(text: str) -> None:
    """The compiler will say what is wrong with it."""
    assert estimate(pattern(text)) < DOUBTFUL_MS
    assert estimate(grammar(text)) < DOUBTFUL_MS
