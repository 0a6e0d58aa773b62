r"""What a mask costs to compile, estimated from its structural tag in one pass over its text.

estimate('{"type": "structural_tag", "format": {"type": "regex", "pattern": "[a-z]{1,200}"}}')    # 600 or so

XGrammar tries every token of the vocabulary at every state of a rule. Literals rule nearly all tokens out at
once; a class of characters lets many live, and one of nearly all characters most of them.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from os.path import commonprefix
from typing import Any

PER_CHARACTER = 0.002
"""Milliseconds for a character of the text, literals and all."""
SMALL_CLASS = 0.2
"""For each time that a class without the letters of words is gone through, such as `[0-9A-F]`."""
NARROW_CLASS = 3.0
"""For each time that a class of letters is gone through, such as `[a-z]`."""
WIDE_CLASS = 30.0
"""For each time that a class of nearly all characters is gone through."""
AGAIN = 0.6
"""The part of its cost that a rule has which is spelled as one before it, the names of other rules aside:
XGrammar remembers what it has compiled, by structure, but they may differ further down."""
COUNTED = 60
"""Repeats of a class that cost; XGrammar does not write more of them out, nor those of a group."""
PER_STATE_SQUARED = 1.9e-7
"""For the states of the literals of one rule, squared: XGrammar compares each with the others."""
PER_ENTRY = 0.003
"""For each rule that may begin where a rule does, as of many optional keys each may be the next."""
MANY = 1_000
"""From so many rules on that may begin in one place, XGrammar is slower with each."""
PER_ENTRY_OF_MANY = 0.016
SCHEMA_CHARACTER = 1.0
"""Milliseconds for a character of a JSON Schema that XGrammar itself converts."""

_PARTS = (
    r"(?P<class>\[\]?(?:\\.|[^\]\\])*(?:\]|\Z))|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}"
    r"|(?P<open>\()|(?P<close>\))|(?P<name>[A-Za-z_]\w*)|\\.|."
)
_IN_PATTERN = re.compile(_PARTS, re.DOTALL)
_IN_GRAMMAR = re.compile(rf'"(?:\\.|[^"\\])*(?:"|\Z)|{_PARTS}', re.DOTALL)
_CLASSES = {
    r"\w": NARROW_CLASS,
    **dict.fromkeys((r"\d", r"\s"), SMALL_CLASS),
    **dict.fromkeys((".", r"\D", r"\W", r"\S"), WIDE_CLASS),
}
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
_FIRST_NAMES = re.compile(r"(?:^|\| )([A-Za-z_]\w*)")
"""The rules that the alternatives of a rule begin with."""
_LETTERS = re.compile(r"[A-Ma-m]-[N-Zn-z]")
_WIDE = re.compile(r"\[\^|\\U|\\ud7ff")


@dataclass(frozen=True, slots=True)
class Costs:
    """What is to be compiled, in milliseconds: of the rules each, with its shape, and of all else."""

    rules: tuple[tuple[float, str], ...]
    other: float

    def sum(self, known: Collection[str] = ()) -> float:
        """All of it, if the compiler has met rules of the shapes in `known` before; see `shapes`."""
        met: set[str] = set()
        total = self.other
        for cost, shape in self.rules:
            again = AGAIN if shape in met else 1.0
            total += 0.0 if shape in known else cost * again
            met.add(shape)
        return total


def costs(tag: str) -> Costs:
    """What it takes to compile a structural tag with a large vocabulary, to within a factor of a few."""
    rules: list[tuple[float, str]] = []
    other = 0.0
    for kind, text in _texts(json.loads(tag)):
        other += len(text) * PER_CHARACTER
        if kind == "grammar":
            other += sum(map(entry_cost, entries(text)))
            rules += _rules(text)
        elif kind == "pattern":
            other += _expression(text, _IN_PATTERN)[0] + len(text) ** 2 * PER_STATE_SQUARED
        elif kind == "json_schema":
            other += len(text) * SCHEMA_CHARACTER
        elif kind == "value":
            other += len(text) ** 2 * PER_STATE_SQUARED
    return Costs(tuple(rules), other)


def estimate(tag: str, known: Collection[str] = ()) -> float:
    """Milliseconds to compile a structural tag; see `costs`."""
    return costs(tag).sum(known)


def entry_cost(count: int) -> float:
    """Milliseconds for a place where so many rules may begin."""
    return count * (PER_ENTRY if count <= MANY else PER_ENTRY_OF_MANY)


def entries(grammar: str) -> Iterator[int]:
    """How many rules may begin where each rule does, if rules come behind those that they refer to."""
    known: dict[str, int] = {}
    for line in grammar.splitlines():
        name, _, body = line.partition(" ::= ")
        found = 1
        for first in _FIRST_NAMES.findall(body):
            found += known.get(first, 0)
        known[name] = found
        yield found


def shapes(tag: str) -> frozenset[str]:
    """How the rules of a structural tag are spelled, the names of other rules aside."""
    grammars = (text for kind, text in _texts(json.loads(tag)) if kind == "grammar")
    return frozenset(shape for text in grammars for _, shape in _rules(text))


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Each text of a tag, with the key that it stands under."""
    pending = [value]
    while pending:
        part = pending.pop()
        for key, inner in part.items() if isinstance(part, dict) else enumerate(part):
            if key == "json_schema":
                yield key, json.dumps(inner)
            elif isinstance(inner, str):
                yield str(key), inner
            elif isinstance(inner, dict | list):
                pending.append(inner)


def _rules(grammar: str) -> Iterator[tuple[float, str]]:
    for line in grammar.splitlines():
        body = line.partition("::=")[2]
        cost, shape = _expression(body, _IN_GRAMMAR)
        yield cost + states_of(_LITERAL.findall(body)) ** 2 * PER_STATE_SQUARED, shape


def states_of(literals: Iterable[str]) -> int:
    """How many states it takes to read one of the literals: what they begin with together is read once."""
    texts = sorted(_ESCAPE.sub("?", literal) for literal in literals)
    # Character by character is what is wanted.
    shared = (len(commonprefix(pair)) for pair in pairwise(texts))  # noqa: RUF071
    return sum(map(len, texts)) - sum(shared)


def _expression(body: str, tokens: re.Pattern[str]) -> tuple[float, str]:
    """The cost of the classes in an expression, counts multiplied, and its spelling without names."""
    groups = [0.0]
    last = 0.0
    is_group = False
    shape: list[str] = []
    for token in tokens.finditer(body):
        shape.append("@" if token["name"] else token[0])
        if token["least"]:
            count = 1 if is_group else min(int((token["most"] or token["least"])[:9]), COUNTED)
            groups[-1] += last * (max(count, 1) - 1)
            last, is_group = 0.0, False
            continue
        last, is_group = 0.0, token["close"] is not None
        if token["open"]:
            groups.append(0.0)
        elif token["close"] and len(groups) > 1:
            last = groups.pop()
        elif token["class"]:
            last = _class_cost(token[0])
        elif tokens is _IN_PATTERN and token[0] in _CLASSES:
            last = _CLASSES[token[0]]
        groups[-1] += last
    return sum(groups), "".join(shape)


def _class_cost(characters: str) -> float:
    if _WIDE.search(characters):
        return WIDE_CLASS
    return NARROW_CLASS if _LETTERS.search(characters) else SMALL_CLASS
