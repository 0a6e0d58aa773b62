"""Patterns: what the mask finds is what the check finds."""

from collections.abc import Callable

import jsonschema_rs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from server.schema.automata.automaton import Automaton
from server.schema.automata.languages import Languages
from server.schema.automata.rules import Matches, MatchesNot, Rule, TextLimit
from server.schema.unmasked import Ledger

LANGUAGES = Languages()
OPTIONS = jsonschema_rs.RegexOptions()

ATOMS = st.sampled_from(
    [
        *("a", "b", "ab", "0", "-", "_", " ", '"', "é", "😀", "]", "}", "/", ",", "~", "&"),
        *(".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\.", r"\-", r"\/", r"\\", r"\"", r"\n", r"\t"),
        *(r"\x61", r"\u0062", r"\u{1F600}", r"\cJ", r"\p{L}", r"\P{Lu}", r"\p{Greek}"),
        *("[ab]", "[^ab]", "[a-c0-9]", "[^-a]", r"[\w-]", r"[^\s\d]", "[.*+?]", "[[a]", r"[\]\\]"),
        *("[a&&b]", "[a~~b]", "[+--]", r"[\p{Lu}b]", r"[\.\-\/]", '[^"\\\\]', "[é-ü]", "[a^]", "[-]"),
        *("^", "$", r"\b", r"\B", r"\1", "(?=a)", "(?!a)", "(?<=a)", "(?i)", r"\a", r"\<", "[]", "[^]"),
        *("{", "a{,2}", r"[^\u0000-\u001f]"),
    ]
)  # fmt: skip
QUANTIFIERS = st.sampled_from(
    [
        "",
        "",
        "",
        "*",
        "+",
        "?",
        "*?",
        "+?",
        "??",
        "{2}",
        "{1,}",
        "{0,2}",
        "{1,3}?",
        "{0}",
        "++",
        "{2,1}",
        "**",
    ]
)
PATTERNS = st.recursive(
    st.builds(str.__add__, ATOMS, QUANTIFIERS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(st.sampled_from(["(", "(?:", "(?<n>", "(?P<m>"]), inner, QUANTIFIERS).map(
            lambda parts: f"{parts[0]}{parts[1]}){parts[2]}"
        ),
        inner.map(lambda pattern: f"^{pattern}$"),
    ),
    max_leaves=8,
)
TEXTS = st.text(st.sampled_from('aabb0-_ "é😀]}/,~&.*+?\\\n\t\r\u2028AZαcü[^9\ufeff\u0660+{|'), max_size=7)


def language(*limits: TextLimit) -> tuple[Automaton | None, list[str]]:
    ledger = Ledger()
    automaton = LANGUAGES.text([Rule("#", "pattern", limit) for limit in limits], ledger)
    return automaton, [entry.why for entry in ledger.entries()]


@settings(max_examples=400, deadline=None)
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=12))
def test_the_mask_finds_what_the_check_finds(
    draw: Callable[[Automaton, int], list[str]], pattern: str, texts: list[str]
) -> None:
    """Where nothing is noted, a text passes the mask if and only if it passes the check."""
    try:
        is_valid = jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=OPTIONS).is_valid
    except jsonschema_rs.ValidationError:
        assume(False)
        raise
    automaton, notes = language(Matches(pattern))

    if not notes:
        drawn = [*texts, *(draw(automaton, 5) if automaton else ())]
        assert [
            text for text in drawn if (automaton is not None and automaton.accepts(text)) != is_valid(text)
        ] == []
        opposite, _ = language(MatchesNot(pattern))
        assert [
            text for text in drawn if (opposite is not None and opposite.accepts(text)) == is_valid(text)
        ] == []


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        ("a", ["a", "bab"], ["", "b"]),
        ("^a|b$", ["ax", "xb"], ["xa", "bx"]),
        ("^$", [""], ["a", "\n"]),
        ("a$b", [], ["ab", "a"]),
        ("(^a|b)c", ["acx", "xbc"], ["xac"]),
        ("^(?<year>[0-9]{4})$", ["2026"], ["226"]),
        (r"^\u{1F600}\x41\cJ$", ["😀A\n"], ["😀A"]),
        ("^.$", ["\r", "\u2028", "😀"], ["\n", "ab"]),
        ("^a+?b??$", ["a", "aab"], ["b"]),
        (r"^\p{Lu}\P{Lu}*$", ["Éa1"], ["éa"]),
        ("^(a*)*$", ["", "aa"], ["b"]),
        ("^(a|ab)(c|bcd)$", ["ac", "abc", "abcd", "abbcd"], ["ab"]),
    ],
    ids=str,
)  # fmt: skip
def test_a_pattern_is_searched_for(pattern: str, accepted: list[str], refused: list[str]) -> None:
    """It may stand anywhere in the text, unless its anchors say where."""
    automaton, notes = language(Matches(pattern))

    assert notes == []
    if not accepted:
        assert automaton is None
        return
    assert automaton is not None
    assert [text for text in accepted if not automaton.accepts(text)] == []
    assert [text for text in refused if automaton.accepts(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(?=a)b",
            "(?<!a)b",
            r"(a)\1",
            r"\bword",
            "(?i)a",
            "a++",
            r"\<a",
            r"\p{Klingon}",
            "(",
            "a)",
            "[z-a]",
        ),
        *("a{2,1}", "[]", r"\ud83d", r"[a-\d]", "(" * 60 + ")" * 60, "a" * 2_001),
    ],
    ids=lambda pattern: pattern[:12],
)
def test_a_pattern_beyond_the_mask_is_noted_and_allows_all(pattern: str) -> None:
    """What the mask cannot hold it does not hold in part: the check has the last word."""
    automaton, notes = language(Matches(pattern))

    assert automaton is not None
    assert automaton.accepts("😀 anything at all")
    assert len(notes) == 1


def test_repeats_too_large_to_count_are_widened() -> None:
    """The rest of the pattern is held, and the note tells what is not."""
    automaton, notes = language(Matches("^x[a-z]{1,900}$"))

    assert notes == ["the mask does not count all repeats of the pattern"]
    assert automaton is not None
    assert automaton.accepts("x" + "a" * 1_000)
    assert not automaton.accepts("x1")


def test_a_pattern_that_must_not_match_is_never_widened() -> None:
    """To widen what is excluded would exclude what is right."""
    automaton, notes = language(MatchesNot("^x[a-z]{1,900}$"))

    assert len(notes) == 1
    assert automaton is not None
    assert automaton.accepts("x" + "a" * 1_000)
