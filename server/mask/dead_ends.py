r"""Whether a grammar lets an answer begin that it does not let go on: the engine fails on a mask of nothing.

has_dead_end(xgrammar.Grammar.from_regex(r"a[^\s\S]"))         # True: nothing may stand behind the a
has_dead_end(xgrammar.Grammar.from_ebnf('root ::= "a" root'))  # False: it never ends, and always goes on

XGrammar writes a grammar as numbered parts, each a kind, a length, and so many numbers.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any

FORM = "v16"
"""The form of written grammars that is read here; a test holds the installed XGrammar to it."""
LAST_CHARACTER = 0x10FFFF


class _Kind(IntEnum):
    """The kinds that may come to nothing; parts of all others can always be written."""

    CLASS = 1
    RULE = 4
    SEQUENCE = 5
    CHOICES = 6
    REPEAT = 8


@dataclass(frozen=True, slots=True)
class _Written:
    parts: Sequence[tuple[int, list[int]]]
    bodies: Sequence[int]
    """The part that each rule stands for."""
    root: int

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> "_Written":
        data, starts = written["grammar_expr_data"], written["grammar_expr_indptr"]
        spans = pairwise([*starts, len(data)])
        parts = [(data[start], data[start + 2 : end]) for start, end in spans]
        return cls(parts, [rule[1] for rule in written["rules"]], written["root_rule_id"])

    def rules_in(self, part: int) -> Iterator[int]:
        """The rules that a part refers to."""
        kind, numbers = self.parts[part]
        if kind in (_Kind.RULE, _Kind.REPEAT):
            yield numbers[0]
        elif kind in (_Kind.SEQUENCE, _Kind.CHOICES):
            for inner in numbers:
                yield from self.rules_in(inner)

    def sequences(self) -> Iterator[list[int]]:
        """Those of the rules that the root leads to."""
        pending, seen = [self.bodies[self.root]], set[int]()
        while pending:
            part = pending.pop()
            kind, numbers = self.parts[part]
            if part in seen:
                continue
            seen.add(part)
            if kind == _Kind.SEQUENCE:
                yield numbers
            if kind in (_Kind.SEQUENCE, _Kind.CHOICES):
                pending += numbers
            elif kind in (_Kind.RULE, _Kind.REPEAT):
                pending.append(self.bodies[numbers[0]])


def has_dead_end(grammar: Any) -> bool:
    """Whether something can be written behind which nothing can, and which is not the end."""
    serialized = json.loads(grammar.serialize_json())
    if serialized["__VERSION__"] != FORM:
        return False
    written = _Written.of(serialized)
    begins = _begins(written)
    ends = _ends(written, begins)
    lives = _lives(written, begins, ends)
    return any(
        lives(before) and ends(before) and not lives(part)
        for sequence in written.sequences()
        for before, part in pairwise(sequence)
    )


Judge = Callable[[int], bool]
"""Tells something of a part."""
OfRule = Callable[[int], bool]


def _judge(written: _Written, of_rule: OfRule, of_sequence: Callable[[Sequence[int], Judge], bool]) -> Judge:
    def judge(part: int) -> bool:
        kind, numbers = written.parts[part]
        match kind:
            case _Kind.CLASS:
                return _holds_something(numbers)
            case _Kind.RULE:
                return of_rule(numbers[0])
            case _Kind.REPEAT:
                return numbers[1] == 0 or of_rule(numbers[0])
            case _Kind.SEQUENCE:
                return of_sequence(numbers, judge)
            case _Kind.CHOICES:
                return any(map(judge, numbers))
        return True

    return judge


def _begins(written: _Written) -> Judge:
    """Whether a part comes to something to write, or to its end, before it comes to itself again."""

    def first(parts: Sequence[int], judge: Judge) -> bool:
        return not parts or judge(parts[0])

    found: set[int] = set()
    judge = _judge(written, found.__contains__, first)
    _settle(written, lambda rule: rule not in found and judge(written.bodies[rule]), found.add)
    return judge


def _ends(written: _Written, begins: Judge) -> Judge:
    """Whether a part can be written to its end."""
    found: set[int] = set()
    judge = _judge(written, found.__contains__, lambda parts, judge: all(map(judge, parts)))
    _settle(
        written,
        lambda rule: rule not in found and begins(written.bodies[rule]) and judge(written.bodies[rule]),
        found.add,
    )
    return judge


def _lives(written: _Written, begins: Judge, ends: Judge) -> Judge:
    """Whether a part can be written to its end, or without end."""

    def in_turn(parts: Sequence[int], judge: Judge) -> bool:
        for part in parts:
            if not judge(part):
                return False
            if not ends(part):
                return True
        return True

    dead: set[int] = set()
    judge = _judge(written, lambda rule: rule not in dead, in_turn)
    _settle(
        written,
        lambda rule: rule not in dead and not (begins(written.bodies[rule]) and judge(written.bodies[rule])),
        dead.add,
    )
    return judge


def _settle(written: _Written, changes: Callable[[int], bool], change: Callable[[int], None]) -> None:
    """Change rules until none changes that refers to one that has."""
    users: dict[int, set[int]] = {}
    for rule, body in enumerate(written.bodies):
        for used in written.rules_in(body):
            users.setdefault(used, set()).add(rule)
    pending = list(range(len(written.bodies)))
    while pending:
        rule = pending.pop()
        if changes(rule):
            change(rule)
            pending += users.get(rule, ())


def _holds_something(numbers: Sequence[int]) -> bool:
    """Whether a class has a character: first whether it is negated, then from where to where."""
    negated, *bounds = numbers
    if not negated:
        return bool(bounds)
    reached = 0
    for first, last in sorted(zip(bounds[::2], bounds[1::2], strict=True)):
        if first > reached:
            return True
        reached = max(reached, last + 1)
    return reached <= LAST_CHARACTER
