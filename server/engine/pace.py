"""How much of prompts a step may read while others wait for their next token.

pace = Pace(each=128)
pace.tokens              # 32: of all prompts together
pace.wrote(0.04, 1)      # a step that wrote for one and read nothing took .04 seconds
pace.read(32, 0.14, 1)   # one that read 32 took .1 seconds more, and may take .2 more
pace.tokens              # 64
pace.share(64, 2)        # 32: of each, where two are being read

What a token of a prompt costs grows with what was read before it: to read 128 tokens of a small model took
.15 s at the beginning of a prompt and 1.3 s behind 7,800 others (two cores). It differs by as much between
models and machines. So it is measured, step by step.
"""

from dataclasses import dataclass, field

READING_SECONDS = 0.2
"""How much longer a step may take that reads prompts. All streams wait for it."""
TIMES = 1.5
"""The same in parts of what a step takes that reads nothing: who waits long anyway may wait in proportion."""

LEAST = 16
"""Tokens of a prompt. Below, what every step costs outweighs what they do, and prompts take for ever."""

SLOWER = 1.05
"""By what a step that reads nothing may seem slower than the last: mostly others use the processor."""

LONGER, SHORTER = 2, 4
"""By what the next step may read more or less: a slow one may have had another cause."""

FIRST = 4
"""The part of one prompt's most that is read first. A slow machine is known after one step."""

PROMPTS = 4
"""How many prompts a step may read the most of, where it has time for that: short ones come together."""


@dataclass(slots=True)
class Pace:
    """Tokens of prompts in a step, held where all streams can wait for them; at most `each` of one prompt."""

    each: int
    tokens: int = 0
    writing: dict[int, float] = field(default_factory=dict)
    """Seconds of a step that reads nothing, by how many it writes for: powers of two, and up to the next."""

    def __post_init__(self) -> None:
        self.tokens = self.tokens or max(self.each // FIRST, self.least)

    @property
    def least(self) -> int:
        """What a step reads at least, of all prompts together."""
        return min(LEAST, self.each)

    def wrote(self, seconds: float, writers: int) -> None:
        """Learn how long a step took that read nothing."""
        known = self.writing.get(writers.bit_length(), seconds)
        self.writing[writers.bit_length()] = min(seconds, SLOWER * known)

    def read(self, tokens: int, seconds: float, writers: int) -> None:
        """Learn how long a step took that read so many, beside so many that were written for.

        Of a few it says nothing: they take no time. And only one that read all it might says that more fit.
        """
        if tokens < min(self.each, self.tokens):
            return
        writing = self._writing(writers)
        allowed = max(READING_SECONDS, TIMES * writing)
        fit = int(tokens * allowed / max(seconds - writing, 1e-6))
        most = min(PROMPTS * self.each, LONGER * self.tokens) if tokens >= self.tokens else self.tokens
        self.tokens = min(most, max(self.least, self.tokens // SHORTER, fit))

    def share(self, tokens: int, prompts: int) -> int:
        """Tokens of each prompt, where so many are being read in a step that reads so much."""
        return min(self.each, max(self.least, tokens // max(1, prompts)))

    def _writing(self, writers: int) -> float:
        """What is known of so many, or else of fewer."""
        known = [size for size in self.writing if size <= writers.bit_length()]
        return self.writing[max(known)] if known else 0.0
