"""The frame of readers that look for markers: what is not read yet waits in a buffer.

A subclass has modes, methods that each read one part of a call from `self.buffer`. A mode returns whether
it got on; if not, it is asked again when there is more text.
"""

from collections.abc import Callable, Sequence

from parsers.arguments.json_lexer import WHITESPACE, JsonLexer
from parsers.arguments.json_text import quoted
from parsers.arguments.style import Arguments, Progress, Reading, Step
from parsers.events import Reason
from parsers.markers import first_marker, held_tail


class TextEnds:
    """The markers at which a text value that is passed on as it comes may end."""

    __slots__ = ("_begin_with_newline", "_stops", "markers")

    def __init__(self, markers: Sequence[str]) -> None:
        self.markers = tuple(dict.fromkeys(markers))
        # Text is full of line breaks. One matters only where it is the last that has come.
        self._begin_with_newline = any(marker.startswith("\n") for marker in markers)
        self._stops = tuple(dict.fromkeys(marker.lstrip("\n")[0] for marker in markers))

    def read(self, text: str) -> tuple[str, str] | None:
        """What the text says, and what of it waits as a marker may begin there; None if one stands in it."""
        if not (self._begin_with_newline and text.endswith("\n")):
            for stop in self._stops:
                if stop in text:
                    break
            else:
                return text, ""
        if first_marker(text, self.markers)[0] >= 0:
            return None
        at = len(text) - held_tail(text, self.markers)
        return text[:at], text[at:]


class BufferedReader:
    """Reads one call. See `CallReader`."""

    def __init__(self, first: Callable[[], bool]) -> None:
        self.buffer = ""
        self.progress = Progress.AROUND
        self.mode = first
        self.fault: Reason | None = None
        self._steps: list[Step] = []
        self._pieces: list[str] = []
        """The arguments that have been read since the last step."""
        self._lexer = JsonLexer()
        self._then = first
        self._inside: TextEnds | None = None
        """What `text_ends` was at the end of `read`: it is asked for far more often than it changes."""

    def read(self, text: str) -> Reading:
        self.buffer += text
        while self.buffer and self.progress.goes_on and self.mode():
            pass
        self._inside = self.text_ends()
        self._flush()
        steps = tuple(self._steps)
        self._steps.clear()
        consumed = len(text) if self.progress.goes_on else len(text) - len(self.buffer)
        return Reading(consumed, steps, self.progress, self.fault)

    def pass_plain(self, text: str) -> str | None:
        if self._inside is None:
            in_object = self.mode == self._pass_object and not self.buffer
            return text if in_object and self._lexer.pass_plain(text) else None
        read = self._inside.read(self.buffer + text)
        if read is None:
            return None
        said, self.buffer = read
        return quoted(said)

    def text_ends(self) -> TextEnds | None:
        """The ends of the text value that is being passed on, if one is."""
        return None

    def say(self, step: Step) -> None:
        self._flush()
        self._steps.append(step)

    def say_json(self, text: str) -> None:
        """The next piece of the arguments, which may be empty."""
        if text:
            self._pieces.append(text)

    def _flush(self) -> None:
        """Make one step of the pieces."""
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            self._steps.append(Arguments(text))

    def take(self, length: int) -> str:
        taken, self.buffer = self.buffer[:length], self.buffer[length:]
        return taken

    def skip(self, chars: str = WHITESPACE) -> None:
        self.buffer = self.buffer.lstrip(chars)

    def end(self, progress: Progress, fault: Reason | None = None) -> bool:
        """The call ends here, and what the buffer holds is not of it."""
        self.progress = progress
        self.fault = fault
        return False

    def begin_object(self, after: Callable[[], bool]) -> bool:
        """Pass on the JSON object that begins here, and then read on in the mode `after`."""
        self._lexer = JsonLexer()
        self._then = after
        self.mode = self._pass_object
        return True

    def _pass_object(self) -> bool:
        end = self._lexer.read(self.buffer)
        self.say_json(self.take(end))
        if self._lexer.progress.goes_on:
            return False
        if self._lexer.progress is Progress.BROKEN:
            return self.end(Progress.BROKEN, Reason.BAD_JSON)
        return self._then()

    def complete(self) -> bool:
        """A mode: the call is complete where the last part ended."""
        return self.end(Progress.COMPLETE)
