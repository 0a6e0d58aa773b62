"""The control strings of OpenAI's Harmony format, and the words of its headers.

`<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>`
"""

from dataclasses import dataclass

ROLE = "assistant"
ANALYSIS, COMMENTARY, FINAL = "analysis", "commentary", "final"
CHANNELS = frozenset({ANALYSIS, COMMENTARY, FINAL})
CONTENT_TYPES = frozenset({"json", "code", "text"})
TO = "to="
NAMESPACE = "functions."


@dataclass(frozen=True, slots=True)
class Marks:
    """A message is `start`, its header, `message`, its body, and one of `ends`."""

    start: str = "<|start|>"
    channel: str = "<|channel|>"
    constrain: str = "<|constrain|>"
    message: str = "<|message|>"
    end: str = "<|end|>"
    call: str = "<|call|>"
    ret: str = "<|return|>"

    @property
    def ends(self) -> tuple[str, ...]:
        """What ends a message: any, a call, or the last one of an answer."""
        return (self.end, self.call, self.ret)

    @property
    def all(self) -> tuple[str, ...]:
        return (self.start, self.channel, self.constrain, self.message, *self.ends)


MARKS = Marks()
"""As OpenAI's models write them."""
