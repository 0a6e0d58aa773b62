"""Languages: rules that hold together, their sizes, and what is noted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.schema.automata.automaton import ANY_CHARACTER, ANY_TEXT, Automaton, State
from server.schema.automata.languages import Languages
from server.schema.automata.limits import AutomatonLimits, TooLarge
from server.schema.automata.rules import (
    HasFormat,
    IsNoneOf,
    IsOneOf,
    LongerOrEqual,
    Matches,
    MatchesNot,
    Rule,
    ShorterOrEqual,
    TextLimit,
)
from server.schema.formats import FORMATS
from server.schema.unmasked import Ledger, Unmasked

LANGUAGES = Languages()
WORDS = st.text(st.sampled_from('ab"é😀'), max_size=4)
LIMITS = st.one_of(
    st.integers(0, 4).map(LongerOrEqual),
    st.integers(0, 4).map(ShorterOrEqual),
    st.sampled_from(["a", "^a", "b$", "^(a|b)*$", "aa|é", "^[^a]{2}", '"'] ).flatmap(
        lambda pattern: st.sampled_from([Matches(pattern), MatchesNot(pattern)])
    ),
    st.lists(WORDS, max_size=5).map(lambda words: IsOneOf(tuple(words))),
    st.lists(WORDS, max_size=5).map(lambda words: IsNoneOf(tuple(words))),
)  # fmt: skip


def language(
    *limits: TextLimit, languages: Languages = LANGUAGES
) -> tuple[Automaton | None, tuple[Unmasked, ...]]:
    ledger = Ledger()
    rules = [Rule(f"#/{place}", type(limit).__name__, limit) for place, limit in enumerate(limits)]
    return languages.text(rules, ledger), ledger.entries()


def accepts(automaton: Automaton | None, text: str) -> bool:
    return automaton is not None and automaton.accepts(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(LIMITS, max_size=4), st.lists(WORDS, min_size=1, max_size=10))
def test_a_text_keeps_all_rules_or_is_refused(limits: list[TextLimit], texts: list[str]) -> None:
    """Rules that hold together allow what each of them allows."""
    together, notes = language(*limits)

    assert notes == ()
    for text in texts:
        assert accepts(together, text) == all(accepts(language(limit)[0], text) for limit in limits)


@settings(max_examples=200, deadline=None)
@given(WORDS, st.lists(WORDS, max_size=5), st.integers(0, 5))
def test_single_rules_are_held(text: str, words: list[str], length: int) -> None:
    """Words and lengths, each as Python has them."""
    assert accepts(language(IsOneOf(tuple(words)))[0], text) == (text in words)
    assert accepts(language(IsNoneOf(tuple(words)))[0], text) == (text not in words)
    assert accepts(language(LongerOrEqual(length))[0], text) == (len(text) >= length)
    assert accepts(language(ShorterOrEqual(length))[0], text) == (len(text) <= length)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ([Matches("^(a|b)*$")], [Matches("^[ab]*$")]),
        ([Matches("^.{2}$"), MatchesNot("^[^a]")], [Matches("^a.$")]),
        ([IsOneOf(("on", "off"))], [Matches("^o(n|ff)$")]),
        ([LongerOrEqual(0)], []),
        ([MatchesNot("a"), Matches("")], [Matches("^[^a]*$")]),
        ([LongerOrEqual(2), ShorterOrEqual(3)], [ShorterOrEqual(3), LongerOrEqual(2)]),
        ([IsNoneOf(())], []),
    ],
    ids=str,
)
def test_equal_languages_have_equal_automata(one: list[TextLimit], two: list[TextLimit]) -> None:
    """Rules are spelled once in a grammar, however many ways a schema says the same."""
    assert language(*one)[0] == language(*two)[0]


@pytest.mark.parametrize("least", [0, 3])
def test_a_shorter_length_is_the_end_of_a_longer_one(least: int) -> None:
    """The chain counts down, so that the compiler, which knows rules by their structure, meets it again."""
    longer, _ = language(LongerOrEqual(least + 10), ShorterOrEqual(60 + 10))
    shorter, _ = language(LongerOrEqual(least), ShorterOrEqual(60))

    assert longer is not None
    assert shorter is not None
    moved = [
        State(state.accepts, tuple((charset, target - 10) for charset, target in state.moves))
        for state in longer.states[10:]
    ]
    assert moved == list(shorter.states)


def test_no_rules_allow_every_text() -> None:
    """Also rules that say nothing."""
    assert language() == (ANY_TEXT, ())
    assert language(LongerOrEqual(0))[0] == ANY_TEXT
    assert language(HasFormat("int32")) == (ANY_TEXT, ())


def test_rules_that_contradict_each_other_leave_no_text() -> None:
    """An empty language is told, not emitted."""
    assert language(Matches("^a"), Matches("^b")) == (None, ())
    assert language(LongerOrEqual(3), ShorterOrEqual(2)) == (None, ())
    assert language(IsOneOf(())) == (None, ())
    assert language(IsOneOf(("\ud800",))) == (None, ())


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_held(name: str) -> None:
    """Within the size of a format; one of which only the outline is held is noted."""
    automaton, notes = language(HasFormat(name))

    assert automaton is not None
    assert not automaton.accepts("no\nformat")
    assert [note.why for note in notes] == (
        [] if FORMATS[name].exact else [f"the mask holds only the outline of {name}"]
    )


def test_a_format_that_only_the_check_knows_is_noted() -> None:
    """The mask allows every text."""
    assert language(HasFormat("regex")) == (
        ANY_TEXT,
        (Unmasked("#/0", "HasFormat", "the mask does not know the format regex"),),
    )


def test_a_length_beyond_the_limit_is_counted_up_to_it() -> None:
    """A longer text than the limit may be left out, one that is too long is let pass; both are noted."""
    at_least, notes = language(LongerOrEqual(1_000))
    at_most, more_notes = language(ShorterOrEqual(1_000))

    assert at_least == language(LongerOrEqual(256))[0]
    assert at_most == ANY_TEXT
    assert [note.why for note in notes + more_notes] == ["the mask counts up to 256 characters"] * 2


def test_a_rule_that_does_not_fit_is_left_out_and_noted() -> None:
    """The pattern stays, and the length that would multiply it goes."""
    limits = AutomatonLimits(patterns=20)
    slug = Matches("^[a-z]+(-[a-z]+)*$")

    automaton, notes = language(slug, ShorterOrEqual(100), languages=Languages(limits))

    assert automaton == language(slug)[0]
    assert notes == (Unmasked("#/1", "ShorterOrEqual", "the mask would be too large with it"),)


def test_a_pattern_may_be_large_by_itself_if_a_length_cuts_it() -> None:
    """What counts is the automaton of all rules together."""
    assert language(Matches("^.{1,300}$"), ShorterOrEqual(10)) == (language(Matches("^.{1,10}$"))[0], ())


def test_states_that_most_characters_leave_are_fewer() -> None:
    """They cost the compiler the most: 200 digits are no burden, 200 characters of any kind are."""
    digits, letters = Matches("^[0-9]{1,200}$"), Matches("^[^ ]{1,200}$")

    assert language(digits)[1] == ()
    assert [note.why for note in language(letters)[1]] == [
        "the mask does not count all repeats of the pattern"
    ]


def test_every_rule_with_the_limit_is_noted() -> None:
    """Two places that ask the same are both told of it, also when the language is remembered."""
    ledger = Ledger()
    rules = [Rule("#/a", "pattern", Matches(r"(a)\1")), Rule("#/b", "pattern", Matches(r"(a)\1"))]

    LANGUAGES.text(rules[:1], Ledger())
    LANGUAGES.text(rules, ledger)

    assert [entry.pointer for entry in ledger.entries()] == ["#/a", "#/b"]


def test_languages_meet() -> None:
    """Two languages have texts in common, or are disjoint."""
    a, b, word = (language(limit)[0] for limit in (Matches("^a"), Matches("b$"), IsOneOf(("c",))))

    assert a is not None
    assert b is not None
    assert word is not None
    assert LANGUAGES.meet(a, b) == language(Matches(r"^a(.|\n)*b$"))[0]
    assert not LANGUAGES.disjoint(a, b)
    assert LANGUAGES.meet(a, word) is None
    assert LANGUAGES.disjoint(a, word)


def test_languages_too_large_to_meet_are_not_called_disjoint() -> None:
    """What cannot be told is not claimed."""
    languages = Languages(AutomatonLimits(reached=50))
    begin, more = (State(accepts=accepts, moves=((ANY_CHARACTER, 1),)) for accepts in (False, True))
    one, two = Automaton((begin, more)), chain(60)

    with pytest.raises(TooLarge):
        languages.meet(one, two)
    assert not languages.disjoint(one, two)


def test_all_texts_and_others_meet_in_the_others() -> None:
    """However large they are: there is nothing to explore."""
    languages = Languages(AutomatonLimits(reached=50))

    assert languages.meet(ANY_TEXT, chain(60)) == chain(60)


def chain(length: int) -> Automaton:
    states = [State(accepts=False, moves=((ANY_CHARACTER, place + 1),)) for place in range(length)]
    return Automaton((*states, State(accepts=True, moves=())))
