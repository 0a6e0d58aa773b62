r"""Pieces of XGrammar's EBNF, written so that they mean what they say.

literal('"a"')                       # '"\"a\""'
characters(((97, 122),))             # '[a-z]'
characters(((0x60, 0x60),))          # '[\u0060]'

`\x` takes as many hexadecimal digits as follow, so characters are written by four or eight digits only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from server.schema.automata.automaton import Charset


def literal(text: str) -> str:
    """Exactly this text."""
    return f'"{"".join(map(_in_literal, text))}"'


def characters(charset: Charset) -> str:
    """Any one of the characters."""
    return "[" + "".join(map(_range, charset)) + "]"


def _in_literal(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if " " <= character <= "~" else _by_number(ord(character))


def _range(bounds: tuple[int, int]) -> str:
    first, last = map(_in_class, bounds)
    return first if first == last else f"{first}-{last}"


def _in_class(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else _by_number(code)


def _by_number(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


@dataclass(frozen=True, slots=True)
class Fixed:
    """Text that is always the same."""

    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """What the rule of this name allows."""

    name: str


Expression = tuple[Fixed | Rule, ...]
"""One thing after the other."""


def fixed(text: str) -> Expression:
    return (Fixed(text),) if text else ()


def sequence(*expressions: Expression) -> Expression:
    """The expressions one after the other. Fixed texts that meet become one."""
    parts: list[Fixed | Rule] = []
    for part in (part for expression in expressions for part in expression):
        last = parts[-1] if parts else None
        if isinstance(part, Fixed) and isinstance(last, Fixed):
            parts[-1] = Fixed(last.text + part.text)
        else:
            parts.append(part)
    return tuple(parts)


def written(expression: Expression) -> str:
    """The EBNF of an expression."""
    parts = (literal(part.text) if isinstance(part, Fixed) else part.name for part in expression)
    return " ".join(parts) or '""'


def alternatives(expressions: Sequence[Expression]) -> str:
    """The EBNF of any one of the expressions."""
    return " | ".join(dict.fromkeys(map(written, expressions)))
