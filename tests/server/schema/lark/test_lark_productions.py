"""From a Lark grammar to productions: what is regular, what is untangled, and what is too large."""

import pytest

from server.schema.automata.properties import UnicodeProperties
from server.schema.lark.common import COMMON
from server.schema.lark.operators import untangled
from server.schema.lark.productions import MOST_RULES, productions_of
from server.schema.lark.reading import read_lark
from server.schema.lark.syntax import MAX_LENGTH, UnsupportedGrammar
from server.schema.nodes import Productions


def productions(definition: str) -> Productions:
    return productions_of(read_lark(definition, UnicodeProperties()))


def test_what_does_not_lead_back_is_one_automaton() -> None:
    """However many rules it is written in; with what is ignored before and behind its terminals."""
    found = productions('start: a ("," a)*\na: B [b]\nb: "x"\nB: "b"+\nunused: unused\n%ignore " "')

    [[text]] = found.rules[found.start]
    automaton = found.texts[text]
    assert [each for each in ("b", " bb x ,b", "", "bx,", "b b") if automaton.accepts(each)] == [
        "b",
        " bb x ,b",
    ]


def test_what_leads_back_is_a_rule() -> None:
    """And what is regular in it stays an automaton."""
    found = productions('start: "(" start? ")" | A B\nA: "a"\nB: /b+/')

    assert set(found.rules) == {"start", "start#0"}
    assert sorted(len(way) for way in found.rules["start"]) == [1, 3]


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        ((("e", "+", "e"), ("n",)), {"e": (("e#behind",), ("e", "+", "e#behind")), "e#behind": (("n",),)}),
        (
            (("e", "!"), ("-", "e"), ("n",), ("e",)),
            {
                "e": (("e#behind",),),
                "e#behind": (("e#before",), ("e#behind", "!")),
                "e#before": (("n",), ("-", "e#before")),
            },
        ),
        ((("e", "!"), ("n",)), {"e": (("e", "!"), ("n",))}),
        ((("(", "e", ")"), ("n", "e")), {"e": (("(", "e", ")"), ("n", "e"))}),
    ],
)
def test_operators_are_read_in_one_way(
    ways: tuple[tuple[str, ...], ...], expected: dict[str, tuple[tuple[str, ...], ...]]
) -> None:
    """Only a rule that is open at both ends needs another form."""
    assert untangled({"e": ways}) == expected


def test_operators_in_rules_of_their_own_are_untangled() -> None:
    """`expr: sum | NUMBER` with `sum: expr "+" expr` is `expr: expr "+" expr | NUMBER`."""
    found = untangled({"e": (("sum",), ("n",)), "sum": (("e", "+", "e"),)})

    assert found["e"] == (("e#behind",), ("e", "+", "e#behind"))


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ('start: "x" start', "no text is long enough for the rule 'start'"),
        ('start: "x" | a\na: b ~ 2\nb: "(" a ")"', "no text is long enough for the rule 'a'"),
        ('start: A\nA: "x" B\nB: A?', "the terminal 'A' stands within itself: make it a rule"),
        ("start: /[^\\s\\S]/", "the rule 'start' has a terminal that no text matches: leave it out"),
        ("start: A\nA: B ~ 1000\nB: /abc/", "'A' has more than 2,000 characters"),
        ("start: /.{0,2000}/", "the mask of the terminals in the rule 'start' would be too large"),
        ("start: /(a|b)*a(a|b){40}/", "the mask of the terminals in the rule 'start' would be too large"),
        ("start: /.{150}/", "the mask of the terminals in the rule 'start' would be too large"),
        (
            'start: a ~ 1000\na: b ~ 1000\nb: c ~ 1000\nc: d ~ 1000\nd: "x" | "(" start ")"',
            "the grammar has more than 3,000 rules, with those of repeats",
        ),
    ],
    ids=range(9),
)
def test_what_has_no_text_or_is_too_large_is_refused(definition: str, message: str) -> None:
    """By the rule that makes it so."""
    with pytest.raises(UnsupportedGrammar) as refused:
        productions(definition)

    assert message in str(refused.value)


HOSTILE = {
    "2,900 words": "start: " + " | ".join(f'"k{number:05d}"' for number in range(2_900)),
    "nested counts": 'start: ((("(" start ")") ~ 0..900) ~ 0..900) ~ 0..900 | "x"',
    "an empty loop": 'start: ((start? ""*)*)* "x" | ""',
    "doubling": "start: r30\n"
    + "".join(f"r{n + 1}: r{n} r{n}\n" for n in range(30))
    + 'r0: "x" | "(" start ")"',
    "doubling terminals": "start: R9\n" + "".join(f"R{n + 1}: R{n} R{n}\n" for n in range(9)) + 'R0: "x"',
    "circles": "start: r0\n"
    + "".join(f'r{n}: r{(n + 1) % 900} | r{(n + 2) % 900} | "x"\n' for n in range(900)),
    "wide rows": "start: " + '(A | "(" start ")") ' * 600 + "\nA: /[^b]+/",
    "a long string": f'start: "{"x" * 32_000}"',
}


@pytest.mark.parametrize("definition", HOSTILE.values(), ids=HOSTILE)
def test_hostile_grammars_stay_small(definition: str) -> None:
    """Neither repeats nor nesting multiply what a grammar becomes: a rule or a state is written for it."""
    found = productions(definition)

    assert len(found.rules) <= MOST_RULES
    assert sum(len(automaton.states) for automaton in found.texts.values()) <= MAX_LENGTH


COMMON_TEXTS = {
    "INT": ("10", "1a"),
    "SIGNED_NUMBER": ("-1.5e+3", "1e"),
    "FLOAT": (".5", "5"),
    "DECIMAL": ("5.", "."),
    "ESCAPED_STRING": (r'"a\"b"', r'"a"b"'),
    "CNAME": ("_a1", "1a"),
    "WS": (" \n\t", ""),
    "NEWLINE": ("\r\n\n", "\r"),
    "CPP_COMMENT": ("// a", "/ a"),
    "C_COMMENT": ("/***/", "/*/"),
    "SQL_COMMENT": ("-- a", "-- a\n"),
    "HEXDIGIT": ("F", "G"),
}


@pytest.mark.parametrize("name", COMMON)
def test_common_terminals_can_be_imported(name: str) -> None:
    """Each has an automaton, which has texts as those of Lark's own."""
    found = productions(f"start: {name}\n%import common.{name}")

    [automaton] = found.texts.values()
    right, wrong = COMMON_TEXTS.get(name, ("", None))
    assert name not in COMMON_TEXTS or automaton.accepts(right)
    assert wrong is None or not automaton.accepts(wrong)
