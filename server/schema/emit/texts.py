r"""Languages of text as rules, one for each state of their automata but for mere steps.

TextRules(rules, JSON.text).rule(ANY_TEXT)     # r0 ::= "\"" | [ !#-…] r0 | "\\" (…) r0

A rule is a character, or some, and the rule of what is left, so that strings of up to 200 characters are 200
small rules, of which the last 100 are those of strings of up to 100. XGrammar's compiler remembers rules by
their structure and so knows the shorter ones, also in another grammar. But it knows none with a group in it:
escapes are a rule of their own. (A counted repeat would be one large rule, and costs it up to a hundred times
more for each token.)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from parsers.spelling import TextForm
from server.schema.automata.automaton import Automaton, Charset
from server.schema.emit.ebnf import characters, literal
from server.schema.emit.escapes import forms
from server.schema.emit.homes import around_home
from server.schema.emit.paths import Path, Step, paths
from server.schema.emit.rules import Rules


class TextRules:
    """Writes text with its `end`, None for that of its form, and what is `after` it.

    `ahead`: the characters of which one follows that, where they are known.
    """

    def __init__(
        self, rules: Rules, form: TextForm, *, end: str | None = None, after: str = "", ahead: str = ""
    ) -> None:
        self._rules = rules
        self._form = form
        self._end = literal((form.end if end is None else end) + after)
        self._ahead = (
            f" (={characters(tuple((ord(char), ord(char)) for char in sorted(ahead)))})" if ahead else ""
        )
        self._forms: dict[Charset, tuple[str, ...]] = {}
        self._known: dict[Automaton, str] = {}

    def rule(self, language: Automaton, free: Sequence[Automaton] = ()) -> str:
        """The name of a rule for the texts of the language, each with its end behind it.

        `free`: languages of all texts that do not hold what ends them, where something does.
        """
        if language not in self._known:
            self._known[language] = self._written(language, free)
        return self._known[language]

    def _written(self, language: Automaton, free: Sequence[Automaton]) -> str:
        ways = paths(language, lambda charset: len(self._forms_of(charset)))
        for known in free:
            ways = around_home(language, known, ways)
        names: dict[int, str] = {}
        awaited: set[int] = set()
        for state in _innermost_first(ways):
            targets = [path.target for path in ways[state] if path.target is not None]
            for target in targets:
                if target != state and target not in names:
                    names[target] = self._rules.reserve()
                    awaited.add(target)
            options = [(self._heads(path), self._rest(path, state, names)) for path in ways[state]]
            body = self._body(options, ends=language.states[state].accepts)
            if state in awaited:
                self._rules.define(names[state], body(names[state]))
            else:
                names[state] = self._rules.recursive(body)
        return names[0]

    def _rest(self, path: Path, state: int, names: Mapping[int, str]) -> str | None:
        """What follows the path: None where that is the rule of the state itself."""
        if path.target is None:
            return self._end
        return None if path.target == state else names[path.target]

    def _body(
        self, options: Sequence[tuple[tuple[str, ...], str | None]], *, ends: bool
    ) -> Callable[[str], str]:
        """Makes the body of a rule from its name, for options that lead on to the rule itself (None)."""

        def body(own: str) -> str:
            written = [self._end] if ends else []
            written += [f"{head} {rest or own}" for heads, rest in options for head in heads]
            return f"({' | '.join(written)}){self._ahead}" if self._ahead else " | ".join(written)

        return body

    def _heads(self, path: Path) -> tuple[str, ...]:
        more = [] if path.more is None else [(f"{self._forms_of(path.more)[0]}*",)]
        return tuple(map(" ".join, product(*map(self._spelled, path.steps), *more)))

    def _spelled(self, step: Step) -> tuple[str, ...]:
        before = f"{self._forms_of(step.behind)[0]}* " if step.behind else ""
        return tuple(before + form for form in self._forms_of(step.charset))

    def _forms_of(self, charset: Charset) -> tuple[str, ...]:
        if charset not in self._forms:
            self._forms[charset] = tuple(map(self._without_group, forms(charset, self._form)))
        return self._forms[charset]

    def _without_group(self, form: str) -> str:
        head, group, rest = form.partition(" (")
        return f"{head} {self._rules.shared(rest.removesuffix(')'))}" if group else form


def _innermost_first(ways: Mapping[int, tuple[Path, ...]]) -> Iterator[int]:
    """The states, each behind those that it leads to, as far as they do not lead back."""
    seen, pending = {0}, [(0, iter(ways[0]))]
    while pending:
        state, rest = pending[-1]
        targets = (path.target for path in rest if path.target is not None)
        target = next((target for target in targets if target not in seen), None)
        if target is None:
            pending.pop()
            yield state
        else:
            seen.add(target)
            pending.append((target, iter(ways[target])))
