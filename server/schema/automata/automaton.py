"""A language of text as a minimal automaton over code points.

automaton.accepts("2026-02-28")
automaton.states[0].moves     # ((Charset, 1), …): the characters that lead to state 1
"""

from dataclasses import dataclass

Charset = tuple[tuple[int, int], ...]
"""Code points as sorted, disjoint, inclusive ranges. No surrogates."""

ANY_CHARACTER: Charset = ((0, 0xD7FF), (0xE000, 0x10FFFF))


@dataclass(frozen=True, slots=True)
class State:
    """`accepts`: the text may end here. The charsets of the moves are disjoint; what is in none ends it."""

    accepts: bool
    moves: tuple[tuple[Charset, int], ...]


@dataclass(frozen=True, slots=True)
class Automaton:
    """A language that is not empty. State 0 is the start; from every state the end can be reached.

    Minimal and numbered in the order of first visit, so that two automata of one language are equal.
    """

    states: tuple[State, ...]

    def accepts(self, text: str) -> bool:
        """Whether the text is of the language."""
        at: int | None = 0
        for character in text:
            at = self._next(at, ord(character)) if at is not None else None
        return at is not None and self.states[at].accepts

    @property
    def word(self) -> str | None:
        """The one text of the language, if it has but one."""
        found: list[str] = []
        for number, state in enumerate(self.states):
            if state.accepts:
                return "".join(found) if not state.moves else None
            if len(state.moves) > 1 or state.moves[0][1] != number + 1:
                return None
            charset = state.moves[0][0]
            if len(charset) > 1 or charset[0][0] != charset[0][1]:
                return None
            found.append(chr(charset[0][0]))
        return None

    def _next(self, state: int, code: int) -> int | None:
        for charset, target in self.states[state].moves:
            if any(first <= code <= last for first, last in charset):
                return target
        return None


ANY_TEXT = Automaton((State(accepts=True, moves=((ANY_CHARACTER, 0),)),))
