"""A strict JSON lexer that takes its text in pieces and says at which character a value ends or breaks.

    lexer = JsonLexer()
    lexer.read('{"a": [1, ')    # 10, lexer.progress is Progress.OPEN
    lexer.read('2]}, "b"')      # 3:  lexer.progress is Progress.COMPLETE

It holds one entry for each open bracket and the digits of an unfinished number, nothing else, and reads
every character once. RFC 8259 to the letter, and two rules more, so that what it accepts is safe to load:
values nest at most `DEEPEST` levels (recursive readers give up not far above), and a number fits a double
(`1e999` would be read as Infinity, which is not JSON).
"""

import math
from collections.abc import Callable

from parsers.arguments.style import Progress

WHITESPACE = " \t\n\r"
DEEPEST = 512

_DIGITS = "0123456789"
_LITERALS = {"t": "rue", "f": "alse", "n": "ull"}
_ESCAPES = frozenset('"\\/bfnrt')
"""What a backslash escapes by itself."""
_OPENERS = {"{": "}", "[": "]"}


def is_plain(text: str) -> bool:
    """Whether the text stands in a JSON string as it is, with no character that might need a closer look."""
    return text.isprintable() and '"' not in text and "\\" not in text


def _edges(*edges: tuple[str, str]) -> dict[str, str]:
    return {char: state for chars, state in edges for char in chars}


_NUMBER = {
    "start": _edges(("-", "minus"), ("0", "zero"), ("123456789", "integer")),
    "minus": _edges(("0", "zero"), ("123456789", "integer")),
    "zero": _edges((".", "point"), ("eE", "exponent")),
    "integer": _edges((_DIGITS, "integer"), (".", "point"), ("eE", "exponent")),
    "point": _edges((_DIGITS, "fraction")),
    "fraction": _edges((_DIGITS, "fraction"), ("eE", "exponent")),
    "exponent": _edges(("+-", "sign"), (_DIGITS, "power")),
    "sign": _edges((_DIGITS, "power")),
    "power": _edges((_DIGITS, "power")),
}
_NUMBER_MAY_END = frozenset({"zero", "integer", "fraction", "power"})


class JsonLexer:
    """Reads one JSON value. `progress` is OPEN, COMPLETE or BROKEN."""

    __slots__ = ("_after_string", "_closers", "_digits", "_mode", "_number_state", "_rest", "progress")

    def __init__(self) -> None:
        self.progress = Progress.OPEN
        self._mode: Callable[[str, int], int] = self._value
        self._closers: list[str] = []
        self._after_string: Callable[[str, int], int] | None = None
        self._rest = ""
        self._number_state = "start"
        self._digits: list[str] = []

    def read(self, text: str, start: int = 0) -> int:
        """Read from `start` on, and return where reading stopped.

        That is the end of the value, the character that breaks it (which is not consumed), or the end of
        the text. The end of a bare number is seen only at the character after it.
        """
        at = start
        while at < len(text) and self.progress.goes_on:
            at = self._mode(text, at)
        return at

    @property
    def in_nested_string(self) -> bool:
        """Whether a string within an object or an array has begun and has not ended."""
        string = (self._string, self._escape, self._hexadecimal)
        return bool(self._closers) and self.progress.goes_on and self._mode in string

    def pass_plain(self, text: str) -> bool:
        """Whether the text surely stays within the string that is being read. If so, it has been read."""
        if self._mode == self._string:
            return is_plain(text) or self._pass_escapes(text)
        return self._mode == self._escape and self._pass_escapes("\\" + text)

    def _pass_escapes(self, text: str) -> bool:
        """As `pass_plain`, for text in a string in which a backslash and one character are an escape."""
        first, *others = text.removesuffix("\\").split("\\")
        if '"' in first or not text.isprintable():
            return False
        if any(other[:1] not in _ESCAPES or '"' in other[1:] for other in others):
            return False
        self._mode = self._escape if text.endswith("\\") else self._string
        return True

    def _break(self, at: int) -> int:
        self.progress = Progress.BROKEN
        self._mode = self._next
        return at

    def _end_value(self) -> None:
        self._mode = self._next
        if not self._closers:
            self.progress = Progress.COMPLETE

    def _value(self, text: str, at: int) -> int:
        char = text[at]
        if char in WHITESPACE:
            return at + 1
        if char == '"':
            self._after_string = None
            self._mode = self._string
        elif char in _OPENERS:
            return self._open(char, at)
        elif char in _LITERALS:
            self._rest = _LITERALS[char]
            self._mode = self._literal
        elif char in _NUMBER["start"]:
            self._number_state = "start"
            self._mode = self._number
            return at
        else:
            return self._break(at)
        return at + 1

    def _open(self, char: str, at: int) -> int:
        if len(self._closers) == DEEPEST:
            return self._break(at)
        self._closers.append(_OPENERS[char])
        self._mode = self._first_key if char == "{" else self._first_item
        return at + 1

    def _close(self, at: int) -> int:
        self._closers.pop()
        self._end_value()
        return at + 1

    def _first_item(self, text: str, at: int) -> int:
        if text[at] == "]":
            return self._close(at)
        return self._value(text, at)

    def _first_key(self, text: str, at: int) -> int:
        if text[at] == "}":
            return self._close(at)
        return self._key(text, at)

    def _key(self, text: str, at: int) -> int:
        char = text[at]
        if char == '"':
            self._after_string = self._colon
            self._mode = self._string
        elif char not in WHITESPACE:
            return self._break(at)
        return at + 1

    def _colon(self, text: str, at: int) -> int:
        char = text[at]
        if char == ":":
            self._mode = self._value
        elif char not in WHITESPACE:
            return self._break(at)
        return at + 1

    def _next(self, text: str, at: int) -> int:
        char = text[at]
        if char == self._closers[-1]:
            return self._close(at)
        if char == ",":
            self._mode = self._key if self._closers[-1] == "}" else self._value
        elif char not in WHITESPACE:
            return self._break(at)
        return at + 1

    def _string(self, text: str, at: int) -> int:
        while at < len(text):
            char = text[at]
            if char == '"':
                if self._after_string:
                    self._mode = self._after_string
                else:
                    self._end_value()
                return at + 1
            if char == "\\":
                self._mode = self._escape
                return at + 1
            if char < " ":
                return self._break(at)
            at += 1
        return at

    def _escape(self, text: str, at: int) -> int:
        char = text[at]
        if char == "u":
            self._rest = "0000"
            self._mode = self._hexadecimal
        elif char in _ESCAPES:
            self._mode = self._string
        else:
            return self._break(at)
        return at + 1

    def _hexadecimal(self, text: str, at: int) -> int:
        if text[at] not in "0123456789abcdefABCDEF":
            return self._break(at)
        self._rest = self._rest[1:]
        if not self._rest:
            self._mode = self._string
        return at + 1

    def _literal(self, text: str, at: int) -> int:
        if text[at] != self._rest[0]:
            return self._break(at)
        self._rest = self._rest[1:]
        if not self._rest:
            self._end_value()
        return at + 1

    def _number(self, text: str, at: int) -> int:
        start = at
        while at < len(text):
            state = _NUMBER[self._number_state].get(text[at])
            if state is None:
                break
            self._number_state = state
            at += 1
        self._digits.append(text[start:at])
        return at if at == len(text) else self._end_number(at)

    def _end_number(self, at: int) -> int:
        digits = "".join(self._digits)
        self._digits.clear()
        if self._number_state not in _NUMBER_MAY_END or math.isinf(float(digits)):
            return self._break(at)
        self._end_value()
        return at
