r"""The text of a custom tool's `input`, out of the JSON of its arguments while it is written.

    reader = InputReader()
    reader.feed('{"inp'), reader.feed('ut": "a\\'), reader.feed('nb"}')     # "", "a", "\nb"
    reader.text                                                             # "a\nb"

The mask lets nothing but one string `input` pass. What a parser gives of a wrong call is kept as it stands.
"""

import json
import re
from io import StringIO

QUOTES = 3
"""The value begins behind the third quote: two are around its key."""

ESCAPE_LENGTH = len("\\u0000")
STOP = re.compile(r'[\\"]')
HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB]")


class InputReader:
    """Feed the pieces of the arguments, get the pieces of the input."""

    def __init__(self) -> None:
        self._read = StringIO()
        self._raw = StringIO()
        self._quotes = 0
        self._pending = ""
        self._ended = False

    def feed(self, piece: str) -> str:
        """Take a piece of the JSON text; return what it adds to the input."""
        self._raw.write(piece)
        if self._ended:
            return ""
        text = self._pending + piece
        while self._quotes < QUOTES:
            _, quote, rest = text.partition('"')
            if not quote:
                self._pending = ""
                return ""
            self._quotes, text = self._quotes + 1, rest
        end = self._whole(text)
        decoded = _decoded(text[:end])
        self._pending = text[end:]
        self._read.write(decoded)
        return decoded

    @property
    def text(self) -> str:
        """The input so far; if there was none to be read, all of the arguments as they were written."""
        return self._read.getvalue() if self._quotes == QUOTES else self._raw.getvalue()

    def _whole(self, text: str) -> int:
        """How much of the text is whole: an escape that has only begun has to wait."""
        at = 0
        while (found := STOP.search(text, at)) is not None:
            start = found.start()
            if text[start] == '"':
                self._ended = True
                return start
            length = _escape_length(text, start)
            if start + length > len(text):
                return start
            at = start + length
        return len(text)


def _escape_length(text: str, start: int) -> int:
    if text[start + 1 : start + 2] != "u":
        return 2
    if HIGH_SURROGATE.match(text, start) is None:
        return ESCAPE_LENGTH
    # Two escapes are one character, if the second one is of its kind.
    second = text[start + ESCAPE_LENGTH : start + ESCAPE_LENGTH + 2]
    return 2 * ESCAPE_LENGTH if "\\u".startswith(second) else ESCAPE_LENGTH


def _decoded(text: str) -> str:
    """The characters that JSON's escapes stand for. Half of a surrogate pair is none."""
    decoded: str = json.loads(f'"{text}"', strict=False)
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
