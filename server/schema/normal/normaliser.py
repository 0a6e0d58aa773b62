"""From a document to the nodes of its values.

normaliser = Normaliser(Document.load({"type": "object", "properties": {"a": {"$ref": "#"}}}), Languages(), …)
normaliser.values()
# Values(Reference("n0"), {"n0": Object((Property("a", Reference("n0"), required=False),), …)})

A node is made of a *set* of members that hold for one value. Sets are remembered, so that one that stands
within itself becomes a reference, and one that stands in many places is made once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from server.schema.automata.automaton import ANY_CHARACTER, Automaton, State
from server.schema.automata.charsets import size_of
from server.schema.automata.languages import Languages
from server.schema.document import Document, SchemaError
from server.schema.nodes import Array, Node, Object, Reference, Union, Values
from server.schema.normal.account import Account, Key, pointer_of
from server.schema.normal.alternatives import MAX_CLASHES, spell_out
from server.schema.normal.conjunction import Conjunction
from server.schema.normal.disjoint import are_disjoint
from server.schema.normal.facts import (
    KINDS,
    Fails,
    Has,
    Holds,
    Kind,
    Kinds,
    Member,
    Opened,
    Shape,
)
from server.schema.normal.finite import finite
from server.schema.normal.negation import open_negation
from server.schema.normal.objects import values_of
from server.schema.normal.opening import open_node
from server.schema.normal.resources import Resources
from server.schema.normal.truth import Truth
from server.schema.normal.typed import typed
from server.schema.normal.unions import union
from server.schema.unmasked import Ledger, Unmasked

MAX_STATES = 40_000
"""States of all languages of one document; each is a rule of its grammar."""
MAX_CHOOSY = 5_000
"""Of these, states of patterns: each takes a processor .1 ms to make, and the engine's compiler 3 ms and
more. It knows those of lengths, and has little to do for words and digits."""
FEW = 16
"""Characters that lead on from a state, the most for which the compiler has little to do."""
MAX_NODES = 20_000
"""Sets of members of one document."""

_SMALL = frozenset(
    {
        *("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minLength", "maxLength", "pattern", "not"),
        *("title", "description", "default", "examples", "$comment"),
    }
)
"""Keywords of nodes that are quickly made, and so are worth a look before a branch is gone into."""


@dataclass(slots=True)
class _Entry:
    """One set of members. `node` says something once it `is_done`."""

    name: str
    account: Account
    node: Node | None = None
    is_done: bool = False


class Normaliser:
    """Makes the nodes of one document, once."""

    def __init__(self, document: Document, languages: Languages, *, closed: bool) -> None:
        self.closed = closed
        self.languages = languages
        self.truth = Truth(document)
        self._document = document
        self._resources = Resources(document)
        self._plain = self if not closed else Normaliser(document, languages, closed=False)
        """Compares what schemas mean, where masks are to be narrower than that."""
        self._languages: set[Automaton] = set()
        self._states = 0
        self._choosy = 0
        self._entries: dict[Key, _Entry] = {}
        self._names: dict[str, _Entry] = {}

    def values(self, kinds: Iterable[Kind] = KINDS) -> tuple[Values, tuple[Unmasked, ...]]:
        """The values of these kinds, and what a mask of them does not hold.

        Raises `SchemaError` if there are none.
        """
        account = Account("#")
        at = self._document.root
        allowed = frozenset(kinds)
        only = () if len(allowed) == len(KINDS) else (Kinds(allowed),)
        root = self.node((Holds(at, self._resources.enter(at, ())), *only), account)
        definitions = {
            name: entry.node
            for name, entry in self._names.items()
            if entry.is_done and entry.node is not None
        }
        values = None if root is None else finite(root, definitions)
        if values is None:
            place = account.failed or "#"
            raise SchemaError(place, "no value satisfies the schema; its constraints contradict each other")
        return values, self._notes(account)

    def _notes(self, account: Account) -> tuple[Unmasked, ...]:
        """The notes of an account, and of all that it rests on."""
        ledger = Ledger()
        pending, seen = [account], set[Key]()
        while pending:
            current = pending.pop()
            for entry in current.ledger.entries():
                ledger.note(entry.pointer, entry.keyword, entry.why)
            for key in current.parts:
                if key not in seen:
                    seen.add(key)
                    pending.append(self._entries[key].account)
        return tuple(sorted(ledger.entries(), key=lambda entry: entry.pointer))

    def node(self, members: Iterable[Member], account: Account) -> Node | None:
        """What the members come to, as a part of the account's own node. None: nothing."""
        given = tuple(dict.fromkeys(map(self._followed, members)))
        key = frozenset(given)
        entry = self._entries.get(key)
        account.parts.append(key)
        if entry is None:
            entry = self._entries[key] = self._new(given, account)
            entry.node = self._node(given, entry.account)
            entry.is_done = True
        elif not entry.is_done or isinstance(entry.node, Object | Array | Union):
            self._names[entry.name] = entry
        if entry.name in self._names and not (entry.is_done and entry.node is None):
            return Reference(entry.name)
        if entry.node is None:
            account.failed = entry.account.cause or entry.account.pointer
        return entry.node

    def _followed(self, member: Member) -> Member:
        """The member, or what it is a mere reference to."""
        seen: set[Member] = set()
        while isinstance(member, Holds | Fails) and member not in seen:
            seen.add(member)
            target = self._resources.mere_target(member.node)
            if target is None:
                return member
            member = replace(member, node=target, scope=self._resources.enter(target, member.scope))
        return member

    def _new(self, given: Sequence[Member], parent: Account) -> _Entry:
        if len(self._entries) >= MAX_NODES:
            raise SchemaError(
                "#", f"the schema spreads to more than {MAX_NODES:,} nodes; simplify its unions"
            )
        return _Entry(f"n{len(self._entries)}", Account(pointer_of(given, parent.pointer)))

    def _node(self, members: Sequence[Member], account: Account) -> Node | None:
        conjunction = Conjunction.of(members, self)
        if conjunction is None:
            return None
        parts: list[Node] = []
        for way in spell_out(conjunction, self):
            tried = Account(account.pointer)
            found = typed(way, self, tried)
            account.cause = tried.cause
            if found:
                account.add(tried)
                parts += found
        return union(parts)

    def spend(self, language: Automaton | None) -> None:
        """Count the states of a language. Raises `SchemaError` if all of them would be too large a mask."""
        if language is None or language in self._languages:
            return
        self._languages.add(language)
        self._states += len(language.states)
        self._choosy += sum(map(_is_choosy, language.states))
        if self._states > MAX_STATES or self._choosy > MAX_CHOOSY:
            raise SchemaError(
                "#", "the mask of the schema would be too large; its bounds and patterns are too many"
            )

    def seen(self, node: Node) -> Node | None:
        """What a reference stands for; None if that is not known yet."""
        if isinstance(node, Reference):
            entry = self._names[node.name]
            return entry.node if entry.is_done else None
        return node

    def open(self, member: Holds | Fails) -> Opened | None:
        """What a member comes to, one step on."""
        if isinstance(member, Holds):
            return open_node(member, self._document, self._resources)
        return open_negation(member, self._document, self._resources)

    def is_refuted(self, conjunction: Conjunction) -> bool:
        """Whether a key that an object must have can have no value, as far as a quick look tells."""
        if conjunction.kinds != {"object"}:
            return False
        shapes = [fact for fact in conjunction.facts if isinstance(fact, Shape)]
        wanted: dict[str, list[Member]] = {}
        for fact in conjunction.facts:
            if isinstance(fact, Has):
                wanted.setdefault(fact.name, []).extend([fact.value] if fact.value else [])
        for name, values in wanted.items():
            members = values_of(name, shapes, values, self.truth)
            is_quick = len(members) > 1 and all(map(_is_small, members))
            if is_quick and self._plain.node(members, Account("#")) is None:
                return True
        return False

    def clashes(self, branches: Sequence[tuple[Member, ...]], base: Sequence[Member]) -> set[tuple[int, int]]:
        """The pairs of branches that one value may fit both of, beside what else is known of it."""
        alone = self._plain.overlaps(branches, {(i, j) for j in range(len(branches)) for i in range(j)})
        if not alone or len(alone) > MAX_CLASHES:
            return alone
        return self._plain.overlaps([(*base, *branch) for branch in branches], alone)

    def overlaps(
        self, branches: Sequence[tuple[Member, ...]], pairs: set[tuple[int, int]]
    ) -> set[tuple[int, int]]:
        """Those of the pairs that have a value in common, as far as can be told."""
        wanted = {index for pair in pairs for index in pair}
        nodes = {index: self.node(branches[index], Account("#")) for index in wanted}
        found = ((i, j) for i, j in sorted(pairs) if not self._differ(nodes[i], nodes[j]))
        # If they are more, they are not looked at one by one.
        return set(islice(found, MAX_CLASHES + 1))

    def _differ(self, one: Node | None, other: Node | None) -> bool:
        return one is None or other is None or are_disjoint(one, other, self)


def _is_choosy(state: State) -> bool:
    """Whether many characters lead on from a state, but not all."""
    charsets = [charset for charset, _ in state.moves]
    return charsets != [ANY_CHARACTER] and sum(map(size_of, charsets)) > FEW


def _is_small(member: Member) -> bool:
    if not isinstance(member, Holds | Fails):
        return False
    schema = member.node.schema
    return isinstance(schema, bool) or schema.keys() <= _SMALL
