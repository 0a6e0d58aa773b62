"""Grammars that lead to where nothing can be written, which no engine survives gracefully."""

import json

import pytest
import xgrammar

from server.mask.dead_ends import FORM, has_dead_end

GOES_ON = {
    "a text": 'root ::= "a"',
    "nothing": 'root ::= ""',
    "without end": 'root ::= "a" root',
    "without end, by two rules": 'root ::= "a" x\nx ::= "b" root',
    "a rule that is not used": 'root ::= "a"\nx ::= "b" []',
    "a branch that cannot begin": 'root ::= "a" | [] "b"',
    "left recursion": 'root ::= root "a" | "b"',
    "repeated, or not": 'root ::= "a" x{0,3}\nx ::= []',
    "a class of one": 'root ::= "a" [^\\u0000-\\u0060\\u0062-\\U0010ffff]',
}
DEAD = {
    "an empty class": 'root ::= "a" []',
    "a class of what is not in it": 'root ::= "a" [^\\u0000-\\U0010ffff]',
    "two halves": 'root ::= "a" [^\\u0000-\\u0fff\\u1000-\\U0010ffff]',
    "one branch": 'root ::= "a" [] | "b"',
    "far behind": 'root ::= "a" x\nx ::= "b" y\ny ::= "c" [] | "d" []',
    "behind a repeat": 'root ::= "a"{2,5} []',
    "repeated": 'root ::= "a" x{1,3}\nx ::= []',
    "only itself": 'root ::= "a" x\nx ::= x',
    "each other": 'root ::= "a" x\nx ::= y\ny ::= x | []',
    "behind what may be left out": 'root ::= ("a")? "b"* []',
}


@pytest.mark.parametrize("ebnf", GOES_ON.values(), ids=GOES_ON)
def test_what_always_goes_on_is_no_dead_end(ebnf: str) -> None:
    """It ends, or it goes on, or it cannot even begin."""
    assert not has_dead_end(xgrammar.Grammar.from_ebnf(ebnf))


@pytest.mark.parametrize("ebnf", DEAD.values(), ids=DEAD)
def test_what_leads_to_where_nothing_fits_is_a_dead_end(ebnf: str) -> None:
    """However far behind the first character that is."""
    assert has_dead_end(xgrammar.Grammar.from_ebnf(ebnf))


def test_the_installed_xgrammar_writes_grammars_in_the_form_that_is_read() -> None:
    """In another, no dead end would be found."""
    assert json.loads(xgrammar.Grammar.from_ebnf('root ::= "a"').serialize_json())["__VERSION__"] == FORM
