"""Lark's syntax: what is read, and what is refused by its line, with the way out."""

import pytest

from server.schema.automata.charsets import WORD
from server.schema.lark.reading import read_lark
from server.schema.lark.syntax import (
    MAX_LENGTH,
    Expansion,
    Expansions,
    LarkGrammar,
    Name,
    Repeated,
    UnsupportedGrammar,
)


def read(definition: str) -> LarkGrammar:
    return read_lark(definition, lambda _: WORD)


def test_rules_are_read_as_lark_reads_them() -> None:
    """Ways may begin on the next line; signs of rules and aliases say nothing of the text."""
    lines = [
        "// A comment.",
        "?start: _a B? -> alias # and another",
        "  | [B | _a] B ~ 2..3 \\",
        "    B*",
        "!_a: B+",
        "",
        'B: "b"',
    ]
    grammar = read("\n".join(lines))

    b, a = Name("B"), Name("_a")
    assert grammar.definitions["start"] == Expansions(
        (
            Expansion((a, Repeated(b, 0, 1))),
            Expansion((Repeated(Expansions((b, a)), 0, 1), Repeated(b, 2, 3), Repeated(b, 0, None))),
        )
    )
    assert grammar.definitions["_a"] == Repeated(b, 1, None)


@pytest.mark.parametrize(
    "line", ["%import common.INT", "%import common (WORD, INT)", "%import common.WORD -> INT", "%ignore INT"]
)
def test_directives_are_read(line: str) -> None:
    """Imports of the common terminals under their names or others; what is ignored is a terminal."""
    known = "" if "INT" in line and "ignore" not in line else '\nINT: "1"'
    grammar = read(f"start: INT\n{line}{known}")

    assert "INT" in grammar.definitions
    assert bool(grammar.ignored) == ("ignore" in line)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ('rule: "a"', "the grammar has no rule 'start', with which the text begins"),
        ("start: other", "line 1: there is no rule 'other'"),
        ("start: INT", "line 1: there is no terminal 'INT'; %import common.INT has it"),
        ('start: A\nA: b\nb: "x"', "line 2: the terminal 'A' is made of the rule 'b'"),
        ('start: "a"\nstart: "b"', "line 2: 'start' is defined twice"),
        ('start: "a"\nA{x}: x', "line 2: templates are not held: write the rule out for each use"),
        ('start: sep{"a"}', "line 1: templates are not held"),
        ('start.2: "a"', "line 1: priorities are not held"),
        ("%declare A\nstart: A", "line 1: '%declare' is not held: give the terminal a string"),
        ('%override start: "a"', "line 1: '%override' is not held: write the definition that you mean"),
        ('%json {}\nstart: "a"', "line 1: '%json' is not held: only %import and %ignore are"),
        ("%import python.NAME", "line 1: only terminals of 'common' can be imported, not of 'python'"),
        ("%import .mine.NAME", "line 1: only terminals of 'common' can be imported, not of '.mine'"),
        ("%import common.PYTHON", "line 1: there is no terminal 'PYTHON' in 'common'"),
        ("start: /a(?=b)/", "line 1: the regular expression /a(?=b)/: the mask does not hold lookaround"),
        ("start: /(?<!a)b/", "does not hold lookaround"),
        ("start: /a*?/", "the mask does not hold lazy repeats: say what the text goes on until"),
        ("start: /^a$/", "has an anchor: a terminal is matched as a whole, without it"),
        ("start: /a(b|$)*/", "has an anchor"),
        (r"start: /(a)\1/", r"the mask does not hold \1 in a pattern"),
        ("start: /a/m", "the flag 'm' of a regular expression is not held: only 'i' and 's' are"),
        ("start: /é/i", "the mask knows the cases of ASCII letters only"),
        ('start: "é"i', "the mask knows the cases of ASCII letters only"),
        (r'start: "\q"', r"\q in a string stands for no character"),
        (r'start: "\ud800"', r"\ud800 in a string stands for no character"),
        ('start: "b".."a"', 'the range "b".."a" is not of two characters in order'),
        ('start: "ab".."c"', "is not of two characters in order"),
        ('start: "a" ~ 3..2', "line 1: the count ~ 3..2 is malformed"),
        ('start: "a" ~ 1..1000000', "line 1: a count must be a number up to 1,000: use * or + for more"),
        ('start: "a" ~ -1', "a count must be a number"),
        ('start: ("a"', "line 1: ')' is expected, and not the end of the grammar"),
        ('start: ("a"\n)', "line 1: ')' is expected, and not the end of the line"),
        ('start: ["a")', "line 1: ']' is expected, and not )"),
        ('start: "a" )', "line 1: the end of the line is expected, and not )"),
        ('start "a"', "line 1: ':' is expected"),
        ('"a"', "line 1: a rule, a terminal or a directive is expected"),
        ('start: "a', "line 1: nothing in Lark begins with '\"a'"),
        ("start: <|end|>", "line 1: nothing in Lark begins with '<|end|>'"),
        ("start: " + "(" * 60 + '"a"' + ")" * 60, "line 1: the groups are nested too deeply"),
        ("start: /" + "(" * 60 + "a" + ")" * 60 + "/", "the groups of the pattern are nested too deeply"),
        ('start: "a" //' + "x" * MAX_LENGTH, "the grammar is too long: at most 32,768 characters"),
    ],
    ids=range(41),
)
def test_what_cannot_be_held_is_refused(definition: str, message: str) -> None:
    """The message names the line and the construct, and where there is one the way out."""
    with pytest.raises(UnsupportedGrammar) as refused:
        read(definition)

    assert message in str(refused.value)
