"""Facts about strings, numbers and constants, as nodes."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from server.schema.automata import rules
from server.schema.automata.rules import Rule
from server.schema.nodes import Boolean, Literals, Node, Null, Number, Text
from server.schema.normal.account import Account, Compiler
from server.schema.normal.conjunction import Conjunction
from server.schema.normal.facts import NUMBERS, Among, Differs, Kind, Ruled
from server.schema.normal.truth import canonical, kind_of


def literals(conjunction: Conjunction, kinds: frozenset[Kind], compiler: Compiler) -> Node | None:
    """The values of `enum` and `const` that all members hold for."""
    listed = next(fact for fact in conjunction.facts if isinstance(fact, Among))
    kept = {
        canonical(value): value
        for value in reversed(listed.values)
        if kind_of(value) in kinds
        and all(compiler.truth.holds(member, value) for member in conjunction.members)
    }
    return Literals(tuple(reversed(kept.values()))) if kept else None


def excluded(conjunction: Conjunction, kind: Kind) -> list[tuple[Differs, list[Any]]]:
    """The values of a kind that the value must not be."""
    differing = (fact for fact in conjunction.facts if isinstance(fact, Differs))
    found = ((fact, [value for value in fact.values if kind_of(value) == kind]) for fact in differing)
    return [(fact, values) for fact, values in found if values]


def null(conjunction: Conjunction) -> Node | None:
    return None if excluded(conjunction, "null") else Null()


def boolean(conjunction: Conjunction) -> Node | None:
    wrong = {value for _, values in excluded(conjunction, "boolean") for value in values}
    left = tuple(value for value in (True, False) if value not in wrong)
    return Boolean() if len(left) == 2 else Literals(left) if left else None


def text(conjunction: Conjunction, compiler: Compiler, account: Account) -> Node | None:
    asked = _rules(conjunction, "string")
    asked += [
        Rule(fact.place.pointer, fact.place.keyword, rules.IsNoneOf(tuple(values)))
        for fact, values in excluded(conjunction, "string")
    ]
    if not asked:
        return Text()
    language = compiler.languages.text(asked, account.ledger)
    compiler.spend(language)
    return None if language is None else Text(language)


def number(
    conjunction: Conjunction, kinds: frozenset[Kind], compiler: Compiler, account: Account
) -> Node | None:
    """A number of these kinds, at least one."""
    asked = _rules(conjunction, "number")
    for kind in sorted(NUMBERS & kinds):
        asked += [
            Rule(fact.place.pointer, fact.place.keyword, rules.Not(_decimals(values)))
            for fact, values in excluded(conjunction, kind)
        ]
    integer = "fraction" not in kinds
    if "integer" not in kinds:
        asked.append(Rule(account.pointer, "type", rules.NotWhole()))
    if not asked:
        return Number(integer=integer)
    node = compiler.languages.number(asked, account.ledger, integer=integer)
    compiler.spend(None if node is None else node.text)
    return node


def _rules(conjunction: Conjunction, kind: str) -> list[Rule]:
    return [fact.rule for fact in conjunction.facts if isinstance(fact, Ruled) and fact.kind == kind]


def _decimals(values: Iterable[Any]) -> tuple[Decimal, ...]:
    return tuple(Decimal(str(value)) for value in values)


def words_of(node: Node | None) -> list[str] | None:
    """The strings that a node allows, if it lists them."""
    if node is None:
        return []
    if isinstance(node, Literals):
        return [value for value in node.values if isinstance(value, str)]
    return None
