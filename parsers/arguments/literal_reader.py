r"""Reads calls in the literal style, and says their arguments as JSON while they are written.

    reader = LiteralReader(style)
    reader.read("f(a='x', b=[Tr")    # Name("f"), Arguments("{"), Arguments('"a": '), …, Arguments("[")
    reader.read("ue])")              # Arguments("true"), Arguments("]"), Arguments("}"), Progress.COMPLETE

Also read: JSON's spelling of true, false and null beside Python's, both kinds of quotes where text has
escapes, double quotes where it has none, and whitespace between all parts.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from parsers.arguments.buffered import BufferedReader, TextEnds
from parsers.arguments.json_lexer import DEEPEST, WHITESPACE
from parsers.arguments.json_text import is_json, quoted, write_json
from parsers.arguments.style import Name, Progress
from parsers.events import Reason
from parsers.markers import TAG_STARTS, first_marker, held_tail, may_become

if TYPE_CHECKING:
    from parsers.arguments.literal_call import LiteralCall

LONGEST_WORD = 256
"""Characters of a name, a key, a number; what is longer is none."""

_AROUND = WHITESPACE + "[],"
_WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_CLOSERS = {"[": ("]", "]"), "(": (")", "]"), "{": ("}", "}")}
"""What closes a nested value, and its spelling in JSON."""

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "\n": ""}
_CODES = {"x": 2, "u": 4, "U": 8}
"""How many hexadecimal digits follow."""


class _EscapedEnds(TextEnds):
    """The end of text in which a backslash escapes: its quote, which is one character."""

    __slots__ = ("_quote",)

    def __init__(self, quote: str) -> None:
        super().__init__((quote, "\\"))
        self._quote = quote

    def read(self, text: str) -> tuple[str, str] | None:
        if "\\" not in text:
            return None if self._quote in text else (text, "")
        first, *others = text.removesuffix("\\").split("\\")
        said = [first]
        for other in others:
            escaped = _ESCAPES.get(other[:1])
            if escaped is None or self._quote in other[1:]:
                return None
            said += escaped, other[1:]
        return None if self._quote in first else ("".join(said), "\\" if text.endswith("\\") else "")


class LiteralReader(BufferedReader):
    """Reads one call. See `CallReader`."""

    def __init__(self, style: "LiteralCall") -> None:
        super().__init__(self._around)
        self._style = style
        self._escapes = style.dialect.escapes
        self._quotes = ("'", '"') if self._escapes else (style.dialect.quote, '"')
        self._quote = ""
        self._text_ends = TextEnds(())
        self._after_text = self._read_next
        self._closers: list[tuple[str, str]] = []
        self._depth = 0
        """How many brackets are open in a call that is wrong."""

    # The name.

    def _around(self) -> bool:
        self.skip(_AROUND)
        prefix = self._style.prefix
        if not self.buffer or may_become(self.buffer, (prefix,)):
            return False
        if not self.buffer.startswith(prefix):
            return self.end(Progress.PROSE)
        self.take(len(prefix))
        self.progress = Progress.OPEN if prefix else Progress.UNDECIDED
        self.mode = self._read_name
        return True

    def _read_name(self) -> bool:
        at = self._word_end()
        if at < 0:
            return False
        if at == 0 or at > LONGEST_WORD or not self.buffer.startswith(self._style.begin, at):
            no_name = Progress.PROSE if self.progress is Progress.UNDECIDED else Progress.BROKEN
            return self.end(no_name, None if no_name is Progress.PROSE else Reason.NO_NAME)
        self.say(Name(self.take(at)))
        self.progress = Progress.OPEN
        self._open(len(self._style.begin), (self._style.end, "}"))
        return True

    def _word_end(self) -> int:
        """Where the word ends that the buffer begins with, or -1 if it may go on."""
        for at, char in enumerate(self.buffer):
            if not (char.isalnum() or char in "_-.+"):
                return at
        return len(self.buffer) if len(self.buffer) > LONGEST_WORD else -1

    # Items, in the call itself and in what is nested in it.

    def _open(self, length: int, closer: tuple[str, str]) -> None:
        self.take(length)
        self._closers.append(closer)
        self.say_json("{" if closer[1] == "}" else "[")
        self.mode = self._read_first

    def _break(self) -> bool:
        """The call is wrong. What follows is read only to find its end, so that its siblings are not lost."""
        self.fault = Reason.BAD_MARKUP
        self._depth = len(self._closers)
        self.mode = self._skip_text if self.mode == self._read_text else self._skip
        return True

    def _skip(self) -> bool:
        """In a call that is wrong: it ends where its brackets do."""
        for at, char in enumerate(self.buffer):
            if char in TAG_STARTS:
                return self._give_up(at)
            self._depth += (char in "([{") - (char in ")]}")
            if not self._depth:
                self.take(at + 1)
                return self.end(Progress.COMPLETE, Reason.BAD_MARKUP)
            if char in self._quotes:
                self.take(at + 1)
                self._quote = char
                self.mode = self._skip_text
                return True
        self.take(len(self.buffer))
        return False

    def _skip_text(self) -> bool:
        """In a call that is wrong, between quotes, where brackets are text."""
        escape = ("\\",) if self._escapes else ()
        at, marker = first_marker(self.buffer, (self._quote, *escape, *TAG_STARTS))
        self.take(at if marker else len(self.buffer))
        if marker in TAG_STARTS:
            return self._give_up(0)
        if marker == self._quote:
            self.take(len(marker))
            self.mode = self._skip
            return True
        if len(self.buffer) < 2:
            return False
        self.take(1 if self.buffer[1] in TAG_STARTS else 2)
        return True

    def _give_up(self, at: int) -> bool:
        """A tag in a call that is wrong may be where it ended: an apostrophe is no quote."""
        self.take(at)
        return self.end(Progress.BROKEN, Reason.BAD_MARKUP)

    def _read_first(self) -> bool:
        """The first item, or the end."""
        self.skip()
        if not self.buffer:
            return False
        if self.buffer.startswith(self._closers[-1][0]):
            return self._close()
        return self._begin_item()

    def _begin_item(self) -> bool:
        self.mode = self._read_key if self._closers[-1][1] == "}" else self._read_value
        return True

    def _close(self) -> bool:
        self.take(1)
        self.say_json(self._closers.pop()[1])
        self.mode = self._read_next
        return bool(self._closers) or self.complete()

    def _read_next(self) -> bool:
        """Another item, or the end."""
        self.skip()
        if not self.buffer:
            return False
        if self.buffer.startswith(self._closers[-1][0]):
            return self._close()
        if not self.buffer.startswith(","):
            return self._break()
        self.take(1)
        self.say_json(", ")
        return self._begin_item()

    def _read_key(self) -> bool:
        self.skip()
        nested = len(self._closers) > 1
        if not self.buffer or (nested and may_become(self.buffer, self._quotes)):
            return False
        if nested and self.buffer.startswith(self._quotes):
            return self._begin_text(self._read_colon)
        equals = ":" if nested else self._style.dialect.equals
        at, stop = first_marker(self.buffer, (equals, ",", ")", "}", "]", "'", '"'))
        too_long = (at if stop else len(self.buffer)) > LONGEST_WORD
        if not stop and not too_long:
            return False
        key = self.buffer[: max(at, 0)].strip()
        if stop != equals or too_long or not key:
            return self._break()
        self.take(at + len(equals))
        self.say_json(write_json(key) + ": ")
        self.mode = self._read_value
        return True

    def _read_colon(self) -> bool:
        self.skip()
        if not self.buffer:
            return False
        if not self.buffer.startswith(":"):
            return self._break()
        self.take(1)
        self.say_json(": ")
        self.mode = self._read_value
        return True

    # Values.

    def _read_value(self) -> bool:
        self.skip()
        if not self.buffer or may_become(self.buffer, self._quotes):
            return False
        if self.buffer.startswith(self._quotes):
            return self._begin_text(self._read_next)
        if self.buffer[0] in _CLOSERS and len(self._closers) < DEEPEST:
            self._open(1, _CLOSERS[self.buffer[0]])
            return True
        at = self._word_end()
        if at < 0:
            return False
        word = self.take(at)
        value = _WORDS.get(word, word)
        if at > LONGEST_WORD or not is_json(value):
            return self._break()
        self.say_json(value)
        self.mode = self._read_next
        return True

    def _begin_text(self, after: Callable[[], bool]) -> bool:
        self._quote = next(quote for quote in self._quotes if self.buffer.startswith(quote))
        self._text_ends = _EscapedEnds(self._quote) if self._escapes else TextEnds((self._quote,))
        self.take(len(self._quote))
        self.say_json('"')
        self._after_text = after
        self.mode = self._read_text
        return True

    def _read_text(self) -> bool:
        markers = self._text_ends.markers
        at, marker = first_marker(self.buffer, markers)
        if at < 0:
            at = len(self.buffer) - held_tail(self.buffer, markers)
        self.say_json(quoted(self.take(at)))
        if not marker:
            return False
        if marker == self._quote:
            self.take(len(marker))
            self.say_json('"')
            self.mode = self._after_text
            return True
        return self._read_escape()

    def text_ends(self) -> TextEnds | None:
        return self._text_ends if self.mode == self._read_text else None

    def _read_escape(self) -> bool:
        """The buffer begins with a backslash. One that escapes nothing is text."""
        if len(self.buffer) < 2:
            return False
        kind = self.buffer[1]
        length = _CODES.get(kind, 0)
        if len(self.buffer) < 2 + length:
            return False
        escape, digits = self.take(2), self.take(length)
        if not digits:
            self.say_json(quoted(_ESCAPES.get(kind, escape)))
            return True
        try:
            self.say_json(quoted(chr(int(digits, 16))))
        except (ValueError, OverflowError):
            return self._break()
        return True
