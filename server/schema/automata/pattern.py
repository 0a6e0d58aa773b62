r"""ECMA-262 patterns, as a tree.

parse(r"^a[0-9]{2,}", properties)
# Sequence((Edge.START, Characters(((97, 97),)), Repeat(Characters(DIGIT), 2, None)))

What the check behind the mask accepts is the truth, and where it departs from ECMA-262 so does this: `.` is
all but a line feed, and a brace or a bracket that stands for itself is escaped.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum

from server.schema.automata.automaton import ANY_CHARACTER, Charset
from server.schema.automata.charsets import DIGIT, SPACE, WORD, invert, single, size_of, union, with_cases

Properties = Callable[[str], Charset | None]
r"""The characters of a Unicode property by its name, as in `\p{name}`; None if there is none of this name."""

_MAX_DEPTH = 50
_SETS = {"d": DIGIT, "w": WORD, "s": SPACE}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
# `\<` and `\>` are not listed: the check takes them for the borders of a word.
_THEMSELVES = frozenset(r"""^$\.*+?()[]{}|/-_ #'"@%&~`:;=,!""")
_DOT = invert(single("\n"))
_LAST_ASCII = 0x7F


class UnsupportedPattern(ValueError):  # noqa: N818 - an outcome that its callers plan for
    """No automaton can hold the pattern, or ours does not; the message says what stands in the way."""


class Edge(Enum):
    START = "^"
    END = "$"


class Mode(Enum):
    """In what a pattern may be meant otherwise than those of schemas."""

    ANY_CASE = "any case"
    DOT_IS_ALL = "dot is all"
    GREEDY = "greedy"
    """What ends a lazy repeat is not only a matter of the text that is found: there may be none."""


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of these."""

    charset: Charset


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple["Part", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    branches: tuple["Part", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: "Part"
    least: int
    most: int | None


Part = Characters | Sequence | Choice | Repeat | Edge


def parse(pattern: str, properties: Properties, modes: Collection[Mode] = ()) -> Part:
    """Read a pattern; raises `UnsupportedPattern`."""
    reader = _Reader(pattern, properties, modes)
    part = reader.choice(0)
    if not reader.at_end:
        raise UnsupportedPattern("the pattern has a parenthesis too many")
    return part


def widen(part: Part, *, counted: int) -> Part:
    """A pattern that finds the same and more: repeats that count beyond `counted` count no more."""
    match part:
        case Sequence(parts):
            return Sequence(tuple(widen(inner, counted=counted) for inner in parts))
        case Choice(branches):
            return Choice(tuple(widen(inner, counted=counted) for inner in branches))
        case Repeat(inner, least, most):
            inner = widen(inner, counted=counted)
            if max(least, most or 0) > counted:
                return Repeat(inner, min(least, 1), None)
            return Repeat(inner, least, most)
    return part


class _Reader:
    def __init__(self, pattern: str, properties: Properties, modes: Collection[Mode]) -> None:
        self._text = pattern
        self._at = 0
        self._properties = properties
        self._modes = modes

    @property
    def at_end(self) -> bool:
        return self._at == len(self._text)

    def choice(self, depth: int) -> Part:
        if depth > _MAX_DEPTH:
            raise UnsupportedPattern("the groups of the pattern are nested too deeply")
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self, depth: int) -> Part:
        parts = []
        while not self.at_end and self._text[self._at] not in "|)":
            parts.append(self._quantified(self._atom(depth)))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _atom(self, depth: int) -> Part:
        character = self._next()
        if character == "(":
            return self._group(depth)
        if character == "[":
            return Characters(self._class())
        if character == ".":
            return Characters(ANY_CHARACTER if Mode.DOT_IS_ALL in self._modes else _DOT)
        if character in "^$":
            return Edge(character)
        if character == "\\":
            charset = self._escape()
            return Characters(self._cased(charset) if size_of(charset) == 1 else charset)
        if character in "*+?{":
            raise UnsupportedPattern(f"the pattern has a {character} that repeats nothing")
        return Characters(self._cased(_literal(character)))

    def _group(self, depth: int) -> Part:
        if self._take("?") and not self._take(":"):
            self._take("P")
            if not self._take("<") or self._peek() in ("=", "!"):
                raise UnsupportedPattern("the mask does not hold lookaround or flags")
            while self._next() != ">":
                pass
        part = self.choice(depth + 1)
        if not self._take(")"):
            raise UnsupportedPattern("a group of the pattern has no end")
        return part

    def _quantified(self, part: Part) -> Part:
        bounds = self._bounds()
        if bounds is None:
            return part
        if isinstance(part, Edge):
            raise UnsupportedPattern("the pattern repeats an anchor")
        # A lazy repeat finds the same texts.
        if self._take("?") and Mode.GREEDY in self._modes:
            raise UnsupportedPattern("the mask does not hold lazy repeats: say what the text goes on until")
        if self._peek() in ("*", "+", "?", "{"):
            raise UnsupportedPattern("the pattern repeats a repeat")
        return Repeat(part, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        if not self._take("{"):
            return None
        least = self._number()
        most: int | None = least
        if self._take(","):
            most = None if self._peek() == "}" else self._number()
        if not self._take("}") or (most is not None and most < least):
            raise UnsupportedPattern("a count of the pattern is malformed")
        return least, most

    def _number(self) -> int:
        start = self._at
        while self._peek() in tuple("0123456789"):
            self._at += 1
        if not 0 < self._at - start < 8:
            raise UnsupportedPattern("a count of the pattern is malformed")
        return int(self._text[start : self._at])

    def _class(self) -> Charset:
        inverted = self._take("^")
        if self._peek() == "]":
            raise UnsupportedPattern("the pattern has an empty class")
        parts: list[Charset] = []
        while not self._take("]"):
            first = self._class_member()
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                parts.append(_range(first, self._class_member()))
            else:
                parts.append(first)
        charset = self._cased(union(*parts))
        return invert(charset) if inverted else charset

    def _cased(self, charset: Charset) -> Charset:
        if Mode.ANY_CASE not in self._modes:
            return charset
        if charset[-1][1] > _LAST_ASCII:
            raise UnsupportedPattern("the mask knows the cases of ASCII letters only")
        return with_cases(charset)

    def _class_member(self) -> Charset:
        character = self._next()
        return self._escape() if character == "\\" else _literal(character)

    def _escape(self) -> Charset:
        letter = self._next()
        if letter.lower() in _SETS:
            charset = _SETS[letter.lower()]
            return charset if letter.islower() else invert(charset)
        if letter in "pP":
            charset = self._property()
            return charset if letter == "p" else invert(charset)
        if letter in _CONTROLS:
            return single(_CONTROLS[letter])
        if letter == "c":
            return self._control()
        if letter == "x":
            return self._code(self._digits(2))
        if letter == "u":
            return self._code(self._until("}") if self._take("{") else self._digits(4))
        if letter in _THEMSELVES:
            return single(letter)
        raise UnsupportedPattern(rf"the mask does not hold \{letter} in a pattern")

    def _control(self) -> Charset:
        letter = self._next()
        if not (letter.isascii() and letter.isalpha()):
            raise UnsupportedPattern(rf"the mask does not hold \c{letter} in a pattern")
        return single(chr(ord(letter) % 32))

    def _property(self) -> Charset:
        name = self._until("}") if self._take("{") else self._next()
        charset = self._properties(name)
        if charset is None:
            raise UnsupportedPattern(rf"the mask does not know \p{{{name}}}")
        return charset

    def _code(self, digits: str) -> Charset:
        if not digits or len(digits) > 6 or set(digits) - set("0123456789abcdefABCDEF"):
            raise UnsupportedPattern("an escape of the pattern is malformed")
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise UnsupportedPattern("an escape of the pattern is malformed")
        return _literal(chr(code))

    def _digits(self, count: int) -> str:
        return "".join(self._next() for _ in range(count))

    def _until(self, end: str) -> str:
        start = self._at
        while self._next() != end:
            pass
        return self._text[start : self._at - 1]

    def _peek(self) -> str | None:
        return None if self.at_end else self._text[self._at]

    def _take(self, text: str) -> bool:
        taken = self._peek() == text
        self._at += taken
        return taken

    def _next(self) -> str:
        if self.at_end:
            raise UnsupportedPattern("the pattern has no end")
        self._at += 1
        return self._text[self._at - 1]


def _literal(character: str) -> Charset:
    if "\ud800" <= character <= "\udfff":
        raise UnsupportedPattern("the pattern has half of a surrogate pair")
    return single(character)


def _range(first: Charset, last: Charset) -> Charset:
    ends = [
        charset[0][0] for charset in (first, last) if len(charset) == 1 and charset[0][0] == charset[0][1]
    ]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise UnsupportedPattern("a range of the pattern is malformed")
    # What lies between may include the surrogates, which are no characters.
    return invert(invert(((ends[0], ends[1]),)))
