r"""The text of an answer in a form, such as JSON, that may stand in an envelope: its end is no part of it.

form = FormText(("<|close|>response<|sep|>",))
form.read('{"a": "<|close|>response')          # ['{"a": "'], the rest may be the end
form.read('<|sep|>"}<|close|>response<|sep|>')  # ['<|close|>response<|sep|>', '"}'], and again
form.finish()                                   # []: it was the end
"""

from collections.abc import Sequence

from parsers.arguments.json_lexer import WHITESPACE
from parsers.markers import first_marker, held_tail


class FormText:
    """Passes text on, but for the marks that it ends in. Marks within it are part of it."""

    def __init__(self, marks: Sequence[str]) -> None:
        self._marks = tuple(marks)
        self._buffer = ""
        self._held: list[str] = []
        """Marks, and whitespace around them, behind which there is no text yet."""

    def read(self, text: str) -> list[str]:
        """The pieces of text that are known to be part of the form."""
        self._buffer += text
        said: list[str] = []
        while True:
            at, mark = first_marker(self._buffer, self._marks)
            if at < 0:
                at = len(self._buffer) - held_tail(self._buffer, self._marks)
            said += self._pass(self._take(at))
            if not mark:
                return said
            self._held.append(self._take(len(mark)))

    def finish(self) -> list[str]:
        """The answer is over: half a mark is text, and whole ones are dropped."""
        return self._pass(self._buffer)

    def _take(self, length: int) -> str:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    def _pass(self, text: str) -> list[str]:
        if self._held and not text.strip(WHITESPACE):
            self._held.append(text)
            return []
        passed, self._held = [*self._held, text], []
        return [piece for piece in passed if piece]
