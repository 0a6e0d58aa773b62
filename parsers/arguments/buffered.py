"""The frame of readers that look for markers: what is not read yet waits in a buffer.

A subclass has modes, methods that each read one part of a call from `self.buffer`. A mode returns whether
it got on; if not, it is asked again when there is more text.
"""

from collections.abc import Callable

from parsers.arguments.json_lexer import WHITESPACE, JsonLexer, is_plain
from parsers.arguments.json_text import write_json
from parsers.arguments.style import Arguments, Progress, Reading, Step
from parsers.events import Reason


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

    def read(self, text: str) -> Reading:
        self.buffer += text
        while self.buffer and self.progress.goes_on and self.mode():
            pass
        self._flush()
        steps = tuple(self._steps)
        self._steps.clear()
        consumed = len(text) if self.progress.goes_on else len(text) - len(self.buffer)
        return Reading(consumed, steps, self.progress, self.fault)

    def pass_plain(self, text: str) -> str:
        if self.buffer:
            return ""
        if self.mode == self._pass_object:
            return text if self._lexer.pass_plain(text) else ""
        stops = self.text_stops()
        return quoted(text) if stops and not any(stop in text for stop in stops) else ""

    def text_stops(self) -> tuple[str, ...]:
        """The characters at which the text value being passed on may end; none where there is none."""
        return ()

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


def quoted(text: str) -> str:
    """The text as the inside of a JSON string."""
    return text if is_plain(text) else write_json(text)[1:-1]
