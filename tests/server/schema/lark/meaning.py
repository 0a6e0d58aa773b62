r"""What a Lark grammar means, by its definition: slowly, and without automata, productions or masks.

means('start: "a" start | "b"', "aab")     # True
"""

from collections.abc import Callable, Iterable, Iterator

from server.schema.automata.pattern import Characters, Choice, Part, Repeat, Sequence
from server.schema.automata.properties import UnicodeProperties
from server.schema.lark.reading import read_lark
from server.schema.lark.syntax import (
    START,
    Expansion,
    Expansions,
    Expression,
    LarkGrammar,
    Literal,
    Name,
    Repeated,
    is_terminal,
)

Step = Callable[[int], set[int]]


def means(definition: str, text: str) -> bool:
    """Whether the text is one of the grammar's."""
    return Meaning(read_lark(definition, UnicodeProperties()), text).holds


class Meaning:
    """For each rule and each place in the text, where the rule may end: widened until nothing changes."""

    def __init__(self, grammar: LarkGrammar, text: str) -> None:
        self._grammar = grammar
        self._text = text
        self._ends: dict[tuple[str, int], set[int]] = {}
        self._grows = True
        while self._grows:
            self._grows = False
            for name, expression in grammar.definitions.items():
                for place in range(len(text) + 1):
                    found = self._expression(expression, place, is_terminal(name))
                    known = self._ends.setdefault((name, place), set())
                    self._grows |= not found <= known
                    known |= found
        starts = self._gaps({0})
        self.holds = any(len(text) in self._ends[START, place] for place in starts)

    def _gaps(self, places: Iterable[int]) -> set[int]:
        """The places, and those behind what is ignored there."""
        found = set(places)
        pending = list(found)
        while pending:
            place = pending.pop()
            for ignored in self._grammar.ignored:
                new = self._expression(ignored, place, True) - found
                found |= new
                pending += new
        return found

    def _expression(self, expression: Expression, place: int, in_terminal: bool) -> set[int]:
        match expression:
            case Name(name):
                ends = set(self._ends.get((name, place), ()))
                return self._gaps(ends) if is_terminal(name) and not in_terminal else ends
            case Literal(part):
                ends = set(self._part(part, place))
                return ends if in_terminal else self._gaps(ends)
            case Expansion(parts):
                places = {place}
                for inner in parts:
                    places = {end for each in places for end in self._expression(inner, each, in_terminal)}
                return places
            case Expansions(ways):
                return {end for way in ways for end in self._expression(way, place, in_terminal)}
            case Repeated(inner, least, most):
                return repeated(lambda each: self._expression(inner, each, in_terminal), place, least, most)

    def _part(self, part: Part, place: int) -> Iterator[int]:
        match part:
            case Characters(charset):
                here = self._text[place : place + 1]
                if here and any(first <= ord(here) <= last for first, last in charset):
                    yield place + 1
            case Sequence(parts):
                places = {place}
                for inner in parts:
                    places = {end for each in places for end in self._part(inner, each)}
                yield from places
            case Choice(branches):
                for branch in branches:
                    yield from self._part(branch, place)
            case Repeat(inner, least, most):
                yield from repeated(lambda each: set(self._part(inner, each)), place, least, most)


def repeated(once: Step, place: int, least: int, most: int | None) -> set[int]:
    """The places behind so many steps. More steps than there are places lead nowhere new."""
    places, found = {place}, set[int]()
    for count in range(1_000 if most is None else most + 1):
        if count >= least:
            if places <= found:
                break
            found |= places
        places = {end for each in places for end in once(each)}
    return found
