"""Facts about an object, as a node: its properties, and which other keys there may be.

Free keys come in regions: those that match `^a` and not `b$`, those that match both, and so on, each with the
values of all patterns that its keys match.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from server.schema.automata import rules
from server.schema.automata.automaton import ANY_TEXT, Automaton
from server.schema.automata.limits import TooLarge
from server.schema.automata.rules import Rule
from server.schema.document import SchemaError
from server.schema.nodes import Anything, FreeKeys, Node, Object, Property, Text, Union
from server.schema.normal import unevaluated
from server.schema.normal.account import Account, Compiler
from server.schema.normal.conjunction import Conjunction
from server.schema.normal.facts import Counted, Has, Kinds, Lacks, Member, Names, Place, Shape, Strays
from server.schema.normal.scalars import words_of
from server.schema.normal.truth import Truth

MAX_REGIONS = 24
"""Regions of free keys, which patterns that overlap multiply."""
MAX_COUNTED = 4_000
"""States of an object whose keys are counted: its properties times the count."""

MAX_OPTIONAL = 2_000
"""Optional keys of an object. Behind each, any of those after it may be next: by the estimate of
`server.schema.cost`, half a minute of compiling for so many, and four times as long for twice as many."""

MAX_STRAYS = 32
"""Ways in which a key may be one that another schema does not know."""


@dataclass(frozen=True, slots=True)
class _Region:
    """Free keys that match all of some patterns and none of others."""

    rules: tuple[Rule, ...]
    matched: frozenset[str]


class ObjectBuilder:
    """One object while its node is made."""

    def __init__(self, conjunction: Conjunction, compiler: Compiler, account: Account) -> None:
        self.compiler = compiler
        self.account = account
        self.facts = conjunction.facts
        self.shapes = unevaluated.shapes(conjunction, account)
        self.wanted: dict[str, list[Member]] = {}
        for fact in self.facts:
            if isinstance(fact, Has):
                self.wanted.setdefault(fact.name, []).extend([fact.value] if fact.value else [])
        self.lacking = {fact.name for fact in self.facts if isinstance(fact, Lacks)}
        self.rules_of_names = [fact for fact in self.facts if isinstance(fact, Names)]
        self.is_closed = compiler.closed and _is_closed(self.shapes)

    def build(self) -> Iterable[Object]:
        names = dict.fromkeys(name for shape in self.shapes for name in shape.properties)
        names.update(dict.fromkeys(self.wanted))
        key_nodes = [
            self.compiler.node((Kinds(frozenset(("string",))), rule.value), self.account)
            for rule in self.rules_of_names
        ]
        listed = [words for node in key_nodes if (words := words_of(node)) is not None]
        if listed and not self.is_closed:
            fewest = min(listed, key=len)
            names.update(dict.fromkeys(fewest))
        if len(names) - len(self.wanted) > MAX_OPTIONAL:
            raise SchemaError(
                self.account.pointer,
                f"the object has more than {MAX_OPTIONAL:,} optional keys, too many for a mask; "
                "make keys required, or drop those that are not in use",
            )
        properties = self._properties(names)
        if properties is None:
            return
        free = () if listed else tuple(self._free({*names, *self.lacking}, key_nodes))
        for straying in self._straying(properties, has_free=bool(free)):
            if (node := self._count(straying, free)) is not None:
                yield node

    def _properties(self, names: Iterable[str]) -> list[Property] | None:
        properties = []
        for name in names:
            value = self._value_of(name)
            if value is not None:
                properties.append(Property(name, value, required=name in self.wanted))
            elif name in self.wanted:
                self.account.cause = self.account.failed
                return None
        return properties

    def _straying(self, properties: list[Property], *, has_free: bool) -> Iterable[list[Property]]:
        """The properties, with one required that strays, in every way that there is."""
        ways: list[dict[str, tuple[Member, ...]]] = [{}]
        for fact in self.facts:
            if not isinstance(fact, Strays):
                continue
            candidates = [each for each in properties if self._strays(each.name, fact)]
            if fact.value is None and any(each.required for each in candidates):
                continue
            if has_free or len(ways) * len(candidates) > MAX_STRAYS:
                self.account.note(fact.place, "the mask cannot ask for a key beside those that it knows")
                continue
            asked = () if fact.value is None else (fact.value,)
            ways = [
                {**way, each.name: (*way.get(each.name, ()), *asked)} for way in ways for each in candidates
            ]
        return [way for chosen in ways if (way := self._chosen(properties, chosen)) is not None]

    def _strays(self, name: str, fact: Strays) -> bool:
        matches = self.compiler.truth.matches
        return name not in fact.names and not any(matches(pattern, name) for pattern in fact.patterns)

    def _chosen(
        self, properties: list[Property], chosen: dict[str, tuple[Member, ...]]
    ) -> list[Property] | None:
        """The properties, with those that are chosen required and held to more."""
        way: list[Property] = []
        for each in properties:
            value = self._value_of(each.name, *chosen[each.name]) if chosen.get(each.name) else each.value
            if value is None:
                return None
            way.append(Property(each.name, value, required=each.required or each.name in chosen))
        return way

    def _value_of(self, name: str, *more: Member) -> Node | None:
        if name in self.lacking:
            return None
        if self.is_closed and self.wanted.get(name) and not self._is_declared(name):
            # Only a branch that must not hold speaks of the key: the model is not to be told of it.
            return None
        if not all(self.compiler.truth.holds(rule.value, name) for rule in self.rules_of_names):
            return None
        wanted = [*self.wanted.get(name, ()), *more]
        members = values_of(name, self.shapes, wanted, self.compiler.truth)
        return self.compiler.node(members, self.account)

    def _is_declared(self, name: str) -> bool:
        return any(name in shape.properties for shape in self.shapes)

    def _free(self, taken: set[str], key_nodes: Sequence[Node | None]) -> Iterable[FreeKeys]:
        """The keys that have no name, by region."""
        patterns = {pattern: shape.place for shape in self.shapes for pattern in shape.patterns}
        keys = self._languages_of(key_nodes)
        for region in self._regions(taken, patterns):
            if self.is_closed and not region.matched:
                continue
            members: list[Member] = []
            for shape in self.shapes:
                found: list[Member] = [shape.patterns[p] for p in shape.patterns if p in region.matched]
                members += found or ([shape.others] if shape.others is not None else [])
            # The value first: an object that allows no other keys needs no automaton of them.
            value = self.compiler.node(members, self.account)
            if value is None:
                continue
            languages = [
                language
                for key in keys
                if (language := self._meet(self._language(region.rules), key)) is not None
            ]
            if languages:
                self.account.note_duplicates()
                for language in languages:
                    yield FreeKeys(None if language == ANY_TEXT else language, value)

    def _regions(self, taken: set[str], patterns: dict[str, Place]) -> list[_Region]:
        place = self.shapes[0].place if self.shapes else Place(self.account.pointer, "properties")
        none_of = (Rule(place.pointer, place.keyword, rules.IsNoneOf(tuple(taken))),) if taken else ()
        regions = [_Region(none_of, frozenset())]
        for pattern, at in patterns.items():
            if len(regions) > MAX_REGIONS:
                self.account.note(at, "too many patterns that overlap")
                break
            regions = [
                part
                for region in regions
                for part in (
                    _Region(
                        (*region.rules, Rule(at.pointer, at.keyword, rules.Matches(pattern))),
                        region.matched | {pattern},
                    ),
                    _Region(
                        (*region.rules, Rule(at.pointer, at.keyword, rules.MatchesNot(pattern))),
                        region.matched,
                    ),
                )
                if self._language(part.rules) is not None
            ]
        return regions

    def _language(self, asked: Sequence[Rule]) -> Automaton | None:
        language = self.compiler.languages.text(asked, self.account.ledger) if asked else ANY_TEXT
        self.compiler.spend(language)
        return language

    def _languages_of(self, key_nodes: Sequence[Node | None]) -> list[Automaton]:
        """What `propertyNames` leaves of all texts: one of these."""
        languages: list[Automaton] = [ANY_TEXT]
        for node in key_nodes:
            options = [option for part in _parts(node) if (option := self._text_of(part)) is not None]
            met = (self._meet(one, other) for one in languages for other in options)
            languages = [language for language in met if language is not None]
        return languages

    def _text_of(self, node: Node) -> Automaton | None:
        node = self.compiler.seen(node) or Anything()
        if isinstance(node, Text):
            return node.language or ANY_TEXT
        words = words_of(node)
        if words is None:
            return ANY_TEXT
        return self._language((Rule(self.account.pointer, "propertyNames", rules.IsOneOf(tuple(words))),))

    def _meet(self, one: Automaton | None, other: Automaton) -> Automaton | None:
        if one is None or other == ANY_TEXT:
            return one
        if one == ANY_TEXT:
            return other
        try:
            return self.compiler.languages.meet(one, other)
        except TooLarge:
            for rule in self.rules_of_names:
                self.account.note(rule.place, "the pattern of the keys is too large for a mask")
            return one

    def _count(self, properties: list[Property], free: tuple[FreeKeys, ...]) -> Object | None:
        least, most = counted(self.facts, "object")
        required = sum(each.required for each in properties)
        if not free:
            most = len(properties) if most is None else min(most, len(properties))
        if most is not None and (most < required or most < least):
            return None
        least = least if least > required else 0
        most = None if not free and most == len(properties) else most
        if max(least, most or 0) * (len(properties) + 1) > MAX_COUNTED:
            for fact in self.facts:
                if isinstance(fact, Counted) and fact.kind == "object":
                    self.account.note(fact.place, "too many keys to count in a mask")
            least, most = 0, None
        return Object(tuple(properties), free, least, most)


def values_of(name: str, shapes: Iterable[Shape], wanted: Iterable[Member], truth: Truth) -> list[Member]:
    """What the value of a key keeps to."""
    members: list[Member] = []
    for shape in shapes:
        found: list[Member] = [shape.properties[name]] if name in shape.properties else []
        found += [child for pattern, child in shape.patterns.items() if truth.matches(pattern, name)]
        members += found or ([shape.others] if shape.others is not None else [])
    return [*members, *wanted]


def counted(facts: Iterable[object], kind: str) -> tuple[int, int | None]:
    """The bounds that the facts state together."""
    found = [fact for fact in facts if isinstance(fact, Counted) and fact.kind == kind]
    least = max((fact.least for fact in found), default=0)
    return least, min((fact.most for fact in found if fact.most is not None), default=None)


def _is_closed(shapes: Sequence[Shape]) -> bool:
    """Whether a closed object has the keys only that the shapes speak of."""
    declares = any(shape.properties or shape.patterns for shape in shapes)
    return declares and all(shape.others is None for shape in shapes)


def _parts(node: Node | None) -> Sequence[Node]:
    if node is None:
        return ()
    return node.nodes if isinstance(node, Union) else (node,)
