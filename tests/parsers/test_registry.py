"""The families that are built in."""

import pytest

from parsers.families.hermes import HERMES
from parsers.registry import FAMILIES, UnknownFamilyError, find


def test_family_is_found_by_its_name() -> None:
    """Every family has a name of its own."""
    assert find("hermes") is HERMES
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_unknown_family_is_refused_with_the_known_ones() -> None:
    """The message says what could have been meant."""
    with pytest.raises(UnknownFamilyError, match=r"no model family 'hermez'.*hermes"):
        find("hermez")
