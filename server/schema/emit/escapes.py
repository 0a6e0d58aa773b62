r"""How the characters of text are written, one by one.

forms(ANY_CHARACTER, Escapes.JSON)    # ('[ !#-[\u005d-…]', '"\\" (["\\/bfnrt] | "u" …)')

Every character of a set can be written, and nothing else can: what a string may not hold, it may not hold
in escapes either.
"""

from parsers.spelling import Escapes
from server.schema.automata.automaton import ANY_CHARACTER, Charset
from server.schema.emit.ebnf import characters, literal

_BARE_IN_JSON: Charset = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, 0x10FFFF))
_SHORT_IN_JSON = {0x22: '"', 0x5C: "\\", 0x2F: "/", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
_LAST_CONTROL = 0x1F
_WIDE: Charset = ((0x100, 0xD7FF), (0xE000, 0x10FFFF))
"""What is worth an escape of its own only where all of it is allowed."""

_HEX = "[0-9A-Fa-f]"
_PAIR = rf'"u" [Dd] [89ABab] {_HEX} {_HEX} "\\u" [Dd] [C-Fc-f] {_HEX} {_HEX}'
"""A surrogate is no character by itself."""
_ALONE = rf'"u" ([0-9A-CEFa-cef] {_HEX} | [Dd] [0-7]) {_HEX} {_HEX}'
_ALONE_AND_WIDE = rf'"u" ([1-9A-CEFa-cef] {_HEX} | "0" [1-9A-Fa-f] | [Dd] [0-7]) {_HEX} {_HEX}'


def forms(charset: Charset, escapes: Escapes) -> tuple[str, ...]:
    """The EBNF of each way to write one of the characters, as itself and behind a backslash."""
    match escapes:
        case Escapes.NONE:
            return (characters(charset),)
        case Escapes.JSON:
            bare = common(charset, _BARE_IN_JSON)
            behind = _behind_backslash(charset)
            escaped = (f"{literal(chr(0x5C))} ({' | '.join(behind)})",) if behind else ()
            return ((characters(bare),) if bare else ()) + escaped


def _behind_backslash(charset: Charset) -> list[str]:
    if charset == ANY_CHARACTER:
        return [_shorts(list(_SHORT_IN_JSON)), _ALONE, _PAIR]
    ways = []
    if short := [code for code in _SHORT_IN_JSON if common(charset, ((code, code),))]:
        ways.append(_shorts(short))
    controls = common(charset, ((0, _LAST_CONTROL),))
    for half in (0, 1):
        digits = [
            code & 0xF
            for code in range(half << 4, (half + 1) << 4)
            if code not in _SHORT_IN_JSON and common(controls, ((code, code),))
        ]
        if digits:
            ways.append(f'"u00{half}" {_hexadecimal(digits)}')
    if common(charset, _WIDE) == _WIDE:
        ways += [_ALONE_AND_WIDE, _PAIR]
    return ways


def _shorts(codes: list[int]) -> str:
    return characters(tuple((code, code) for code in sorted(ord(_SHORT_IN_JSON[code]) for code in codes)))


def _hexadecimal(digits: list[int]) -> str:
    both_cases = {case for digit in digits for case in (f"{digit:x}", f"{digit:X}")}
    return characters(tuple((ord(digit), ord(digit)) for digit in sorted(both_cases)))


def common(one: Charset, other: Charset) -> Charset:
    """The characters that are in both sets."""
    found, at = [], 0
    for first, last in one:
        while at < len(other) and other[at][1] < first:
            at += 1
        for low, high in other[at:]:
            if low > last:
                break
            found.append((max(first, low), min(last, high)))
    return tuple(found)
