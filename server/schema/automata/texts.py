"""The tables of words and of lengths, and the automata of lengths.

words(("on", "off"))          # accepts these two
at_most(3)                    # up to three characters, and counts down: at_most(2) is a part of it
counting(2, 3)                # two or three characters, without the way by tables, which takes much longer
"""

from collections.abc import Iterable

from server.schema.automata.automaton import ANY_CHARACTER, Automaton, State
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


def counting(least: int, most: int | None) -> Automaton | None:
    """Texts of `least` to `most` characters; None if there are none."""
    if most is None:
        steps = [State(accepts=False, moves=((ANY_CHARACTER, place + 1),)) for place in range(least)]
        return Automaton((*steps, State(accepts=True, moves=((ANY_CHARACTER, least),))))
    if most < least:
        return None
    places = range(most)
    steps = [State(accepts=place >= least, moves=((ANY_CHARACTER, place + 1),)) for place in places]
    return Automaton((*steps, State(accepts=True, moves=())))
