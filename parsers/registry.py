"""The families that are built in: `find("hermes")` gives the record of `parsers/families/hermes.py`."""

from parsers.families.hermes import HERMES
from parsers.family import Family

FAMILIES: tuple[Family, ...] = (HERMES,)


class UnknownFamilyError(LookupError):
    """No family has this name. The message lists those that exist."""

    def __init__(self, name: str) -> None:
        known = ", ".join(family.name for family in FAMILIES)
        super().__init__(f"There is no model family '{name}'. The families are: {known}.")
        self.name = name


def find(name: str) -> Family:
    """The family called `name`. Raises `UnknownFamilyError`."""
    for family in FAMILIES:
        if family.name == name:
            return family
    raise UnknownFamilyError(name)
