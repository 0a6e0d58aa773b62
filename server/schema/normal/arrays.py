"""Facts about an array, as nodes: items by place, how many, which it must contain, and that none repeats."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from server.schema.nodes import Array, Contains, Literals, Node
from server.schema.normal import unevaluated
from server.schema.normal.account import Account, Compiler
from server.schema.normal.conjunction import Conjunction
from server.schema.normal.disjoint import are_disjoint
from server.schema.normal.facts import At, Counted, Fact, Holding, Member, Row, Unique
from server.schema.normal.objects import counted
from server.schema.normal.truth import canonical
from server.schema.normal.values import listed

MAX_PLACES = 6
"""Items of a short array whose places are told apart, to say which of them it contains."""
MAX_SPELLED = 96
"""Arrays that are told apart so, or written out so that no item repeats."""
MAX_CONTAINED = 16
"""How far matching items are counted."""
MAX_WITH_CONTAINED = 256
"""Items of an array that counts those that match."""
MAX_ITEMS = 1_000_000
"""How far items are counted at all: no answer has more."""


class ArrayBuilder:
    """One array while its nodes are made."""

    def __init__(self, conjunction: Conjunction, compiler: Compiler, account: Account) -> None:
        self.members = conjunction.members
        self.compiler = compiler
        self.account = account
        self.facts: tuple[Fact, ...] = conjunction.facts
        self.rows: list[tuple[Row, Member | None]] = unevaluated.rows(conjunction, account)
        self.at = [fact for fact in self.facts if isinstance(fact, At)]
        holding = [fact for fact in self.facts if isinstance(fact, Holding)]
        self.is_possible = all(fact.most is None or fact.least <= fact.most for fact in holding)
        self.never = [fact.opposite for fact in holding if fact.most == 0]
        self.holding = [fact for fact in holding if fact.most != 0 and (fact.least or fact.most is not None)]
        self.least, self.most = counted(self.facts, "array")
        self.least = max(
            [self.least, *(fact.index + 1 for fact in self.at), *(f.least for f in self.holding)]
        )
        self._bound()

    def build(self) -> Iterator[Node]:
        width = max(
            [len(row.first) for row, _ in self.rows] + [fact.index + 1 for fact in self.at], default=0
        )
        if self.most is not None:
            width = min(width, self.most)
        first: list[Node] = []
        for index in range(width):
            item = self._item(index)
            if item is None:
                self.most = index
                break
            first.append(item)
        items = None
        if self.most is None or self.most > len(first):
            items = self._item(width)
            self.most = len(first) if items is None else self.most
        if not self.is_possible:
            return
        if self.most is not None and self.most < self.least:
            self.account.cause = self.account.failed
        else:
            yield from self._arrays(Array(tuple(first), items, self.least, self.most))

    def _bound(self) -> None:
        """Leave to the check what no mask counts."""
        if max(self.least, self.most or 0) <= MAX_ITEMS:
            return
        for fact in self.facts:
            if isinstance(fact, Counted | Holding) and max(fact.least, fact.most or 0) > MAX_ITEMS:
                self.account.note(fact.place, f"the mask counts up to {MAX_ITEMS:,} items")
        if self.most is None or self.least <= self.most:
            self.least = min(self.least, MAX_ITEMS)
            self.most = None if self.most is None or self.most > MAX_ITEMS else self.most

    def _item(self, index: int, *more: Member) -> Node | None:
        members: list[Member] = [*more, *self.never]
        for row, others in self.rows:
            if index < len(row.first):
                members.append(row.first[index])
            elif others is not None:
                members.append(others)
        members += [fact.value for fact in self.at if fact.index == index]
        return self.compiler.node(members, self.account)

    def _arrays(self, plain: Array) -> Iterator[Node]:
        unique = [fact for fact in self.facts if isinstance(fact, Unique)]
        if unique and (spelled := self._spelled(plain)) is not None:
            yield from spelled
            return
        if not self._cannot_repeat(plain):
            for fact in unique:
                self.account.note(fact.place, "the mask does not compare items")
        if not self.holding:
            yield plain
        elif plain.most is not None and plain.most <= MAX_PLACES:
            yield from self._by_place(plain)
        elif plain.prefix:
            self._give_up(self.holding)
            yield plain
        else:
            self._give_up(self.holding[1:])
            yield from self._containing(plain, self.holding[0])

    def _give_up(self, holding: Iterable[Holding]) -> None:
        for fact in holding:
            self.account.note(fact.place, "the mask cannot look for these items")

    def _cannot_repeat(self, plain: Array) -> bool:
        """Whether no array has two equal items, as all differ in kind."""
        if plain.most is None or plain.most > MAX_PLACES:
            return False
        items = [*plain.prefix, *([plain.items] if plain.items else []) * (plain.most - len(plain.prefix))]
        return all(are_disjoint(one, other, self.compiler) for one, other in itertools.combinations(items, 2))

    def _spelled(self, plain: Array) -> list[Node] | None:
        """All arrays whose items are different, if they are few."""
        first = [listed(node, self.compiler) for node in plain.prefix]
        rest = listed(plain.items, self.compiler) if plain.items is not None else []
        if rest is None or None in first:
            return None
        choices = [values for values in first if values is not None]
        found: list[list[Any]] = []
        pending: list[list[Any]] = [[]]
        while pending:
            items = pending.pop(0)
            if len(found) + len(pending) > MAX_SPELLED:
                return None
            if len(items) >= plain.least:
                found.append(items)
            if plain.most is not None and len(items) == plain.most:
                continue
            used = {canonical(item) for item in items}
            options = choices[len(items)] if len(items) < len(choices) else rest
            pending += [[*items, option] for option in options if canonical(option) not in used]
        kept = [items for items in found if all(self.compiler.truth.holds(m, items) for m in self.members)]
        return [Literals(tuple(kept))] if kept else []

    def _by_place(self, plain: Array) -> Iterator[Node]:
        """Short arrays: one for each way in which its items match."""
        lengths = range(plain.least, (plain.most or 0) + 1)
        ways = (way for length in lengths for way in self._ways(length, (0,) * len(self.holding)))
        spelled = [Array(way, None, len(way), len(way)) for way in itertools.islice(ways, MAX_SPELLED + 1)]
        if len(spelled) > MAX_SPELLED:
            self._give_up(self.holding)
            spelled = [plain]
        yield from spelled

    def _ways(self, length: int, counts: tuple[int, ...], *items: Node) -> Iterator[tuple[Node, ...]]:
        """How the items that follow may match, where `counts` of those before do."""
        left = length - len(items)
        if any(count + left < fact.least for count, fact in zip(counts, self.holding, strict=True)):
            return
        if not left:
            yield items
            return
        for matching in itertools.product((True, False), repeat=len(self.holding)):
            members: list[Member] = []
            for count, fact, matches in zip(counts, self.holding, matching, strict=True):
                if matches and count == (fact.least if fact.most is None else fact.most):
                    break
                members += [fact.value] if matches else [] if fact.most is None else [fact.opposite]
            else:
                item = self._item(len(items), *members)
                sums = tuple(count + matches for count, matches in zip(counts, matching, strict=True))
                if item is not None:
                    yield from self._ways(length, sums, *items, item)

    def _containing(self, plain: Array, holding: Holding) -> Iterator[Node]:
        """Any number of items, of which some match."""
        most = holding.most
        if max(holding.least, most or 0) > MAX_CONTAINED or (plain.most or plain.least) > MAX_WITH_CONTAINED:
            self._give_up([holding])
            yield plain
            return
        matching = self._item(0, holding.value)
        other = plain.items if most is None else self._item(0, holding.opposite)
        if matching is None:
            if not holding.least and other is not None:
                yield Array((), other, plain.least, plain.most)
            elif not holding.least and not plain.least:
                yield Array((), None, 0, 0)
            return
        contains = Contains(matching, other, holding.least, most)
        yield Array((), plain.items, plain.least, plain.most, contains)
