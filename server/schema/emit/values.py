"""Values in one spelling, and those within them in theirs."""

from collections.abc import Collection
from dataclasses import dataclass

from parsers.spelling import NO_SIGNS, KindsBy, Signs, Spelling, TextForm
from server.schema.automata.automaton import ANY_TEXT, Automaton
from server.schema.automata.limits import TooLarge
from server.schema.document import SchemaError
from server.schema.emit.arrays import ArrayRules, Counted
from server.schema.emit.ebnf import Expression, Rule, fixed, sequence, written
from server.schema.emit.kinds import ANYTHING, Definitions, by_kind
from server.schema.emit.limited import LimitedTexts
from server.schema.emit.literals import inside, spelled
from server.schema.emit.objects import Member, ObjectRules
from server.schema.emit.phrases import PhraseRules
from server.schema.emit.places import Place
from server.schema.emit.reading import is_read, lookalikes, looks_like
from server.schema.emit.rules import Rules
from server.schema.emit.texts import TextRules
from server.schema.nodes import (
    Anything,
    Array,
    Boolean,
    FreeKeys,
    Literals,
    Node,
    Null,
    Number,
    Object,
    Phrase,
    Productions,
    Property,
    Reference,
    Text,
    Union,
)

MOST_DIGITS = 200
"""Of a number before its point. With an exponent of two digits, a double holds every such number."""
MOST_PLACES = 50
"""Behind its point."""

_INTEGER = f'"-"? ("0" | [1-9] [0-9]{{0,{MOST_DIGITS - 1}}})'
_NUMBER = rf'{_INTEGER} ("." [0-9]{{1,{MOST_PLACES}}})? ([eE] [+\-]? [0-9] [0-9]?)?'
_DECIMAL = TextForm("", "")

_LOOSE_ENDS = "this model writes elements, and the mask does not know the end tags of unnamed ones"

_Written = Literals | Null | Boolean | Number | Text | Phrase | Array | Object | Union
"""The nodes that are written where they stand."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What all spellings of one grammar share."""

    rules: Rules
    definitions: Definitions
    limited: LimitedTexts
    names: tuple[str, ...]
    """All keys that the schema names."""


class ValueRules:
    """Writes values in one spelling. An expression of None is of values that cannot be written."""

    def __init__(self, grammar: Grammar, spelling: Spelling, *, ahead: str) -> None:
        self._grammar = grammar
        self._rules = grammar.rules
        self._spelling = spelling
        self._is_plain = spelling.is_plain
        self._within = self
        self._ahead = ahead
        self._texts: dict[tuple[TextForm, str, str], TextRules] = {}
        self._known: dict[tuple[int, int], tuple[Node, Place, Expression | None]] = {}
        """By the identity of nodes, whose equality takes 1 and true for one value, and of their places."""
        self._open: dict[tuple[int, int], str] = {}
        """What is being written, and the names of the rules that it has turned out to need."""

    @classmethod
    def of(cls, grammar: Grammar, spelling: Spelling, *, ahead: str = "") -> "ValueRules":
        """What writes values, `ahead` of one of these characters, and all that they hold."""
        rules, behind = cls(grammar, spelling, ahead=ahead), _behind_values(spelling)
        if spelling.within is not None or ahead != behind:
            rules._within = cls.of(grammar, spelling.within or spelling, ahead=behind)
        return rules

    def expression(self, node: Node, place: Place) -> Expression | None:
        """The text of the node's values at a place, which makes a difference in some spellings only."""
        if isinstance(node, Anything):
            return self.expression(ANYTHING, place)
        if isinstance(node, Reference):
            return self.expression(self._grammar.definitions[node.name], place)
        key = (id(node), 0 if self._is_plain else id(place))
        if key in self._open:
            # The node stands within itself.
            self._open[key] = self._open[key] or self._rules.reserve()
            return (Rule(self._open[key]),)
        if key not in self._known:
            self._known[key] = (node, place, self._whole(node, place, key))
        return self._known[key][2]

    def _whole(self, node: _Written, place: Place, key: tuple[int, int]) -> Expression | None:
        self._open[key] = ""
        found = self._write(node, place)
        name = self._open.pop(key)
        if not name:
            return found
        if found is None:
            raise SchemaError("#", "no value of the schema can be written in this model's form of calls")
        self._rules.define(name, written(found))
        return (Rule(name),)

    def _write(self, node: _Written, place: Place) -> Expression | None:
        match node:
            case Literals(values):
                return self._literals(values, place)
            case Null():
                return fixed(self._spelling.null)
            case Boolean():
                return self._rules.one_of([fixed(self._spelling.true), fixed(self._spelling.false)])
            case Number():
                return self._number(node)
            case Text(language):
                return self._text(language, place)
            case Phrase(grammar):
                return self._phrase(grammar)
            case Array():
                return self._array(node, place)
            case Object():
                return self._object(node, place)
            case Union(nodes):
                return self._rules.one_of(self.expression(one, place) for one in nodes)

    def _literals(self, values: tuple[object, ...], place: Place) -> Expression | None:
        if self._is_plain:
            texts = (spelled(value, self._spelling) for value in values)
            return self._rules.one_of(None if text is None else fixed(text) for text in texts)
        nodes = [node for _, node in by_kind(Literals(values), {})]
        return self._rules.one_of(
            self._scalars(node) if isinstance(node, Literals) else self.expression(node, place)
            for node in nodes
        )

    # Numbers and texts.

    def _number(self, node: Number) -> Expression:
        if node.text is not None:
            return (Rule(self._rules_of(_DECIMAL, "", self._ahead).rule(node.text)),)
        return (Rule(self._rules.shared(_INTEGER if node.integer else _NUMBER)),)

    def _text(
        self, language: Automaton | None, place: Place, *, after: str = "", unlike: Collection[str] = ()
    ) -> Expression | None:
        """Text that looks like no value of the kinds `unlike`, and what is after it."""
        form = self._spelling.text
        found = self._grammar.limited.without(language or ANY_TEXT, form.never, unlike, place.pointer)
        if found is None:
            return None
        ahead = "" if after else self._ahead
        return sequence(
            fixed(form.begin),
            (Rule(self._rules_of(form, after, ahead).rule(found, self._grammar.limited.free(form.never))),),
        )

    def _phrase(self, grammar: Productions, *, after: str = "") -> Expression | None:
        """Text of a grammar, which stands where no value of another kind does, and what is after it."""
        form = self._spelling.text
        name = PhraseRules(self._rules, form, self._grammar.limited).rule(grammar)
        return None if name is None else sequence(fixed(form.begin), (Rule(name),), fixed(form.end + after))

    def _rules_of(self, form: TextForm, after: str, ahead: str) -> TextRules:
        key = (form, after, ahead)
        if key not in self._texts:
            self._texts[key] = TextRules(self._rules, form, after=after, ahead=ahead)
        return self._texts[key]

    # Arrays and objects.

    def _array(self, node: Array, place: Place) -> Expression | None:
        least = max(node.least, 1) if self._is_unseen("array", place) else node.least
        arrays = ArrayRules(self._rules, self._spelling.items, least, node.most)
        if node.contains is not None:
            matching = self._item(node.contains.matching, place)
            other = None if node.contains.other is None else self._item(node.contains.other, place)
            if matching is None:
                return None
            found = arrays.counted(Counted(matching, other, node.contains.least, node.contains.most))
        else:
            prefix = [self._item(item, place) for item in node.prefix]
            held = next((at for at, item in enumerate(prefix) if item is None), None)
            items = None if node.items is None or held is not None else self._item(node.items, place)
            found = arrays.of_places([item for item in prefix[:held] if item is not None], items)
        return self._as_rule(found)

    def _item(self, node: Node, place: Place) -> Expression | None:
        form = self._spelling.items
        inner = place if self._is_plain else place.item
        return self._within.placed(node, inner, NO_SIGNS, form.before, form.after)

    def _object(self, node: Object, place: Place) -> Expression | None:
        form = self._spelling.members
        items = sorted(node.properties, key=lambda item: item.name) if form.is_sorted else node.properties
        members = [Member(text, item.required) for item in items if (text := self._member(item, place))]
        if sum(member.required for member in members) < sum(item.required for item in items):
            return None
        free = [text for keys in node.free if (text := self._free(keys, place))]
        objects = ObjectRules(self._rules, form, members, free)
        least = max(node.least, 1) if self._is_unseen("object", place) else node.least
        return self._as_rule(objects.expression(least, node.most))

    def _is_unseen(self, kind: str, place: Place) -> bool:
        """Whether an empty object or array is written as nothing, and nothing is a value of another kind."""
        others = {"string"} if kind == "array" else {"string", "array"}
        return self._spelling.members.is_tags and not place.kinds.isdisjoint(others)

    def _member(self, item: Property, place: Place) -> Expression | None:
        """A member, from behind what all keys begin with."""
        form = self._spelling.members
        key = inside(item.name, form.key)
        if key is None or not self._grammar.limited.matching(form.names).accepts(item.name):
            return None
        if form.is_tags and item.name == self._spelling.items.key and "array" in place.kinds:
            # It would begin an array.
            return None
        after = form.after + (form.closing + item.name + form.key.end if form.is_tags else "")
        inner = place if self._is_plain else place.member(item.name)
        value = self._within.placed(item.value, inner, form.signs, form.equals, after)
        return None if value is None else sequence(fixed(key + form.key.end), value)

    def _free(self, keys: FreeKeys, place: Place) -> Expression | None:
        form = self._spelling.members
        names = self._free_names(keys, place)
        inner = place if self._is_plain else place.free
        after = form.closing if form.is_tags else form.after
        value = self._within.placed(keys.value, inner, form.signs, form.equals, after)
        if names is None or value is None:
            return None
        key = (Rule(self._rules_of(form.key, "", _behind_values(self._spelling)).rule(names)),)
        return sequence(key, value, key) if form.is_tags else sequence(key, value)

    def _free_names(self, keys: FreeKeys, place: Place) -> Automaton | None:
        """The keys that can be written. The end tag of an element ends any element of its name around it."""
        form, limited = self._spelling.members, self._grammar.limited
        try:
            names = limited.common(keys.names or ANY_TEXT, limited.matching(form.free))
            if form.is_tags and names is not None:
                if not place.free.kinds.isdisjoint({"array", "object"}):
                    limited.note(place.pointer, "additionalProperties", _LOOSE_ENDS)
                taken = (*self._grammar.names, self._spelling.items.key)
                names = limited.common(names, limited.none_of(taken))
            return names
        except TooLarge:
            return None

    def placed(self, node: Node, place: Place, signs: Signs, before: str, after: str) -> Expression | None:
        """A value at a place, and what stands before and after it."""
        if signs == NO_SIGNS and self._spelling.text.end and self._spelling.kinds is KindsBy.SPELLING:
            value = self.expression(node, place)
            return None if value is None else sequence(fixed(before), value, fixed(after))
        ways = []
        for kind, part in by_kind(node, self._grammar.definitions):
            value = self._ended(part, place, after) if is_read(kind, place, self._spelling) else None
            ways.append(None if value is None else sequence(fixed(signs.of(kind) + before), value))
        return self._rules.one_of(ways)

    def _ended(self, node: Node, place: Place, after: str) -> Expression | None:
        """A value of one kind and what is after it."""
        others = lookalikes(place, self._spelling)
        if isinstance(node, Text):
            return self._text(node.language, place, after=after, unlike=others)
        if isinstance(node, Phrase):
            return self._phrase(node.grammar, after=after)
        if isinstance(node, Literals):
            read = tuple(value for value in node.values if not looks_like(value, others))
            found = self._scalars(Literals(read))
        else:
            found = self.expression(node, place)
        return None if found is None else sequence(found, fixed(after))

    def _scalars(self, node: Literals) -> Expression | None:
        texts = (spelled(value, self._spelling) for value in node.values)
        return self._rules.one_of(None if text is None else fixed(text) for text in texts)

    def _as_rule(self, expression: Expression | None) -> Expression | None:
        """The expression as one name, so that it is written out once however often it is used."""
        return None if expression is None else (Rule(self._rules.shared(written(expression))),)


def _behind_values(spelling: Spelling) -> str:
    """The characters of which one follows a value, or a key, in an object or an array; none if any may."""
    members, items = spelling.members, spelling.items
    behind = [
        *((members.after,) if members.after else (members.separator, members.end)),
        *((items.after,) if items.after else (items.separator, items.end)),
        members.equals,
    ]
    return "".join({text[0] for text in behind}) if all(behind) else ""
