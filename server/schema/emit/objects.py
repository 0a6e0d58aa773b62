r"""Objects as rules: for each place between two members, what may follow there.

    {"a": Null, "b": Null}, neither required

    object ::= "{\"" one | "{}"                          one: a member, behind what all begin with
    one    ::= "a\": null" behind | "b\": null}"
    behind ::= ", \"b\": null}" | "}"

All members begin alike, and that is written before it is decided which one it is: so a mask has one rule to
look at there, and not one for each member. Only places from which the object can be ended are written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parsers.spelling import Members
from server.schema.emit.ebnf import Expression, Rule, alternatives, fixed, sequence, written
from server.schema.emit.rules import Rules

MAX_PARTS = 64
"""Parts of what follows a member, before they are a rule of their own."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object, behind what all begin with; `required`: every object has it."""

    text: Expression
    required: bool


class ObjectRules:
    """The rules of one object: its members in order, then any of `free`."""

    def __init__(
        self, rules: Rules, form: Members, members: Sequence[Member], free: Sequence[Expression]
    ) -> None:
        self._rules = rules
        self._form = form
        self._members = members
        self._free = free
        self._whole_from = max((at for at, member in enumerate(members, 1) if member.required), default=0)
        """The place from which on no member is required."""
        self._least = 0
        self._most: int | None = None
        self._choices: dict[tuple[int, int], Expression | None] = {}
        """What a member may be, and all behind it, by its place and the members before it."""
        self._behind: dict[tuple[int, int], Expression | None] = {}
        """What may follow behind a member, by the place of the next and the members before that."""

    def expression(self, least: int, most: int | None) -> Expression | None:
        """The whole object of `least` to `most` members, or None if there is none."""
        if least > sum(member.required for member in self._members):
            self._least = least
        if most is not None and (self._free or most < len(self._members)):
            self._most = most
        places = len(self._members)
        for at in range(places, -1, -1):
            for count in range(self._last_count if at == places else min(at, self._last_count), -1, -1):
                self._write(at, count)
        found = self._rules.one_of([self._next_member(0, 0, ""), self._end(0, 0)])
        return None if found is None else sequence(fixed(self._form.begin), found)

    @property
    def _last_count(self) -> int:
        """From here on there is no need to count."""
        return self._least if self._most is None else self._most

    def _write(self, at: int, count: int) -> None:
        if at < len(self._members):
            self._choices[at, count] = self._choice(at, count)
            self._behind[at, count] = self._rest(at, count)
        elif self._takes_more(count) and self._after(count) == count:
            # Any number of free members, behind each of which it is as it is here.
            self._behind[at, count] = self._any_free(at, count)
            self._choices[at, count] = self._free_choice(at, count)
        else:
            self._choices[at, count] = self._free_choice(at, count)
            self._behind[at, count] = self._rest(at, count)

    def _any_free(self, at: int, count: int) -> Expression | None:
        end, begin = self._end(at, count), fixed(self._form.separator + self._form.key.begin)

        def body(own: str) -> str:
            further = [sequence(begin, member, (Rule(own),)) for member in self._free]
            return alternatives([*further, *([] if end is None else [end])])

        return (Rule(self._rules.recursive(body)),) if self._free else end

    def _rest(self, at: int, count: int) -> Expression | None:
        return self._rules.one_of([self._next_member(at, count, self._form.separator), self._end(at, count)])

    def _next_member(self, at: int, count: int, separator: str) -> Expression | None:
        choice = self._choices[at, count]
        return None if choice is None else sequence(fixed(separator + self._form.key.begin), choice)

    def _end(self, at: int, count: int) -> Expression | None:
        is_whole = count >= self._least and at >= self._whole_from
        return fixed(self._form.end) if is_whole else None

    def _choice(self, at: int, count: int) -> Expression | None:
        member, ways = self._members[at], []
        if self._takes_more(count):
            ways.append(self._followed(member.text, self._behind[at + 1, self._after(count)]))
        if not member.required:
            ways.append(self._choices[at + 1, count])
        return self._rules.one_of(ways)

    def _free_choice(self, at: int, count: int) -> Expression | None:
        if not self._takes_more(count):
            return None
        rest = self._behind[at, self._after(count)] if self._free else None
        return self._rules.one_of([self._followed(member, rest) for member in self._free])

    def _takes_more(self, count: int) -> bool:
        return self._most is None or count < self._most

    def _after(self, count: int) -> int:
        return min(count + 1, self._last_count)

    def _followed(self, member: Expression, rest: Expression | None) -> Expression | None:
        if rest is None:
            return None
        if len(rest) > MAX_PARTS:
            # Or each of many required members would be copied with all behind it.
            rest = (Rule(self._rules.shared(written(rest))),)
        return sequence(member, rest)
