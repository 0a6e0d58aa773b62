"""Lark grammars as masks: what a mask allows is what the grammar means, and nothing else."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.schema.automata.properties import UnicodeProperties
from server.schema.document import SchemaError
from server.schema.lark.productions import productions_of
from server.schema.lark.reading import read_lark
from server.schema.lark.syntax import UnsupportedGrammar
from tests.server.schema.lark.masks import allows, mask_of, some_text
from tests.server.schema.lark.meaning import means

TERMINALS = (
    *('"a"', '"ab"', '"x"i', "/a+/", "/[ab]c?/", '"b"+', '"a".."c"', '"a" | "bc"', '("a" "b") ~ 1..2'),
    *("/a|b(a)?/", '["a"] "b"', "/[^a(]/", r'"\n"', "/./s"),
)
NAMES = ("start", "r0", "r1", "T0", "T1")
ATOMS = (*NAMES, "T0", "T1", '"("', '")"', '"a"', "/b+/", '"<" "/"')
REPEATS = ("", "", "", "*", "+", "?", " ~ 2", " ~ 0..2", " ~ 1..3")
IGNORED = ("", "", '%ignore " "', "%ignore /#z*/", "%ignore T0\n%ignore /-+/")


@st.composite
def expressions(draw: st.DrawFn, depth: int) -> str:
    ways = []
    for _ in range(draw(st.integers(1, 3))):
        parts = []
        for _ in range(draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, 3))):
            atom = draw(st.sampled_from(ATOMS))
            if depth and draw(st.integers(0, 3)) == 0:
                atom = f"({draw(expressions(depth - 1))})"
            parts.append(atom + draw(st.sampled_from(REPEATS)))
        ways.append(" ".join(parts))
    return " | ".join(ways)


@st.composite
def grammars(draw: st.DrawFn) -> str:
    """Grammars of three rules and two terminals; many cannot be held, as a rule in them has no end."""
    rules = [f"{name}: {draw(expressions(1))}" for name in ("start", "r0", "r1")]
    terminals = [f"{name}: {draw(st.sampled_from(TERMINALS))}" for name in ("T0", "T1")]
    return "\n".join([*rules, *terminals, draw(st.sampled_from(IGNORED))])


@settings(max_examples=100, deadline=None)
@given(grammars(), st.randoms(use_true_random=False))
def test_a_mask_allows_what_its_grammar_means(definition: str, rng: random.Random) -> None:
    """Random walks are texts of the grammar, and of texts beside them the mask has those that are."""
    try:
        mask = mask_of(definition)
    except (UnsupportedGrammar, SchemaError):
        return
    walks = [some_text(mask, rng) for _ in range(4)]
    texts = [text for text in walks if text is not None]
    for text in texts:
        assert means(definition, text), (definition, text)
    for text in [*texts, ""]:
        letters = list(text)
        for _ in range(rng.randint(1, 3)):
            place = rng.randint(0, len(letters))
            letters[place : place + rng.randint(0, 1)] = rng.choice(["", *"abcx() #z-\n</"])
        changed = "".join(letters)
        assert allows(mask, changed) == means(definition, changed), (definition, changed)


SUM = """
start: expr
?expr: expr "+" expr -> add
    | expr "*" expr
    | "-" expr
    | expr "!"
    | "(" expr ")"
    | NUMBER
%import common.NUMBER
%import common.WS_INLINE
%ignore WS_INLINE
"""
PATCH = r"""
start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?
hunk: "*** Add File: " filename LF add_line+ | "*** Delete File: " filename LF
filename: /(.+)/
add_line: "+" /(.*)/ LF -> line
%import common.LF
"""
DATA = """
start: value
?value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
array: "[" [value ("," value)*] "]"
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
%import common (ESCAPED_STRING, SIGNED_NUMBER, WS)
%ignore WS
"""


@pytest.mark.parametrize(
    ("definition", "text", "allowed"),
    [
        (SUM, "1 + 2*-(3.5 + 4e-1)!", True),
        (SUM, "1 + ", False),
        (SUM, "1 2", False),
        (PATCH, "*** Begin Patch\n*** Add File: a b\n+x\n+\n*** End Patch", True),
        (PATCH, "*** Begin Patch\n*** Delete File: \n*** End Patch\n", False),
        (DATA, ' {"a\\"": [1, -2.5e3, true, {}]}\n', True),
        (DATA, '{"a": [1,]}', False),
        ('start: "SELECT"i WORD\n%import common.WORD', "select", False),
        ('start: "SELECT"i WORD\n%import common.WORD', "sElEcTed", True),
        ('start: /[^b]+/i "B"', "aB", True),
        ('start: /[^b]+/i "B"', "BB", False),
        ("start: C_COMMENT\n%import common.C_COMMENT", "/* a * / **/", True),
        ("start: C_COMMENT\n%import common.C_COMMENT", "/* a */ b */", False),
        ('start: "é" | "\\U0001F680" | "\\x41\\u0042"', "🚀", True),
        ('start: "é" | "\\U0001F680" | "\\x41\\u0042"', "AB", True),
        (r"start: /\p{Lu}\.\d/", "É.7", True),
    ],
)
def test_grammars_as_they_are_written(definition: str, text: str, allowed: bool) -> None:
    """A calculator, a patch and JSON; and what the flags, escapes and imports in them stand for."""
    assert means(definition, text) == allowed
    assert allows(mask_of(definition), text) == allowed


@pytest.mark.parametrize("definition", [SUM, DATA])
def test_a_long_text_costs_the_same_for_each_part_of_it(definition: str) -> None:
    """No rule is left with both ends open, so that a sum has one parse, and not one for each nesting."""
    rules = productions_of(read_lark(definition, UnicodeProperties())).rules

    assert not [
        name for name, ways in rules.items() for way in ways if len(way) > 1 and way[0] == name == way[-1]
    ]
