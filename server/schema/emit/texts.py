r"""Languages of text as rules, one for each state of their automata.

TextRules(rules, JSON.text).rule(ANY_TEXT)     # r0 ::= "\"" | [ !#-…] r0 | "\\" (…) r0

A rule is a character and the rule of what is left, so that strings of up to 200 characters are 200 small
rules, of which the last 100 are those of strings of up to 100. XGrammar's compiler remembers rules by their
structure and so knows the shorter ones, also in another grammar. (A counted repeat would be one large rule,
and costs it up to a hundred times more for each token.)
"""

from collections.abc import Iterator

from parsers.spelling import TextForm
from server.schema.automata.automaton import Automaton, Charset
from server.schema.emit.ebnf import characters, literal
from server.schema.emit.escapes import forms
from server.schema.emit.rules import Rules


class TextRules:
    """Writes text with its end and what is `after` it.

    `ahead`: the characters of which one follows that, where they are known.
    """

    def __init__(self, rules: Rules, form: TextForm, *, after: str = "", ahead: str = "") -> None:
        self._rules = rules
        self._form = form
        self._end = literal(form.end + after)
        self._ahead = (
            f" (={characters(tuple((ord(char), ord(char)) for char in sorted(ahead)))})" if ahead else ""
        )
        self._forms: dict[Charset, tuple[str, ...]] = {}
        self._known: dict[Automaton, str] = {}

    def rule(self, language: Automaton) -> str:
        """The name of a rule for the texts of the language, each with its end behind it."""
        if language not in self._known:
            self._known[language] = self._written(language)
        return self._known[language]

    def _written(self, language: Automaton) -> str:
        names: dict[int, str] = {}
        awaited: set[int] = set()
        for state in _innermost_first(language):
            for _, target in language.states[state].moves:
                if target != state and target not in names:
                    names[target] = self._rules.reserve()
                    awaited.add(target)
            if state in awaited:
                self._rules.define(names[state], self._body(language, state, names, names[state]))
            else:
                names[state] = self._shared(language, state, names)
        return names[0]

    def _shared(self, language: Automaton, state: int, names: dict[int, str]) -> str:
        return self._rules.recursive(lambda own: self._body(language, state, names, own))

    def _body(self, language: Automaton, state: int, names: dict[int, str], own: str) -> str:
        at = language.states[state]
        ways = [self._end] if at.accepts else []
        for charset, target in at.moves:
            rest = own if target == state else names[target]
            ways += [f"{form} {rest}" for form in self._forms_of(charset)]
        body = " | ".join(ways)
        return f"({body}){self._ahead}" if self._ahead else body

    def _forms_of(self, charset: Charset) -> tuple[str, ...]:
        if charset not in self._forms:
            self._forms[charset] = forms(charset, self._form)
        return self._forms[charset]


def _innermost_first(language: Automaton) -> Iterator[int]:
    """The states, each behind those that it leads to, as far as they do not lead back."""
    seen, path = {0}, [(0, iter(language.states[0].moves))]
    while path:
        state, moves = path[-1]
        target = next((target for _, target in moves if target not in seen), None)
        if target is None:
            path.pop()
            yield state
        else:
            seen.add(target)
            path.append((target, iter(language.states[target].moves)))
