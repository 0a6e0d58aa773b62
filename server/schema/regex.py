r"""ECMA-262 patterns as EBNF over JSON text.

A pattern is searched for in the value; the EBNF is what stands between the quotes of the JSON text. So `"$`
(a value that ends in a quote) becomes `[…]* "\u005c\u0022"`: anything, then a backslash and a quote, where
`…` is every character that JSON leaves unescaped. A translation never allows text that is not JSON; it may
allow less than the pattern (wide classes lose the characters that JSON escapes) or, where it says so, more.

XGrammar's own regex converter is not used: it writes a literal quote raw, matches the whole value, ignores
lookahead, and takes `a(b[0-9]+)?c` to allow `a1c`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

# Python's own parser of patterns, which has no public name; there since 3.11.
op: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

Intervals = tuple[tuple[int, int], ...]
"""Code points as closed ranges, sorted and apart."""

MAX_PATTERN = 2_000
"""Characters of a pattern; longer ones are checked afterwards."""
MAX_WIDE_REPEAT = 16
"""Counted repeats of wide classes cost the mask up to 40 ms a token above about this count."""
MAX_REPEAT = 256
MAX_STATES = 4_000
"""Characters of the pattern once its counted repeats are written out."""
WIDE = 1_000
"""A class of more code points than this is wide: it is not worth an escape for each."""

_LAST = 0x10FFFF
_ESCAPED = {0x22: '"', 0x5C: "\\", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
_DIGIT: Intervals = ((48, 57),)
_WORD: Intervals = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Intervals = (
    (9, 13),
    (32, 32),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)


class UntranslatableError(ValueError):
    """The mask cannot hold this pattern; the message says what stands in the way."""


@dataclass(frozen=True, slots=True)
class Translation:
    """`ebnf` is one expression. `shortest` and `longest` count characters of the value."""

    ebnf: str
    exact: bool
    """False if `ebnf` allows strings that the pattern does not."""
    shortest: int
    longest: int | None


def invert(ranges: Intervals) -> Intervals:
    gaps, start = [], 0
    for low, high in ranges:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    return (*gaps, (start, _LAST)) if start <= _LAST else tuple(gaps)


def _union(ranges: Iterable[tuple[int, int]]) -> Intervals:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


_PLAIN = invert(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0xD800, 0xDFFF)))
"""What JSON text may say as it is."""
_NEWLINES: Intervals = ((10, 10), (13, 13), (0x2028, 0x2029))
_CATEGORIES: dict[Any, Intervals] = {
    op.CATEGORY_DIGIT: _DIGIT,
    op.CATEGORY_NOT_DIGIT: invert(_DIGIT),
    op.CATEGORY_WORD: _WORD,
    op.CATEGORY_NOT_WORD: invert(_WORD),
    op.CATEGORY_SPACE: _SPACE,
    op.CATEGORY_NOT_SPACE: invert(_SPACE),
}


def _intersection(one: Intervals, two: Intervals) -> Intervals:
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in two)
    return tuple((low, high) for low, high in pairs if low <= high)


def _char(code: int) -> str:
    r"""One code point; XGrammar's `\x` would swallow every hex digit that follows it."""
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _class(ranges: Intervals) -> str:
    members = (_char(a) if a == b else f"{_char(a)}-{_char(b)}" for a, b in ranges)
    return f"[{''.join(members)}]"


ANY = f"{_class(_PLAIN)}*"
"""Any string without escapes."""


def translate(pattern: str) -> Translation:
    r"""Translate a pattern, which is found anywhere in the value unless it is anchored.

    Raises `UntranslatableError`: lookaround, back references, `\b`, `\p{…}`, anchors inside, over size.
    """
    if len(pattern) > MAX_PATTERN:
        raise UntranslatableError(f"the pattern is longer than {MAX_PATTERN:,} characters")
    try:
        tree = parser.parse(_pythonic(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise UntranslatableError(f"the mask cannot read the pattern ({error})") from None
    if tree.state.flags & ~re.UNICODE.value:
        raise UntranslatableError("the mask cannot hold a pattern with flags")
    return _Writer().whole(list(tree))


def _pythonic(pattern: str) -> str:
    r"""Respell the few constructs that Python's parser reads otherwise than ECMA-262."""
    if re.search(r"(?<!\\)(\\\\)*\\[AZaBbpPkNUz]|\(\?[#PimsxLau>]|\(\?\(", pattern):
        raise UntranslatableError("the pattern uses a construct that the mask cannot hold")
    pattern = re.sub(r"\(\?<(?![=!])", "(?P<", pattern)
    pattern = pattern.replace("[^]", r"[\s\S]").replace("[]", r"[^\s\S]")
    pattern = re.sub(r"\\u\{([0-9a-fA-F]{1,6})\}", lambda m: f"\\U{int(m[1], 16):08x}", pattern)
    pattern = re.sub(r"\\c([A-Za-z])", lambda m: f"\\x{ord(m[1]) % 32:02x}", pattern)
    return pattern.replace("\\/", "/")


class _Writer:
    """Writes one parsed pattern; `exact` is lost where a repeat had to be widened."""

    def __init__(self) -> None:
        self.exact = True
        self._written = 0

    def whole(self, tree: list[Any]) -> Translation:
        branches = [tree]
        if len(tree) == 1 and tree[0][0] is op.BRANCH:
            branches = [list(branch) for branch in tree[0][1][1]]
        texts, shortest, longest = [], [], []
        for branch in branches:
            text, low, high = self._anchored(branch)
            texts.append(text)
            shortest.append(low)
            longest.append(high)
        most = None if None in longest else max(high for high in longest if high is not None)
        body = texts[0] if len(texts) == 1 else f"({' | '.join(texts)})"
        return Translation(body, self.exact, min(shortest), most)

    def _anchored(self, branch: list[Any]) -> tuple[str, int, int | None]:
        begins = bool(branch) and branch[0] == (op.AT, op.AT_BEGINNING)
        branch = branch[1:] if begins else branch
        ends = bool(branch) and branch[-1] == (op.AT, op.AT_END)
        branch = branch[:-1] if ends else branch
        text, low, high = self._sequence(branch)
        bounded = begins and ends
        edges = f"{'' if begins else ANY} {text} {'' if ends else ANY}"
        return edges.strip(), low, high if bounded else None

    def _sequence(self, tree: Iterable[Any]) -> tuple[str, int, int | None]:
        pieces, low = [], 0
        longest: int | None = 0
        for code, argument in tree:
            piece, least, most = self._piece(code, argument)
            pieces.append(piece)
            low += least
            longest = None if longest is None or most is None else longest + most
        return " ".join(pieces) or '""', low, longest

    def _piece(self, code: Any, argument: Any) -> tuple[str, int, int | None]:
        if code in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            return self._characters(_members(code, argument)), 1, 1
        if code is op.SUBPATTERN:
            _, add, remove, tree = argument
            if add or remove:
                raise UntranslatableError("the mask cannot hold a pattern with flags")
            text, low, high = self._sequence(tree)
            return f"({text})", low, high
        if code is op.BRANCH:
            parts = [self._sequence(tree) for tree in argument[1]]
            highs = [high for _, _, high in parts]
            most = None if None in highs else max(high for high in highs if high is not None)
            return f"({' | '.join(text for text, _, _ in parts)})", min(low for _, low, _ in parts), most
        if code in (op.MAX_REPEAT, op.MIN_REPEAT):
            return self._repeat(*argument)
        raise UntranslatableError(f"the mask cannot hold {str(code).lower()} in a pattern")

    def _characters(self, ranges: Intervals) -> str:
        plain = _intersection(ranges, _PLAIN)
        options = [_class(plain)] if plain else []
        if sum(high - low + 1 for low, high in ranges) <= WIDE:
            options += [
                f'"{_char(0x5C)}{_char(ord(short))}"'
                for code, short in _ESCAPED.items()
                if any(low <= code <= high for low, high in ranges)
            ]
        if not options:
            raise UntranslatableError("the pattern needs characters that the mask does not write")
        self._spend(1)
        return options[0] if len(options) == 1 else f"({' | '.join(options)})"

    def _repeat(self, least: int, most: Any, tree: Any) -> tuple[str, int, int | None]:
        before = self._written
        text, low, high = self._sequence(tree)
        cost = self._written - before
        limit = MAX_WIDE_REPEAT if any(map(_is_wide, tree)) else MAX_REPEAT
        endless = most is op.MAXREPEAT
        if (least if endless else most) > limit:
            self.exact, endless, least = False, True, min(least, 1)
        self._spend(cost * max((least if endless else most) - 1, 0))
        longest = None if endless or high is None else high * most
        count = f"{least}," if endless else f"{least},{most}"
        spelled = {"0,": "*", "1,": "+", "0,1": "?"}.get(count, f"{{{count}}}")
        return f"({text}){spelled}", low * least, longest

    def _spend(self, states: int) -> None:
        self._written += states
        if self._written > MAX_STATES:
            raise UntranslatableError("the pattern is too large once its repeats are written out")


def _is_wide(piece: Any) -> bool:
    code, argument = piece
    if code is op.SUBPATTERN:
        return any(map(_is_wide, argument[3]))
    if code not in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
        return False
    return sum(high - low + 1 for low, high in _members(code, argument)) > WIDE


def _members(code: Any, argument: Any) -> Intervals:
    if code is op.LITERAL:
        return ((argument, argument),)
    if code is op.NOT_LITERAL:
        return invert(((argument, argument),))
    if code is op.ANY:
        return invert(_NEWLINES)
    negated, ranges = False, []
    for kind, value in argument:
        if kind is op.NEGATE:
            negated = True
        elif kind is op.LITERAL:
            ranges.append((value, value))
        elif kind is op.RANGE:
            ranges.append(value)
        else:
            ranges.extend(_CATEGORIES[value])
    members = _union(ranges)
    return invert(members) if negated else members
