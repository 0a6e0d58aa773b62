"""How large automata may become before a rule is left to the check after generation."""

from dataclasses import dataclass


class TooLarge(Exception):  # noqa: N818 - an outcome that its callers plan for, and not a fault
    """An automaton would be over its limit."""


@dataclass(frozen=True, slots=True)
class AutomatonLimits:
    """Limits of automata; those of languages count the states of the smallest automaton.

    The engine's compiler spends milliseconds on each state of a mask, and remembers what it has seen.
    """

    length: int = 256
    """Characters that a mask counts."""
    patterns: int = 260
    """States of a text with patterns."""
    formats: int = 400
    """States of a text with formats, whose automata are few and stay in the compiler's memory."""
    wide: int = 100
    """Of these, states that most characters leave: they cost the compiler 20 ms each, others 3 ms or less."""
    words: int = 1_000
    """States of a text that only words and a length are asked of."""
    numbers: int = 1_500
    """States of a number."""
    reached: int = 6_000
    """States of an automaton that is being built, before those that do the same are made one."""
    pattern_length: int = 2_000
    """Characters of a pattern, also when its counted repeats are written out."""
    whole_digits: tuple[int, ...] = (40, 20)
    """Digits of a number before its point: the first that fits, or as many as its bounds have.

    A run of digits ends, and a double holds what it comes to.
    """
    bound_digits: int = 310
    """Digits of a number's bound, before the point or behind it; a double has no more."""
    digits: int = 17
    """Significant digits of a number with a fraction, beside those that its bounds have: as many as a double
    can tell apart."""
    safe_digits: int = 15
    """The same where a number that is rounded to a double could become one that is excluded."""
