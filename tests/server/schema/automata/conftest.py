"""Texts drawn from a language."""

import random
from collections.abc import Callable

import pytest

from server.schema.automata.automaton import Automaton

Draw = Callable[[Automaton, int], list[str]]


@pytest.fixture(scope="session")
def draw() -> Draw:
    """`draw(automaton, count)`: up to so many texts of the language, at random, and the same every time."""

    def draw_all(automaton: Automaton, count: int) -> list[str]:
        chance = random.Random(7)
        texts = (_text(automaton, chance) for _ in range(count))
        return [text for text in texts if text is not None]

    return draw_all


def _text(automaton: Automaton, chance: random.Random) -> str | None:
    state, text = automaton.states[0], ""
    while state.moves and len(text) < 200 and not (state.accepts and chance.random() < 0.4):
        charset, target = chance.choice(state.moves)
        first, last = chance.choice(charset)
        text, state = text + chr(chance.randint(first, last)), automaton.states[target]
    return text if state.accepts else None
