r"""How the characters of text are written, one by one.

forms(ANY_CHARACTER, JSON.text)    # ('[ !#-[\u005d-…]', '"\\" (["\\/bfnrt] | "u" …)')

Every character of a set can be written, and nothing else can: what a string may not hold, it may not hold
in escapes either.
"""

from collections.abc import Iterable

from parsers.spelling import Escapes, TextForm
from server.schema.automata.automaton import ANY_CHARACTER, Charset
from server.schema.automata.charsets import common, invert
from server.schema.emit.ebnf import characters, literal

_BARE_IN_JSON: Charset = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, 0x10FFFF))
_SHORT_IN_JSON = {0x22: '"', 0x5C: "\\", 0x2F: "/", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
_SHORT_IN_LITERALS = {0x5C: "\\", 0x0A: "n", 0x0D: "r", 0x09: "t"}
_ENTITIES = {"&": "&amp;", '"': "&quot;"}
_LAST_CONTROL = 0x1F
_WIDE: Charset = ((0x100, 0xD7FF), (0xE000, 0x10FFFF))
"""What is worth an escape of its own only where all of it is allowed."""

_HEX = "[0-9A-Fa-f]"
_PAIR = rf'"u" [Dd] [89ABab] {_HEX} {_HEX} "\\u" [Dd] [C-Fc-f] {_HEX} {_HEX}'
"""A surrogate is no character by itself."""
_ALONE = rf'"u" ([0-9A-CEFa-cef] {_HEX} | [Dd] [0-7]) {_HEX} {_HEX}'
_ALONE_AND_WIDE = rf'"u" ([1-9A-CEFa-cef] {_HEX} | "0" [1-9A-Fa-f] | [Dd] [0-7]) {_HEX} {_HEX}'


def forms(charset: Charset, form: TextForm) -> tuple[str, ...]:
    """The EBNF of each way to write one of the characters: as itself, and in place of itself."""
    match form.escapes:
        case Escapes.NONE:
            return (characters(charset),)
        case Escapes.JSON:
            return _with_backslash(common(charset, _BARE_IN_JSON), _behind_backslash(charset))
        case Escapes.LITERAL:
            short = {ord(form.end): form.end} | _SHORT_IN_LITERALS
            bare = common(charset, invert(tuple((code, code) for code in sorted({*short} - {0x09}))))
            found = [letter for code, letter in short.items() if _has(charset, code)]
            return _with_backslash(bare, [_any_of(found)] if found else [])
        case Escapes.ENTITY:
            bare = common(charset, invert(tuple((ord(char), ord(char)) for char in _ENTITIES)))
            named = tuple(literal(name) for char, name in _ENTITIES.items() if _has(charset, ord(char)))
            return ((characters(bare),) if bare else ()) + named


def _with_backslash(bare: Charset, behind: list[str]) -> tuple[str, ...]:
    escaped = (f"{literal(chr(0x5C))} ({' | '.join(behind)})",) if behind else ()
    return ((characters(bare),) if bare else ()) + escaped


def _has(charset: Charset, code: int) -> bool:
    return bool(common(charset, ((code, code),)))


def _behind_backslash(charset: Charset) -> list[str]:
    if charset == ANY_CHARACTER:
        return [_any_of(_SHORT_IN_JSON.values()), _ALONE, _PAIR]
    ways = []
    if short := [letter for code, letter in _SHORT_IN_JSON.items() if _has(charset, code)]:
        ways.append(_any_of(short))
    controls = common(charset, ((0, _LAST_CONTROL),))
    for half in (0, 1):
        digits = [
            code & 0xF
            for code in range(half << 4, (half + 1) << 4)
            if code not in _SHORT_IN_JSON and _has(controls, code)
        ]
        if digits:
            ways.append(f'"u00{half}" {_hexadecimal(digits)}')
    if common(charset, _WIDE) == _WIDE:
        ways += [_ALONE_AND_WIDE, _PAIR]
    return ways


def _any_of(letters: Iterable[str]) -> str:
    return characters(tuple((ord(letter), ord(letter)) for letter in sorted(letters)))


def _hexadecimal(digits: list[int]) -> str:
    return _any_of({case for digit in digits for case in (f"{digit:x}", f"{digit:X}")})
