"""Paths: fewer states, and the same language."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.schema.automata.automaton import Automaton, Charset
from server.schema.automata.languages import Languages
from server.schema.automata.rules import HasFormat, Matches, Rule, TextLimit
from server.schema.emit.paths import Path, paths
from server.schema.unmasked import Ledger

LANGUAGES = Languages()
PATTERNS = [
    *("^ab*c$", "^a(b|c)*d$", "^(ab)+$", "^[a-c]+(-[a-c]+)*$", "^(a-*b)*$", "^(a%[0-9]{2})*$"),
    *("a.*b", "ab|ba", ""),
    *("^(abcabcabcabc|c)d$", "^-?a(b-)*(c|d)$", "^a$", "^$", "^((ab){5}|c(ab){5})*$"),
]  # fmt: skip


def language(limit: TextLimit) -> Automaton:
    automaton = LANGUAGES.text([Rule("#", "limit", limit)], Ledger())
    assert automaton is not None
    return automaton


def once(_: Charset) -> int:
    return 1


def twice(_: Charset) -> int:
    return 2


def contains(charset: Charset | None, character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in charset or ())


def lead(path: Path, text: str) -> list[str]:
    """What may be left of a text behind the path."""
    rests = [text]
    for step in path.steps:
        starts = set(rests)
        while rests:
            rest = rests.pop()
            if rest and contains(step.behind, rest[0]):
                rests.append(rest[1:])
                starts.add(rest[1:])
        rests = [rest[1:] for rest in starts if rest and contains(step.charset, rest[0])]
    return rests


def accepts(automaton: Automaton, ways: Mapping[int, tuple[Path, ...]], text: str, state: int = 0) -> bool:
    if not text and automaton.states[state].accepts:
        return True
    return any(
        path.target is not None and accepts(automaton, ways, rest, path.target)
        for path in ways[state]
        for rest in lead(path, text)
    )


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PATTERNS), st.text(st.sampled_from("abcd-%5"), max_size=9))
def test_the_paths_lead_where_the_states_led(pattern: str, text: str) -> None:
    """Whatever is passed on the way is read."""
    automaton = language(Matches(pattern))

    assert accepts(automaton, paths(automaton, once), text) == automaton.accepts(text)
    assert accepts(automaton, paths(automaton, twice), text) == automaton.accepts(text)


@pytest.mark.parametrize(
    ("pattern", "count"),
    [("^(ab)+$", 2), ("^[a-c]+(-[a-c]+)*$", 2), ("^(a%[0-9]{2})*$", 1), ("^(ab*c)*$", 1), ("^ab*cd$", 4)],
)
def test_steps_of_a_circle_are_no_rules(pattern: str, count: int) -> None:
    """Where nothing leads back, each state is a rule: another language may have it too."""
    assert len(paths(language(Matches(pattern)), once)) == count


@pytest.mark.parametrize("name", ["email", "hostname", "uri"])
def test_the_rules_of_common_formats_lead_in_no_circle(name: str) -> None:
    """But for those that lead to themselves, which XGrammar's compiler remembers."""
    ways = paths(language(HasFormat(name)), once)
    open_ways = {state: {path.target for path in found} - {state} for state, found in ways.items()}

    while ends := [state for state, targets in open_ways.items() if not targets]:
        open_ways = {state: targets - set(ends) for state, targets in open_ways.items() if state not in ends}

    assert open_ways == {}


def test_what_is_written_in_several_ways_is_not_repeated_in_place() -> None:
    """A repeat over several ways would cost the mask a hundred times as much."""
    automaton = language(Matches("^(ab*c)*$"))
    ways = paths(automaton, lambda charset: 2 if contains(charset, "b") else 1)

    assert all(step.behind is None for found in ways.values() for path in found for step in path.steps)
    assert len(ways) == 2


def test_a_path_has_few_ways_to_be_written() -> None:
    """A rule holds each of them, and they double with every step."""
    ways = paths(language(Matches("^(abcdabcdabcdabcd)*$")), twice)

    assert max(len(path.steps) for found in ways.values() for path in found) == 2
