r"""What of a Lark grammar is regular: its terminals, and the rules that nothing leads back to.

Regular(read_lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/')).part(Name("start"))
# Sequence((…, Repeat(Sequence(…), 0, None)))

An automaton reads a text in one way only, so the more of a grammar is regular the less a parser has to try.
"""

from collections.abc import Iterable, Iterator, Mapping

from server.schema.automata.pattern import Choice, Part, Repeat, Sequence
from server.schema.lark.literals import NOTHING, size_of
from server.schema.lark.syntax import (
    START,
    Expansion,
    Expansions,
    Expression,
    LarkGrammar,
    Literal,
    Name,
    Repeated,
    UnsupportedGrammar,
    is_terminal,
    quoted,
)

MOST_OF_TERMINAL = 2_000
"""Characters of a terminal, its repeats written out, as of a pattern in a schema."""
MOST_OF_RULE = 400
"""The same of what is joined in a rule: what is larger is written once, and referred to."""


class Regular:
    """Parts for what is regular and not too large.

    `names`: all that the start leads to. `gap`: what may stand before the text, and behind each terminal.
    Raises `UnsupportedGrammar` for a terminal that is not regular, or too large.
    """

    def __init__(self, grammar: LarkGrammar) -> None:
        self._parts: dict[str, Part] = {}
        self._sizes: dict[str, int] = {}
        self.gap: Part = NOTHING
        self.names = _reached(grammar)
        used = {name: grammar.definitions[name] for name in self.names}
        terminals = {name: used[name] for name in used if is_terminal(name)}
        for name in _in_order(terminals):
            self._add(name, self._terminal(name, terminals[name]))
        if len(self._parts) < len(terminals):
            circle = _circle({name: terminals[name] for name in terminals.keys() - self._parts})
            raise UnsupportedGrammar(f"the terminal {quoted(circle)} stands within itself: make it a rule")
        ignored = tuple(self._terminal("what is ignored", each) for each in grammar.ignored)
        self.gap = Repeat(Choice(ignored), 0, None) if ignored else NOTHING
        for name in _in_order(used):
            if not is_terminal(name) and (part := self.part(used[name])) is not None:
                self._add(name, part)

    def part(self, expression: Expression) -> Part | None:
        """What an expression of a rule comes to, if that is regular and not too large."""
        size = self._size(expression)
        return None if size is None or size > MOST_OF_RULE else self._joined(expression)

    def literal(self, expression: Literal | Name) -> Part:
        """A terminal, however large, with the gap behind it."""
        return self._joined(expression)

    def _add(self, name: str, part: Part) -> None:
        self._parts[name] = part
        self._sizes[name] = size_of(part)

    def _terminal(self, name: str, expression: Expression) -> Part:
        if (self._size(expression) or 0) > MOST_OF_TERMINAL:
            raise UnsupportedGrammar(
                f"{quoted(name)} has more than {MOST_OF_TERMINAL:,} characters, its repeats written out: "
                "split it, or repeat by * or +"
            )
        return self._joined(expression)

    def _size(self, expression: Expression) -> int | None:
        match expression:
            case Name(name):
                return self._sizes.get(name)
            case Literal(part):
                return size_of(part)
            case Repeated(inner, least, most):
                size = self._size(inner)
                return None if size is None else size * max(least + 1 if most is None else most, 1)
            case Expansion(inners) | Expansions(inners):
                sizes = [self._size(inner) for inner in inners]
                known = [size for size in sizes if size is not None]
                return sum(known) + 1 if len(known) == len(sizes) else None

    def _joined(self, expression: Expression) -> Part:
        match expression:
            case Name(name):
                part = self._parts[name]
                return self._spaced(part) if is_terminal(name) else part
            case Literal(part):
                return self._spaced(part)
            case Repeated(inner, least, most):
                return Repeat(self._joined(inner), least, most)
            case Expansion(parts):
                return Sequence(tuple(map(self._joined, parts)))
            case Expansions(ways):
                return Choice(tuple(map(self._joined, ways)))

    def _spaced(self, part: Part) -> Part:
        return part if self.gap == NOTHING else Sequence((part, self.gap))


def names_in(expression: Expression) -> Iterator[str]:
    """The names that an expression is made of."""
    match expression:
        case Name(name):
            yield name
        case Repeated(inner):
            yield from names_in(inner)
        case Expansion(inners) | Expansions(inners):
            for inner in inners:
                yield from names_in(inner)


def _reached(grammar: LarkGrammar) -> tuple[str, ...]:
    seen = {START: None} | dict.fromkeys(name for each in grammar.ignored for name in names_in(each))
    pending = list(seen)
    while pending:
        new = dict.fromkeys(names_in(grammar.definitions[pending.pop()]))
        pending += [name for name in new if name not in seen]
        seen |= new
    return tuple(seen)


def _in_order(definitions: Mapping[str, Expression]) -> Iterator[str]:
    """The names, each behind those that it is made of; without those that stand within themselves."""
    needs = {name: set(names_in(each)) & definitions.keys() for name, each in definitions.items()}
    users: dict[str, list[str]] = {name: [] for name in definitions}
    for name, needed in needs.items():
        for other in needed:
            users[other].append(name)
    ready = [name for name, needed in needs.items() if not needed]
    while ready:
        name = ready.pop()
        yield name
        for user in users[name]:
            needs[user].discard(name)
            if not needs[user]:
                ready.append(user)


def _circle(definitions: Mapping[str, Expression]) -> str:
    """One of the names that lead back to themselves, where each is made of one of the others."""
    name, passed = min(definitions), set[str]()
    while name not in passed:
        passed.add(name)
        name = min(_within(names_in(definitions[name]), definitions))
    return name


def _within(names: Iterable[str], definitions: Mapping[str, Expression]) -> list[str]:
    return [name for name in names if name in definitions]
