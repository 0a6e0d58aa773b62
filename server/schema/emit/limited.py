r"""What of a language can be written where text has no quotes, or none that could be escaped.

Such text cannot hold what ends it; and where it stands beside values of other kinds, and only the schema
tells which kind a value is, it cannot look like one of those.
"""

from collections.abc import Collection, Iterable, Sequence

from parsers.spelling import LOOKALIKES
from server.schema.automata.automaton import ANY_TEXT, Automaton
from server.schema.automata.charsets import size_of
from server.schema.automata.languages import Languages
from server.schema.automata.limits import TooLarge
from server.schema.automata.rules import IsNoneOf, Matches, MatchesNot, Rule
from server.schema.unmasked import Ledger

WIDEST = 200
"""States that most characters leave, in one language; the engine's compiler needs 20 ms for each."""
LONGEST_MARK = 5
"""Characters of a mark that are looked for in a language that has states of its own, and so one for each."""

_WIDE = 1_000
_WHY = "this model writes text without quotes, and the mask does not count it while it looks for its end"


class LimitedTexts:
    """Limits languages, and notes in the ledger where a limit has to take the language's place."""

    def __init__(self, languages: Languages, ledger: Ledger) -> None:
        self.languages = languages
        self._ledger = ledger

    def matching(self, pattern: str) -> Automaton:
        """The texts that match a pattern of our own; all if it is empty."""
        found = self.languages.text([Rule("#", "pattern", Matches(pattern))] if pattern else [], Ledger())
        return ANY_TEXT if found is None else found

    def none_of(self, words: Sequence[str]) -> Automaton:
        """All texts but the words."""
        found = self.languages.text([Rule("#", "enum", IsNoneOf(tuple(words)))], Ledger())
        return ANY_TEXT if found is None else found

    def note(self, pointer: str, keyword: str, why: str) -> None:
        """Note what the mask does not hold."""
        self._ledger.note(pointer, keyword, why)

    def common(self, one: Automaton, other: Automaton) -> Automaton | None:
        """The texts of both. Raises `TooLarge`."""
        if ANY_TEXT in (one, other):
            return other if one == ANY_TEXT else one
        return self.languages.meet(one, other)

    def free(self, marks: Sequence[str]) -> tuple[Automaton, ...]:
        """All texts that hold none of the marks, and those that hold not even their beginnings."""
        if not marks:
            return ()
        both = (self._any_without(marks, ()), self._any_without(_short(marks), ()))
        return tuple(found for found in both if found is not None)

    def allowed(self, marks: Sequence[str]) -> Automaton:
        """All texts without the beginnings of the marks."""
        return self._any_without(_short(marks), ()) or ANY_TEXT

    def without(
        self, language: Automaton, marks: Sequence[str], kinds: Collection[str], pointer: str
    ) -> Automaton | None:
        """The texts that hold none of the marks, and look like no value of the kinds.

        All such texts, noted, where an automaton of those of the language would be too large.
        """
        if not marks and not kinds:
            return language
        if language == ANY_TEXT:
            return self._any_without(marks, kinds)
        allowed = self._any_without(_short(marks), kinds)
        try:
            found = None if allowed is None else self.common(language, allowed)
            if found is None or not _is_costly(found):
                return found
        except TooLarge:
            pass
        self.note(pointer, "maxLength", _WHY)
        return self._any_without(marks, kinds)

    def _any_without(self, marks: Sequence[str], kinds: Iterable[str]) -> Automaton | None:
        patterns = [*map(_spelled_out, marks), *(LOOKALIKES[kind] for kind in sorted(kinds))]
        rules = [Rule("#", "pattern", MatchesNot(pattern)) for pattern in patterns]
        return self.languages.text(rules, Ledger())


def _short(marks: Sequence[str]) -> list[str]:
    return [mark[:LONGEST_MARK] for mark in marks]


def _spelled_out(text: str) -> str:
    return "".join(f"\\u{{{ord(character):x}}}" for character in text)


def _is_costly(language: Automaton) -> bool:
    leaving = (sum(size_of(charset) for charset, _ in state.moves) for state in language.states)
    return sum(size > _WIDE for size in leaving) > WIDEST
