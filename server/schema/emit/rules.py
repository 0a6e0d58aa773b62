r"""The rules of a grammar that is being written, each body once.

rules = Rules()
rules.shared('"a" | "b"')     # "r0"
rules.shared('"a" | "b"')     # "r0", again
rules.grammar("r0")           # 'root ::= r0\nr0 ::= "a" | "b"\n'
"""

from collections.abc import Callable, Iterable

from server.schema.emit.ebnf import Expression, Rule, alternatives

_ITSELF = "\0"
"""Stands for a rule's own name, where its body is compared with others. No EBNF holds it."""


class Rules:
    """What a rule is called says nothing, so rules with one body are one rule."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._names: dict[str, str] = {}
        """By body."""
        self._reserved = 0

    def shared(self, body: str) -> str:
        """The name of the rule with this body."""
        return self.recursive(lambda _: body)

    def recursive(self, body: Callable[[str], str]) -> str:
        """The name of the rule whose body this makes of the rule's own name."""
        key = body(_ITSELF)
        if key not in self._names:
            name = self.reserve()
            self._names[key] = name
            self.define(name, body(name))
        return self._names[key]

    def one_of(self, expressions: Iterable[Expression | None]) -> Expression | None:
        """Any one of the expressions, those of None aside; None if there is no other."""
        found = [expression for expression in expressions if expression is not None]
        if len(found) < 2:
            return found[0] if found else None
        return (Rule(self.shared(alternatives(found))),)

    def reserve(self) -> str:
        """A name for a rule that others need before it can be written."""
        self._reserved += 1
        return f"r{self._reserved - 1}"

    def define(self, name: str, body: str) -> None:
        self._lines.append(f"{name} ::= {body}")

    def grammar(self, root: str) -> str:
        """All rules as one grammar, whose text is `root`."""
        return "\n".join([f"root ::= {root}", *self._lines]) + "\n"
