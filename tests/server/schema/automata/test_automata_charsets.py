"""Sets of characters."""

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.schema.automata.automaton import ANY_CHARACTER, Charset
from server.schema.automata.charsets import classes_of, invert, members, refine, size_of, union
from server.schema.automata.pattern import Characters, parse
from server.schema.automata.properties import UnicodeProperties

CHARACTERS = st.one_of(st.integers(0, 0xD7FF), st.integers(0xE000, 0x10FFFF), st.sampled_from([0, 0x10FFFF]))
CHARSETS = st.lists(CHARACTERS, max_size=6).map(lambda codes: union(tuple((code, code) for code in codes)))


def contains(charset: Charset, code: int) -> bool:
    return any(first <= code <= last for first, last in charset)


@given(CHARSETS, CHARACTERS)
def test_a_character_is_in_a_set_or_in_its_inverse(charset: Charset, code: int) -> None:
    """The inverse has all other characters, and no surrogates."""
    assert contains(charset, code) != contains(invert(charset), code)
    assert not contains(invert(charset), 0xD800)
    assert size_of(charset) + size_of(invert(charset)) == size_of(ANY_CHARACTER)


@given(st.lists(CHARSETS, max_size=4))
def test_every_set_is_made_of_whole_classes(charsets: list[Charset]) -> None:
    """The classes are disjoint, make up all characters, and each set is some of them."""
    classes = classes_of(charsets)

    assert sum(map(size_of, classes)) == size_of(ANY_CHARACTER)
    assert union(*classes) == ANY_CHARACTER
    for charset in charsets:
        assert union(*(classes[place] for place in members(charset, classes))) == charset


@given(CHARSETS, CHARSETS, CHARACTERS)
def test_refined_classes_know_where_they_come_from(one: Charset, two: Charset, code: int) -> None:
    """Each class of a refinement names the class of each partition that it is a part of."""
    partitions = [classes_of([one]), classes_of([two])]

    classes, places = refine(partitions)

    at = next(place for place, charset in enumerate(classes) if contains(charset, code))
    assert all(contains(part[place], code) for part, place in zip(partitions, places[at], strict=True))


@pytest.mark.parametrize("escape", [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".", r"\p{Lu}", r"\P{Greek}"])
def test_escapes_mean_what_the_check_takes_them_for(escape: str) -> None:
    """For every character of the basic plane and some beyond, the mask and the check agree."""
    part = parse(escape, UnicodeProperties())
    matches = jsonschema_rs.validator_for({"pattern": f"^{escape}$"}).is_valid
    codes = [*range(0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x110000, 997)]

    assert isinstance(part, Characters)
    members = {code for first, last in part.charset for code in range(first, last + 1)}
    assert [chr(code) for code in codes if (code in members) != matches(chr(code))] == []


def test_a_property_that_nobody_knows_has_no_characters() -> None:
    """Also where its name would be read as a pattern."""
    properties = UnicodeProperties()

    assert [properties(name) for name in ("Klingon", "", "L}$|a{", "^L")] == [None] * 4
