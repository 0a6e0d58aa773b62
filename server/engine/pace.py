"""How much of prompts a step may read while others wait for their next token.

pace = Pace(most=128)
pace.tokens             # 128: of all prompts together
pace.share(128, 2)      # 64: of each, where two are being read
pace.took(0.8)          # a step that read all of it took .8 seconds, where it should take .2
pace.tokens             # 32

What a token of a prompt costs grows with what was read before it: to read 128 tokens of a small model took
.15 s at the beginning of a prompt and 1.3 s behind 7,800 others (two cores). It differs by as much between
models and machines. So it is measured, step by step.
"""

from dataclasses import dataclass

STEP_SECONDS = 0.2
"""How long a step should take that reads prompts. All streams wait for it."""

LEAST = 16
"""Tokens of a prompt. Below, what every step costs outweighs what they do, and prompts take for ever."""

LONGER, SHORTER = 2.0, 4.0
"""By what the next step may read more or less: a slow one may have had another cause."""


@dataclass(slots=True)
class Pace:
    """Tokens of prompts in a step, held where it takes `STEP_SECONDS`. `most` is where they begin."""

    most: int
    tokens: int = 0

    def __post_init__(self) -> None:
        self.tokens = self.most

    def share(self, tokens: int, prompts: int) -> int:
        """Tokens of each prompt, where so many are being read in a step."""
        return max(min(LEAST, self.most), tokens // max(1, prompts))

    def took(self, seconds: float) -> None:
        """Learn how long a step took that read all it might."""
        change = min(LONGER, max(1 / SHORTER, STEP_SECONDS / max(seconds, 1e-6)))
        self.tokens = min(self.most, max(min(LEAST, self.most), int(self.tokens * change)))
