r"""A Lark grammar as productions of automata and of other rules.

productions_of(read_lark('start: "(" start ")" | "x"'))
# Productions("start", {"start": (("<0>", "start", "<1>"), ("<2>",))}, {"<0>": <automaton>, …})
"""

from collections.abc import Iterable

from server.schema.automata.automaton import Automaton, State
from server.schema.automata.charsets import size_of as characters_of
from server.schema.automata.limits import TooLarge
from server.schema.automata.pattern import Characters, Choice, Edge, Part, Sequence
from server.schema.automata.search import found
from server.schema.automata.table import automaton
from server.schema.lark.endless import endless
from server.schema.lark.literals import NOTHING, size_of
from server.schema.lark.operators import untangled
from server.schema.lark.regular import MOST_OF_RULE, MOST_OF_TERMINAL, Regular
from server.schema.lark.syntax import (
    START,
    Expansion,
    Expansions,
    Expression,
    LarkGrammar,
    Literal,
    Name,
    Repeated,
    Symbol,
    UnsupportedGrammar,
    Way,
    Ways,
    quoted,
)
from server.schema.nodes import Productions

MOST_RULES = 3_000
"""Rules of a grammar, those of its repeats with them."""
MOST_STATES = 1_000
"""States of one automaton."""
MOST_WIDE = 100
"""Of these, states that most characters leave: they cost the compiler 20 ms each, others 3 ms or less."""
MOST_REACHED = 4_000
"""States of an automaton while it is made."""
MOST_IN_ALL = 20_000
"""States of all automata of a grammar."""

_WIDE = 1_000


def productions_of(grammar: LarkGrammar) -> Productions:
    """The grammar's productions. Raises `UnsupportedGrammar`."""
    writer = _Writer(grammar)
    rules = untangled(writer.rules)
    if (name := endless(rules)) is not None:
        raise UnsupportedGrammar(
            f"no text is long enough for the rule {_shown(name)}: give it a way that does not lead back to it"
        )
    texts = _Texts()
    named = {
        name: tuple(tuple(texts.named(symbol, name) for symbol in way) for way in ways)
        for name, ways in rules.items()
    }
    return Productions(writer.start, named, texts.automata)


class _Writer:
    """Writes rules without repeats and groups."""

    def __init__(self, grammar: LarkGrammar) -> None:
        self.rules: dict[str, Ways] = {}
        self._regular = Regular(grammar)
        self._owner = START
        for name in self._regular.names:
            if not Name(name).is_terminal and self._regular.part(Name(name)) is None:
                self._owner = name
                self.rules[name] = self._ways(grammar.definitions[name])
        self._owner = START
        self.start = self._begin()

    def _begin(self) -> str:
        """The rule of the whole text, which a gap may stand before."""
        gap = self._regular.gap
        whole = self._regular.part(Name(START))
        if whole is not None:
            self.rules[START] = ((whole if gap == NOTHING else Sequence((gap, whole)),),)
            return START
        return START if gap == NOTHING else self._rule(((gap, START),))

    def _rule(self, ways: Ways) -> str:
        """The name of a rule of our own, which no rule of a grammar can have."""
        if len(self.rules) > MOST_RULES:
            raise UnsupportedGrammar(f"the grammar has more than {MOST_RULES:,} rules, with those of repeats")
        name = f"{self._owner}#{len(self.rules)}"
        self.rules[name] = ways
        return name

    def _ways(self, expression: Expression) -> Ways:
        if not isinstance(expression, Expansions):
            return (self._symbols(expression),)
        ways = tuple(map(self._symbols, expression.ways))
        regular = [part for way in ways if (part := _only_part(way)) is not None]
        if len(regular) < 2 or sum(map(size_of, regular)) > MOST_OF_RULE:
            return ways
        # All that is regular as one automaton, so that no text is read in two ways of it.
        return ((Choice(tuple(regular)),), *(way for way in ways if _only_part(way) is None))

    def _symbols(self, expression: Expression) -> Way:
        part = self._regular.part(expression)
        if part is not None:
            return (part,)
        match expression:
            case Name(name):
                return (self._regular.literal(expression),) if expression.is_terminal else (name,)
            case Literal():
                return (self._regular.literal(expression),)
            case Expansion(parts):
                return _joined(symbol for inner in parts for symbol in self._symbols(inner))
            case Expansions():
                return (self._rule(self._ways(expression)),)
            case Repeated(inner, least, most):
                return self._repeated(self._symbols(inner), least, most)

    def _repeated(self, symbols: Way, least: int, most: int | None) -> Way:
        """Any number by a rule that begins with itself, which costs a parser the same for each time."""
        if most is None and least <= 1:
            name = self._rule(())
            self.rules[name] = ((symbols if least else ()), (name, *symbols))
            return (name,)
        if most == 1:
            return (self._rule(((), symbols)),) if least == 0 else symbols
        once = symbols if len(symbols) == 1 else (self._rule((symbols,)),)
        rest = self._repeated(once, 0, None) if most is None else ()
        for _ in range(0 if most is None else most - least):
            rest = (self._rule(((), (*once, *rest))),)
        for _ in range(least):
            rest = (self._rule(((*once, *rest),)),)
        return rest


class _Texts:
    """Makes automata of parts, each once, and not too many."""

    def __init__(self) -> None:
        self.automata: dict[str, Automaton] = {}
        self._names: dict[Part, str] = {}
        self._left = MOST_IN_ALL

    def named(self, symbol: Symbol, rule: str) -> str:
        if isinstance(symbol, str):
            return symbol
        if symbol not in self._names:
            # No rule has such a name.
            name = self._names[symbol] = f"<{len(self._names)}>"
            self.automata[name] = _word(symbol) or self._made(symbol, _shown(rule))
        return self._names[symbol]

    def _made(self, part: Part, rule: str) -> Automaton:
        whole = Sequence((Edge.START, part, Edge.END))
        try:
            table = found(whole, size=MOST_OF_TERMINAL + MOST_OF_RULE, limit=min(MOST_REACHED, self._left))
        except TooLarge:
            raise _too_large(rule) from None
        made = automaton(table)
        if made is None:
            raise UnsupportedGrammar(f"the rule {rule} has a terminal that no text matches: leave it out")
        self._left -= len(made.states)
        if len(made.states) > MOST_STATES or _wide_states(made) > MOST_WIDE:
            raise _too_large(rule)
        return made


def _shown(rule: str) -> str:
    """The rule of the client's that a rule belongs to."""
    return quoted(rule.partition("#")[0])


def _word(part: Part) -> Automaton | None:
    """The automaton of a string: of long ones it would take long to make otherwise."""
    if not isinstance(part, Sequence):
        return None
    moves = [one.charset for one in part.parts if isinstance(one, Characters)]
    if len(moves) < len(part.parts) or not all(moves):
        return None
    states = [State(accepts=False, moves=((charset, at),)) for at, charset in enumerate(moves, 1)]
    return Automaton((*states, State(accepts=True, moves=())))


def _too_large(rule: str) -> UnsupportedGrammar:
    return UnsupportedGrammar(
        f"the mask of the terminals in the rule {rule} would be too large: repeat by * or +, or count less"
    )


def _wide_states(made: Automaton) -> int:
    leaving = (sum(characters_of(charset) for charset, _ in state.moves) for state in made.states)
    return sum(size > _WIDE for size in leaving)


def _only_part(way: Way) -> Part | None:
    """The part that a way is, if it is regular."""
    if not way:
        return NOTHING
    return way[0] if len(way) == 1 and not isinstance(way[0], str) else None


def _joined(symbols: Iterable[Symbol]) -> Way:
    """The symbols, of which parts that meet are one if that is not too large."""
    joined: list[Symbol] = []
    for symbol in symbols:
        last = joined[-1] if joined else ""
        if isinstance(symbol, str) or isinstance(last, str) or size_of(last) + size_of(symbol) > MOST_OF_RULE:
            joined.append(symbol)
        else:
            joined[-1] = Sequence((last, symbol))
    return tuple(joined)
