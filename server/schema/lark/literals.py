r"""Strings, regular expressions and ranges of a Lark grammar, as parts of patterns.

string_part('"a\n"i')      # Sequence((Characters(a, A), Characters(line feed)))
regexp_part("/[a-z]+/i")   # Repeat(Characters(a-z, A-Z), 1, None)
range_part('"a"', '"f"')   # Characters(a-f)
"""

import re
from collections.abc import Iterator

from server.schema.automata.charsets import invert, single, with_cases
from server.schema.automata.pattern import (
    Characters,
    Choice,
    Edge,
    Mode,
    Part,
    Properties,
    Repeat,
    Sequence,
    UnsupportedPattern,
    parse,
)
from server.schema.lark.syntax import UnsupportedGrammar

NOTHING = Sequence(())

_CHARACTER = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U(00[0-9A-Fa-f]{6}))|\\(.)|[^\\]", re.DOTALL
)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", '"': '"', "\\": "\\", "/": "/", "'": "'"}
_FLAGS = {"i": Mode.ANY_CASE, "s": Mode.DOT_IS_ALL}


def string_part(token: str) -> Part:
    """Exactly this text; in either case with the flag `i`."""
    text = "".join(_characters(token.rstrip("i")))
    charsets = [single(character) for character in text]
    if token.endswith("i"):
        if not text.isascii():
            raise UnsupportedGrammar(f"{token[:60]}: the mask knows the cases of ASCII letters only")
        charsets = [with_cases(charset) for charset in charsets]
    return Sequence(tuple(map(Characters, charsets)))


def range_part(first: str, last: str) -> Part:
    """One of the characters between two, these included."""
    ends = ["".join(_characters(token)) for token in (first, last)]
    if any(len(end) != 1 for end in ends) or ends[0] > ends[1]:
        raise UnsupportedGrammar(f'the range {first}..{last} is not of two characters in order, as "a".."z"')
    # What lies between may include the surrogates, which are no characters.
    return Characters(invert(invert(((ord(ends[0]), ord(ends[1])),))))


def regexp_part(token: str, properties: Properties) -> Part:
    """What a regular expression matches as a whole."""
    pattern, _, flags = token[1:].rpartition("/")
    if unknown := set(flags) - _FLAGS.keys():
        raise UnsupportedGrammar(
            f"the flag {min(unknown)!r} of a regular expression is not held: only 'i' and 's' are"
        )
    try:
        part = parse(pattern, properties, {Mode.GREEDY, *(_FLAGS[flag] for flag in flags)})
    except UnsupportedPattern as fault:
        raise UnsupportedGrammar(f"the regular expression {token[:60]}: {fault}") from None
    if _has_edge(part):
        raise UnsupportedGrammar(
            f"the regular expression {token[:60]} has an anchor: a terminal is matched as a whole, without it"
        )
    return part


def _characters(token: str) -> Iterator[str]:
    for found in _CHARACTER.finditer(token[1:-1]):
        code = int(found[1] or found[2] or found[3] or "0", 16)
        if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF or (found[4] or "n") not in _SHORT:
            raise UnsupportedGrammar(f"{found[0]} in a string stands for no character")
        if found[4]:
            yield _SHORT[found[4]]
        else:
            yield chr(code) if found.lastindex else found[0]


def _has_edge(part: Part) -> bool:
    match part:
        case Edge():
            return True
        case Sequence(parts) | Choice(parts):
            return any(map(_has_edge, parts))
        case Repeat(inner):
            return _has_edge(inner)
    return False


def size_of(part: Part) -> int:
    """How many characters a part is written of, its repeats written out."""
    match part:
        case Sequence(parts) | Choice(parts):
            return sum(map(size_of, parts)) + 1
        case Repeat(inner, least, most):
            return size_of(inner) * max(least + 1 if most is None else most, 1)
    return 1
