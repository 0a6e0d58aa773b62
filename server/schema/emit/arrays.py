r"""Arrays as rules.

    up to three numbers     "[" number (", " number){0,2} "]" | "[]"
    any number of them      "[" number r0 | "[]"       r0 ::= ", " number r0 | "]"

Where items are not all alike, or some of them are counted, there is a rule for each place between two items.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parsers.spelling import Items
from server.schema.emit.ebnf import Expression, Rule, alternatives, fixed, sequence, written
from server.schema.emit.rules import Rules


@dataclass(frozen=True, slots=True)
class Counted:
    """Items of which `least` to `most` are `matching`. `other` None: there are no others."""

    matching: Expression
    other: Expression | None
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class ArrayRules:
    """Writes arrays of `least` to `most` items."""

    rules: Rules
    form: Items
    least: int
    most: int | None

    def of_places(self, prefix: Sequence[Expression], items: Expression | None) -> Expression | None:
        """The items of the prefix, each in its place, then any number of `items`."""
        prefix = prefix if self.most is None else prefix[: self.most]
        rest = self._alike(items, len(prefix))
        for at in range(len(prefix) - 1, -1, -1):
            ways = [self._item(prefix[at], rest, first=not at), self._end_at(at)]
            rest = self.rules.one_of(ways)
        return None if rest is None else sequence(fixed(self.form.begin), rest)

    def counted(self, items: Counted) -> Expression | None:
        """Items of two kinds, in any order."""
        places = max(self.least, 1) if self.most is None else self.most
        counts = items.least if items.most is None else items.most
        rests: dict[tuple[int, int], Expression | None] = {}
        for at in range(places, -1, -1):
            reached = counts if at == places and self.most is None else min(at, counts)
            for count in range(reached, -1, -1):
                rests[at, count] = self._counted_rest(items, at, count, rests)
        rest = rests[0, 0]
        return None if rest is None else sequence(fixed(self.form.begin), rest)

    def _counted_rest(
        self, items: Counted, at: int, count: int, rests: dict[tuple[int, int], Expression | None]
    ) -> Expression | None:
        last = max(self.least, 1) if self.most is None else self.most
        end = self._end_at(at) if count >= items.least else None
        if self.most is not None and at == self.most:
            return end
        after = min(at + 1, last)
        one_more = count + 1 if items.most is not None else min(count + 1, items.least)
        steps = [(items.matching, one_more)] if items.most is None or count < items.most else []
        steps += [(items.other, count)] if items.other is not None else []

        def ways(own: str) -> list[Expression]:
            found = [] if end is None else [end]
            for item, counted in steps:
                rest = (Rule(own),) if (after, counted) == (at, count) else rests[after, counted]
                way = self._item(item, rest, first=not at)
                found += [] if way is None else [way]
            return found

        if not ways(""):
            return None
        return (Rule(self.rules.recursive(lambda own: alternatives(ways(own)))),)

    def _alike(self, item: Expression | None, before: int) -> Expression | None:
        """The rest of an array with `before` items, whose others are all alike."""
        end = self._end_at(before)
        most = None if self.most is None else self.most - before
        if item is None or most == 0:
            return end
        least = max(self.least - before, 0)
        if before == 0:
            further = self._further(item, max(least - 1, 0), None if most is None else most - 1)
            return self.rules.one_of([sequence(item, further), end])
        return self._further(item, least, most)

    def _further(self, item: Expression, least: int, most: int | None) -> Expression:
        """From `least` to `most` items behind others, and the end."""
        one, end = sequence(fixed(self.form.separator), item), fixed(self.form.end)
        if most is not None:
            return (Rule(self.rules.shared(f"({written(one)}){{{least},{most}}} {written(end)}")),)
        rest = (Rule(self.rules.recursive(lambda own: alternatives([sequence(one, (Rule(own),)), end]))),)
        if least < 2:
            return sequence(one, rest) if least else rest
        return (Rule(self.rules.shared(f"({written(one)}){{{least}}} {written(rest)}")),)

    def _item(self, item: Expression, rest: Expression | None, *, first: bool) -> Expression | None:
        separator = fixed("" if first else self.form.separator)
        return None if rest is None else sequence(separator, item, rest)

    def _end_at(self, at: int) -> Expression | None:
        return fixed(self.form.end) if at >= self.least else None
