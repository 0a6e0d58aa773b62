r"""The tokens of Lark's syntax.

tokens_of('start: "a" // b')     # [Token(NAME, "start", …), Token(SIGN, ":", …), Token(STRING, '"a"', …), …]
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from server.schema.lark.syntax import UnsupportedGrammar


class Kind(Enum):
    NAME = "name"
    STRING = "string"
    REGEXP = "regular expression"
    NUMBER = "number"
    DIRECTIVE = "directive"
    SIGN = "sign"
    LINE = "end of the line"
    END = "end of the grammar"


_TOKENS = re.compile(
    r"""
    (?P<space>[ \t]+ | //[^\n]* | \#[^\n]* | \\[ ]*\n)
    | (?P<LINE>(?:\r?\n)+)
    | (?P<STRING>"(?:\\.|[^"\\\n])*"i?)
    | (?P<REGEXP>/(?:\\.|[^/\\\n])+/[a-z]*)
    | (?P<NAME>_*(?:[a-z][a-z0-9_]*|[A-Z][A-Z0-9_]*))
    | (?P<NUMBER>[+-]?[0-9]+)
    | (?P<DIRECTIVE>%[a-z]+)
    | (?P<SIGN>->|\.\.|[:|()\[\]{}?!*+~.,])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    line: int

    def __str__(self) -> str:
        named = self.kind in (Kind.LINE, Kind.END)
        return f"the {self.kind.value}" if named else self.text[:40]


def tokens_of(definition: str) -> Iterator[Token]:
    """The tokens of a grammar, without spaces and comments. Raises `UnsupportedGrammar`."""
    at, line = 0, 1
    while at < len(definition):
        found = _TOKENS.match(definition, at)
        if found is None:
            raise UnsupportedGrammar(f"line {line}: nothing in Lark begins with {definition[at : at + 10]!r}")
        if found.lastgroup != "space":
            yield Token(Kind[found.lastgroup or "END"], found[0], line)
        line += found[0].count("\n")
        at = found.end()
    yield Token(Kind.END, "", line)
