"""The tables of words and of lengths.

words(("on", "off"))          # accepts these two
at_most(3)                    # up to three characters, and counts down: at_most(2) is a part of it
"""

from collections.abc import Iterable

from server.schema.automata.automaton import ANY_CHARACTER
from server.schema.automata.charsets import classes_of, single
from server.schema.automata.limits import TooLarge
from server.schema.automata.table import NOWHERE, Table, minimise

_ANY = (ANY_CHARACTER,)


def words(chosen: Iterable[str], *, limit: int) -> Table:
    """These words. Those with half a surrogate pair, which no text of a model can spell, are left out."""
    spelled = [word for word in dict.fromkeys(chosen) if not _has_surrogate(word)]
    classes = classes_of(single(character) for character in sorted(set("".join(spelled))))
    columns = {chr(charset[0][0]): column for column, charset in enumerate(classes) if _is_single(charset)}
    rows = [[NOWHERE] * len(classes)]
    accepting = [False]
    for word in spelled:
        state = 0
        for character in word:
            following = rows[state][columns[character]]
            if following == NOWHERE:
                following = rows[state][columns[character]] = len(rows)
                rows.append([NOWHERE] * len(classes))
                accepting.append(False)
            state = following
        accepting[state] = True
        if len(rows) > limit:
            raise TooLarge
    return minimise(Table(classes, tuple(map(tuple, rows)), tuple(accepting)))


def _is_single(charset: tuple[tuple[int, int], ...]) -> bool:
    return len(charset) == 1 and charset[0][0] == charset[0][1]


def _has_surrogate(word: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in word)


def at_least(length: int) -> Table:
    """Texts of `length` characters or more."""
    rows = (*((state + 1,) for state in range(length)), (length,))
    return Table(_ANY, rows, (*(False for _ in range(length)), True))


def at_most(length: int) -> Table:
    """Texts of up to `length` characters."""
    rows = (*((state + 1,) for state in range(length)), (NOWHERE,))
    return Table(_ANY, rows, (True,) * (length + 1))
