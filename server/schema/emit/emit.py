r"""From the values of a schema to a grammar of their text.

print(emit(Values(Array((), Null()), {}), JSON))
# root ::= r1
# r0 ::= ", null" r0 | "]"
# r1 ::= "[null" r0 | "[]"
"""

from collections.abc import Mapping

from parsers.spelling import Escapes, Spelling
from server.schema.automata.automaton import ANY_TEXT
from server.schema.document import SchemaError
from server.schema.emit.arrays import ArrayRules, Counted
from server.schema.emit.ebnf import Expression, Rule, fixed, sequence, written
from server.schema.emit.literals import json_inside, spelled
from server.schema.emit.objects import Member, ObjectRules
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
    Property,
    Reference,
    Text,
    Union,
    Values,
)

_Written = Literals | Null | Boolean | Number | Text | Array | Object | Union
"""The nodes that are written where they stand."""

MOST_DIGITS = 200
"""Of a number before its point. With an exponent of two digits, a double holds every such number."""

_INTEGER = f'"-"? ("0" | [1-9] [0-9]{{0,{MOST_DIGITS - 1}}})'
_NUMBER = rf'{_INTEGER} ("." [0-9]+)? ([eE] [+\-]? [0-9] [0-9]?)?'

_ANYTHING = Union(
    (
        Text(),
        Number(),
        Boolean(),
        Null(),
        Array((), Anything()),
        Object((), (FreeKeys(None, Anything()),)),
    )
)


def emit(values: Values, spelling: Spelling) -> str:
    """The EBNF of the values' text, from the rule `root` on.

    Raises `SchemaError` if none of the values can be written in this spelling.
    """
    rules = Rules()
    within = ValueRules(rules, values.definitions, spelling, ahead=_ahead(spelling))
    root = ValueRules(rules, values.definitions, spelling, within=within)
    found = root.expression(values.root)
    if found is None:
        raise SchemaError("#", "no value of the schema can be written")
    return rules.grammar(written(found))


def _ahead(spelling: Spelling) -> str:
    """The characters of which one follows a value or a key in an object or an array; none if any may."""
    members, items = spelling.members, spelling.items
    behind = (members.separator, members.end, members.equals, items.separator, items.end)
    return "".join({text[0] for text in behind}) if all(behind) else ""


class ValueRules:
    """Writes values in one spelling. `within` writes what they hold; None: this does.

    An expression of None is of values that cannot be written.
    """

    def __init__(
        self,
        rules: Rules,
        definitions: Mapping[str, Node],
        spelling: Spelling,
        *,
        within: "ValueRules | None" = None,
        ahead: str = "",
    ) -> None:
        self._rules = rules
        self._definitions = definitions
        self._spelling = spelling
        self._within = within or self
        text, key = spelling.text, spelling.members.key
        self._texts = TextRules(rules, text.escapes, end=text.end, ahead=ahead)
        self._keys = TextRules(rules, key.escapes, end=key.end, ahead=_ahead(spelling))
        self._numbers = TextRules(rules, Escapes.NONE, end="", ahead=ahead)
        self._known: dict[int, tuple[Node, Expression | None]] = {}
        """By the identity of nodes, whose equality takes 1 and true for one value."""
        self._referred: dict[str, str] = {}
        """The rules of references, by their names."""

    def expression(self, node: Node) -> Expression | None:
        """The text of the node's values."""
        if isinstance(node, Anything):
            return self._refer("", _ANYTHING)
        if isinstance(node, Reference):
            return self._refer(node.name, self._definitions[node.name])
        if id(node) not in self._known:
            self._known[id(node)] = (node, self._write(node))
        return self._known[id(node)][1]

    def _write(self, node: _Written) -> Expression | None:
        match node:
            case Literals(values):
                return self._rules.one_of(fixed(text) for text in spelled(values))
            case Null():
                return fixed(self._spelling.null)
            case Boolean():
                return self._rules.one_of([fixed(self._spelling.true), fixed(self._spelling.false)])
            case Number():
                return self._number(node)
            case Text(language):
                rule = self._texts.rule(ANY_TEXT if language is None else language)
                return sequence(fixed(self._spelling.text.begin), (Rule(rule),))
            case Array():
                return self._array(node)
            case Object():
                return self._object(node)
            case Union(nodes):
                return self._rules.one_of(map(self.expression, nodes))

    def _refer(self, name: str, node: Node) -> Expression:
        """A reference, whose node may stand within itself."""
        if name not in self._referred:
            self._referred[name] = self._rules.reserve()
            found = self.expression(node)
            if found is None:
                raise SchemaError("#", "no value of the schema can be written")
            self._rules.define(self._referred[name], written(found))
        return (Rule(self._referred[name]),)

    def _number(self, node: Number) -> Expression:
        if node.text is not None:
            return (Rule(self._numbers.rule(node.text)),)
        return (Rule(self._rules.shared(_INTEGER if node.integer else _NUMBER)),)

    def _array(self, node: Array) -> Expression | None:
        arrays = ArrayRules(self._rules, self._spelling.items, node.least, node.most)
        inside = self._within.expression
        if node.contains is not None:
            matching = inside(node.contains.matching)
            other = None if node.contains.other is None else inside(node.contains.other)
            if matching is None:
                return None
            found = arrays.counted(Counted(matching, other, node.contains.least, node.contains.most))
        else:
            prefix = [inside(item) for item in node.prefix]
            held = next((at for at, item in enumerate(prefix) if item is None), None)
            items = None if node.items is None or held is not None else inside(node.items)
            found = arrays.of_places([item for item in prefix[:held] if item is not None], items)
        return self._as_rule(found)

    def _object(self, node: Object) -> Expression | None:
        members = [Member(text, item.required) for item in node.properties if (text := self._member(item))]
        if sum(member.required for member in members) < sum(item.required for item in node.properties):
            return None
        free = [text for keys in node.free if (text := self._free(keys))]
        objects = ObjectRules(self._rules, self._spelling.members, members, free)
        return self._as_rule(objects.expression(node.least, node.most))

    def _member(self, item: Property) -> Expression | None:
        """A member, from behind what all keys begin with."""
        form, value = self._spelling.members, self._within.expression(item.value)
        if value is None:
            return None
        return sequence(fixed(json_inside(item.name) + form.key.end + form.equals), value)

    def _free(self, keys: FreeKeys) -> Expression | None:
        value = self._within.expression(keys.value)
        if value is None:
            return None
        key = self._keys.rule(ANY_TEXT if keys.names is None else keys.names)
        return sequence((Rule(key),), fixed(self._spelling.members.equals), value)

    def _as_rule(self, expression: Expression | None) -> Expression | None:
        """The expression as one name, so that it is written out once however often it is used."""
        return None if expression is None else (Rule(self._rules.shared(written(expression))),)
