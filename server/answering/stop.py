"""Stop sequences, on the text for the user only: a call's JSON may spell them freely.

stop = StopSequences(("END",))
stop.feed("It is E")     # "It is "   (the "E" may begin the sequence)
stop.feed("ND of it")    # ""         (stop.matched is "END": nothing after it counts)
"""

from collections.abc import Sequence


class StopSequences:
    """Cuts text at the sequence that is complete first, which is not part of the answer.

    "Complete first" and not "begun first": a reader of single characters could not wait to see whether an
    earlier beginning completes later, and every cut of the text must give the same answer.
    """

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = sequences
        self._held = ""
        self.matched: str | None = None
        """The sequence that ended the text."""

    def feed(self, text: str) -> str:
        """Return what is certain to come before any stop sequence."""
        if not self._sequences:
            return text
        if self.matched is not None:
            return ""
        text = self._held + text
        found = [(at + len(stop), at, stop) for stop in self._sequences if (at := text.find(stop)) >= 0]
        if found:
            _, at, self.matched = min(found)
            self._held = ""
            return text[:at]
        keep = max((_overlap(text, sequence) for sequence in self._sequences), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """Return the held tail, which turned out not to begin a stop sequence."""
        tail, self._held = self._held, ""
        return tail


def _overlap(text: str, sequence: str) -> int:
    """Length of the longest end of `text` that is a proper beginning of `sequence`."""
    for size in range(min(len(text), len(sequence) - 1), 0, -1):
        if text.endswith(sequence[:size]):
            return size
    return 0
