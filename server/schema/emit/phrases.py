r"""Phrases of a context-free grammar as rules, without what stands around a text.

PhraseRules(rules, JSON.text, limited).rule(Productions("s", {"s": ((<(>, "s", <)>), (<a+>,))}))
# r0 ::= "(" r0 ")" | r1           where r1 is a rule of the texts of a+, as `TextRules` writes it
"""

from collections.abc import Iterator

from parsers.spelling import TextForm
from server.schema.automata.automaton import ANY_TEXT
from server.schema.automata.limits import TooLarge
from server.schema.document import SchemaError
from server.schema.emit.crossing import Crossing, Rest
from server.schema.emit.ebnf import literal
from server.schema.emit.limited import LimitedTexts
from server.schema.emit.literals import inside
from server.schema.emit.rules import Rules
from server.schema.emit.texts import TextRules
from server.schema.nodes import Productions

MOST_RULES = 10_000
"""Rules of one grammar, each counted for each of the states that it stands in and leads to."""

_Key = tuple[str | Rest, int, int | None]
"""A rule, or what is left of one of its ways, from a state of what is allowed to another, or to any."""


class PhraseRules:
    """Writes the rules of one grammar in one form."""

    def __init__(self, rules: Rules, form: TextForm, limited: LimitedTexts) -> None:
        self._rules = rules
        self._form = form
        self._texts = TextRules(rules, form, end="")
        self._allowed = limited.allowed(form.never)
        self._free = limited.free(form.never)
        self._languages = limited.languages
        self._names: dict[_Key, str] = {}
        self._pending: list[_Key] = []

    def rule(self, grammar: Productions) -> str | None:
        """The name of a rule for the phrases that can be written in the form; None if there are none.

        Raises `SchemaError` if there would be too many rules.
        """
        try:
            crossing = Crossing(grammar, self._allowed, self._languages)
            if not crossing.ends(grammar.start, 0):
                return None
            name = self._name((grammar.start, 0, 0 if self._allowed == ANY_TEXT else None))
            while self._pending:
                key = self._pending.pop()
                self._rules.define(self._names[key], " | ".join(self._ways(crossing, grammar, key)))
        except TooLarge:
            raise SchemaError(
                "#", "the mask of the grammar would be too large; write it with fewer rules"
            ) from None
        return name

    def _name(self, key: _Key) -> str:
        if key not in self._names:
            if len(self._names) > MOST_RULES:
                raise TooLarge
            self._names[key] = self._rules.reserve()
            self._pending.append(key)
        return self._names[key]

    def _ways(self, crossing: Crossing, grammar: Productions, key: _Key) -> dict[str, None]:
        what, state, end = key
        if isinstance(what, str):
            rests: list[Rest] = [(what, number, 0) for number in range(len(grammar.rules[what]))]
        else:
            rests = [what]
        texts = (self._way(crossing, grammar, rest, state, end) for rest in rests)
        return dict.fromkeys(text for each in texts for text in each)

    def _way(
        self, crossing: Crossing, grammar: Productions, rest: Rest, state: int, end: int | None
    ) -> Iterator[str]:
        """The EBNF of what is left of a way. Where it parts, its rests are rules."""
        rule, number, first = rest
        way = grammar.rules[rule][number]
        written: list[str] = []
        for place in range(first, len(way)):
            further = (rule, number, place + 1)
            through = [
                each
                for each in sorted(crossing.ends(way[place], state))
                if _leads(crossing.ends_of(further, each), end)
            ]
            if place + 1 == len(way):
                if through:
                    yield " ".join((*written, self._symbol(crossing, grammar, way[place], state, end)))
                return
            if len(through) != 1:
                for each in through:
                    symbol = self._symbol(crossing, grammar, way[place], state, each)
                    yield " ".join((*written, symbol, self._name((further, each, end))))
                return
            written.append(self._symbol(crossing, grammar, way[place], state, through[0]))
            state = through[0]
        if end in (None, state):
            yield '""'

    def _symbol(
        self, crossing: Crossing, grammar: Productions, symbol: str, state: int, end: int | None
    ) -> str:
        if symbol in grammar.rules:
            return self._name((symbol, state, end))
        text = crossing.between(symbol, state, end)
        word = text.word
        if word is not None and (written := inside(word, self._form)) is not None:
            return literal(written)
        return self._texts.rule(text, self._free)


def _leads(ends: frozenset[int], end: int | None) -> bool:
    return bool(ends) if end is None else end in ends
