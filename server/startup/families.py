r"""Which family a model is of, found out from its chat template, with the reason for the log.

    choose(None, template="…<tool_call>\n<function=…", control_strings=set())
    # Choice(QWEN3_CODER, "qwen3_coder, because the chat template writes <tool_call> and <function=.")

A template shows the model the form of its calls, and so spells what makes that form unlike any other. Of a
form that is unlike all that are known here, a record is derived.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from parsers.families.generic import GENERIC
from parsers.family import Family, write_call
from parsers.registry import FAMILIES


@dataclass(frozen=True, slots=True)
class Choice:
    """A family, and why it is the one: `sentence` begins with its name."""

    family: Family
    sentence: str


def choose(
    named: Family | None,
    *,
    template: str | None,
    control_strings: Collection[str],
    end_strings: Collection[str] = (),
    because: str = "--family names it",
) -> Choice:
    """The family that `--family` has named, else the one that the template shows, else `generic`.

    A model without a template is known by `control_strings`, the texts of its control tokens; `end_strings`
    are those that end an answer. `because` is why a named family is the one, where it was not `--family`
    that named it.
    """
    if named is not None:
        return Choice(named, f"{named.name}, because {because}.")
    if template is not None:
        found, where = find_sign([template]), "the chat template writes"
    else:
        found, where = find_sign(control_strings), "the vocabulary has"
    if found is not None:
        family, sign = found
        return Choice(family, f"{family.name}, because {where} {' and '.join(sign)}.")
    if template is not None:
        return _derived(template, control_strings, end_strings)
    return _generic("nothing shows a form of calls: there is no chat template")


def _derived(template: str, control_strings: Collection[str], end_strings: Collection[str]) -> Choice:
    # Checking a mask takes XGrammar, whose import takes seconds.
    from server.derive import NotDerivedError, derive

    try:
        family = derive(template, control_strings=control_strings, end_strings=end_strings)
    except NotDerivedError as error:
        return _generic(f"the chat template writes no form of calls that is known here: {error}")
    call = write_call(family, "NAME", {"KEY": "VALUE"}).strip().replace("\n", "␤")
    return Choice(family, f"{family.name} from the chat template, which writes a call as {call}")


def _generic(reason: str) -> Choice:
    return Choice(GENERIC, f"{GENERIC.name}, because {reason}.")


def find_sign(texts: Iterable[str]) -> tuple[Family, tuple[str, ...]] | None:
    """The first family of which all texts of a sign stand in one of the texts, and that sign."""
    together = "\0".join(texts)
    for family in FAMILIES:
        for sign in family.signs:
            if all(marker in together for marker in sign):
                return family, sign
    return None
