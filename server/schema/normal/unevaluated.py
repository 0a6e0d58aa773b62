"""`unevaluatedProperties` and `unevaluatedItems`: what no other keyword of their node has spoken of.

Once all choices are made, it is known which nodes hold for the value: those that have the owner among their
owners. So the keyword becomes a shape of its own, or a row, with all of their keys and items as known ones.
"""

from server.schema.document import Located
from server.schema.normal.account import Account
from server.schema.normal.conjunction import Conjunction
from server.schema.normal.facts import (
    Blind,
    Either,
    Fact,
    Holding,
    Holds,
    Member,
    Row,
    Shape,
    Unevaluated,
)

_UNTOLD = "the mask cannot tell what was evaluated"


def shapes(conjunction: Conjunction, account: Account) -> list[Shape]:
    """The shapes of an object, those of `unevaluatedProperties` included."""
    stated = [fact for fact in conjunction.facts if isinstance(fact, Shape)]
    return stated + [
        shape
        for fact in _standing(conjunction, "unevaluatedProperties", account)
        if (shape := _shape(fact, conjunction.facts)) is not None
    ]


def rows(conjunction: Conjunction, account: Account) -> list[tuple[Row, Member | None]]:
    """The rows of an array, each with what its other items hold."""
    stated = [(fact, fact.others) for fact in conjunction.facts if isinstance(fact, Row)]
    return stated + [
        row
        for fact in _standing(conjunction, "unevaluatedItems", account)
        if (row := _row(fact, conjunction.facts)) is not None
    ]


def _standing(conjunction: Conjunction, keyword: str, account: Account) -> list[Unevaluated]:
    """The facts of the keyword that can be told; the others are noted."""
    blind: set[Located] = set()
    for fact in conjunction.facts:
        if isinstance(fact, Blind):
            blind.update(fact.owners)
    standing = []
    for fact in conjunction.facts:
        if isinstance(fact, Unevaluated) and fact.keyword == keyword:
            if fact.node in blind:
                account.note(fact.place, _UNTOLD)
            else:
                standing.append(fact)
    return standing


def _is_inner(fact: Fact, owner: Unevaluated) -> bool:
    """Whether a keyword of the same name, within the owner's node, has evaluated all there is."""
    return isinstance(fact, Unevaluated) and fact.keyword == owner.keyword and owner.node in fact.owners


def _shape(owner: Unevaluated, facts: tuple[Fact, ...]) -> Shape | None:
    if any(_is_inner(fact, owner) for fact in facts):
        return None
    within = [fact for fact in facts if isinstance(fact, Shape) and owner.node in fact.owners]
    if any(shape.others is not None for shape in within):
        return None
    properties: dict[str, Holds] = {}
    patterns: dict[str, Holds] = {}
    for shape in within:
        properties.update(shape.properties)
        patterns.update(shape.patterns)
    return Shape(owner.node, owner.scope, owner.owners, owner.place, properties, patterns, owner.value)


def _row(owner: Unevaluated, facts: tuple[Fact, ...]) -> tuple[Row, Member] | None:
    if any(_is_inner(fact, owner) for fact in facts):
        return None
    within = [fact for fact in facts if isinstance(fact, Row) and owner.node in fact.owners]
    if any(row.others is not None for row in within):
        return None
    first = max((row.first for row in within), key=len, default=())
    found = [fact.value for fact in facts if isinstance(fact, Holding) and owner.node in fact.owners]
    others: Member = Either((*found, owner.value), owner.place) if found else owner.value
    row = Row(owner.node, owner.scope, owner.owners, owner.place, (_ANY,) * len(first), None)
    return row, others


_ANY = Holds(Located("#", True))
"""What an item keeps to that another keyword has spoken of, as far as `unevaluatedItems` goes."""
