"""How much of a long prompt a step may read while others wait for their next token.

pace = Pace(most=128)
pace.piece              # 128 tokens
pace.took(0.8)          # a step with a whole piece took .8 seconds, where it should take .2
pace.piece              # 32

What a token of a prompt costs grows with what was read before it: to read 128 tokens of a small model took
.15 s at the beginning of a prompt and 1.3 s behind 7,800 others (two cores). It differs by as much between
models, machines, and numbers of prompts that are read at once. So it is measured, step by step.
"""

from dataclasses import dataclass

STEP_SECONDS = 0.2
"""How long a step should take that reads a piece. All streams wait for it."""

LEAST_PIECE = 16
"""Below, what every step costs outweighs what its tokens do, and prompts would take for ever."""

MOST_CHANGE = 2.0, 4.0
"""By what the next piece may be longer and shorter: one slow step may have had another cause."""


@dataclass(slots=True)
class Pace:
    """The length of pieces, held where a step takes `STEP_SECONDS`. `most` is the longest."""

    most: int
    piece: int = 0
    """Tokens of one prompt that the next step may read."""

    def __post_init__(self) -> None:
        self.piece = self.most

    def took(self, seconds: float) -> None:
        """Learn how long a step took that read a whole piece of at least one prompt."""
        longer, shorter = MOST_CHANGE
        change = min(longer, max(1 / shorter, STEP_SECONDS / max(seconds, 1e-6)))
        self.piece = min(self.most, max(min(LEAST_PIECE, self.most), int(self.piece * change)))
