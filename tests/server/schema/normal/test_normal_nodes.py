"""What nodes tell of themselves: their values, their differences, and which of them have an end."""

from typing import Any

import pytest

from server.schema.automata.languages import Languages
from server.schema.automata.rules import Matches, Rule
from server.schema.nodes import (
    Anything,
    Array,
    Boolean,
    Contains,
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
from server.schema.normal.disjoint import are_disjoint
from server.schema.normal.finite import finite
from server.schema.normal.values import arranged, listed
from server.schema.unmasked import Ledger
from tests.server.schema.normal.meaning import LANGUAGES, meaning_of


class Comparer:
    """Nodes without references, but one that is not made yet."""

    languages: Languages = LANGUAGES

    def seen(self, node: Node) -> Node | None:
        return None if isinstance(node, Reference) else node


def text(pattern: str) -> Text:
    return Text(LANGUAGES.text([Rule("#", "pattern", Matches(pattern))], Ledger()))


def integers(least: int, most: int) -> Node:
    return meaning_of({"type": "integer", "minimum": least, "maximum": most}).root


def tagged(kind: str, **more: Node) -> Object:
    others = (Property(name, value, required=False) for name, value in more.items())
    return Object((Property("kind", Literals((kind,)), required=True), *others), ())


OPEN = Object((), (FreeKeys(None, Anything()),))

LISTED: list[tuple[Node, list[Any] | None]] = [
    (Null(), [None]),
    (Boolean(), [True, False]),
    (Literals((1, "a")), [1, "a"]),
    (Literals(tuple(range(40))), None),
    (text("^(a|bc)$"), ["bc", "a"]),
    (text("^a*$"), None),
    (text("^[a-z]$"), None),
    (Text(), None),
    (integers(-1, 2), [2, 1, 0, -1]),
    (Number(integer=True), None),
    (Union((Null(), Literals((1,)))), [None, 1]),
    (Union((Null(), Text())), None),
    (Reference("later"), None),
]


@pytest.mark.parametrize(("node", "values"), LISTED)
def test_values_are_listed_if_they_are_few(node: Node, values: list[Any] | None) -> None:
    """In any order."""
    found = listed(node, Comparer())

    assert (found if values is None else sorted(found or [], key=repr)) == (
        None if values is None else sorted(values, key=repr)
    )


DIFFERENT: dict[str, tuple[Node, Node]] = {
    "kinds": (Null(), Text()),
    "constants": (Literals((1, "a")), Literals(("b",))),
    "constants of one type": (Literals((0, 1)), Literals((False, 2))),
    "a constant and a type": (Literals(("a",)), Number()),
    "a constant and what it does not fit": (Literals(({"kind": "b"},)), tagged("a")),
    "texts": (text("^a"), text("^b")),
    "numbers": (integers(1, 3), integers(4, 9)),
    "kinds of objects": (tagged("a", n=Number()), tagged("b", n=Number())),
    "a key that the other forbids": (tagged("a"), Object((Property("n", Null(), required=True),), ())),
    "counts of keys": (Object((), (FreeKeys(None, Null()),), most=1), Object(OPEN.properties, OPEN.free, 2)),
    "counts of items": (Array((), Null(), 0, 1), Array((), Null(), 2)),
    "items by place": (Array((Null(),), None, 1, 1), Array((Text(),), None, 1, 1)),
    "an item that the other has not": (Array((), Null(), 2), Array((Null(),), None, 1, 1)),
    "unions": (Union((Null(), Literals((1,)))), Union((Text(), Literals((2,))))),
}
ALIKE: dict[str, tuple[Node, Node]] = {
    "anything": (Anything(), Null()),
    "texts that meet": (text("a"), text("b")),
    "any text": (Text(), text("b")),
    "empty arrays": (Array((), Null()), Array((), Text())),
    "free keys": (OPEN, tagged("a")),
    "what is not known yet": (Reference("later"), Null()),
    "what both contain": (
        Array((), None, 1, None, Contains(Null(), Text(), 1, None)),
        Array((), Null(), 1),
    ),
    "a union with one of the other": (Union((Null(), Text())), Union((Number(), Text()))),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_nodes_without_a_common_value_are_disjoint(one: Node, other: Node) -> None:
    """Whichever is asked first."""
    assert are_disjoint(one, other, Comparer())
    assert are_disjoint(other, one, Comparer())


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
def test_nodes_that_may_have_a_common_value_are_not_disjoint(one: Node, other: Node) -> None:
    """Nor those of which it cannot be told."""
    assert not are_disjoint(one, other, Comparer())
    assert not are_disjoint(other, one, Comparer())


def test_values_of_counted_items_are_arranged() -> None:
    """An item that matches and is another as well counts as is needed."""
    some = Array((), None, 0, 3, Contains(text("^a"), Text(), 1, 2))
    exact = Array((), None, 0, 3, Contains(Literals((1,)), Null(), 1, 1))

    assert [arranged(some, items, Comparer()) is not None for items in (["b"], ["a"], ["a", "a", "a"])] == [
        *(False, True, True)
    ]
    assert [arranged(exact, items, Comparer()) is not None for items in ([1, None], [1, 1], [None])] == [
        *(True, False, False)
    ]


ENDLESS = Object((Property("a", Reference("endless"), required=True),), ())
DEFINITIONS: dict[str, Node] = {"endless": ENDLESS, "list": Array((), Reference("list"))}
CUT: list[tuple[Node, Node | None]] = [
    (Reference("endless"), None),
    (Reference("missing"), None),
    (Reference("list"), Reference("list")),
    (Union((Reference("endless"), Null())), Null()),
    (Array((), Reference("endless")), Array((), None, most=0)),
    (Array((), Reference("endless"), 1), None),
    (Array((Null(), Reference("endless")), Null()), Array((Null(),), None, most=1)),
    (Array((Null(),), Reference("endless")), Array((Null(),), None, most=1)),
    (
        Array((), None, 0, None, Contains(Reference("endless"), Null(), 0, 2)),
        Array((), Null()),
    ),
    (
        Array((), None, 1, None, Contains(Null(), Reference("endless"), 1, None)),
        Array((), None, 1, None, Contains(Null(), None, 1, None)),
    ),
    (Array((), None, 2, None, Contains(Null(), Reference("endless"), 1, 1)), None),
    (
        Object(
            (Property("a", Reference("endless"), required=False),), (FreeKeys(None, Reference("endless")),)
        ),
        Object((), ()),
    ),
    (Object((Property("a", Reference("endless"), required=False),), (), least=1), None),
]


@pytest.mark.parametrize(("node", "kept"), CUT)
def test_what_has_no_end_is_cut(node: Node, kept: Node | None) -> None:
    """A model would open objects for ever."""
    found = finite(node, DEFINITIONS)

    assert (None if found is None else found.root) == kept


def test_definitions_are_those_that_are_needed() -> None:
    """Of nodes that are used, and no others."""
    assert finite(Reference("list"), DEFINITIONS) == Values(Reference("list"), {"list": DEFINITIONS["list"]})
    assert finite(Union((Reference("endless"), Reference("list"))), DEFINITIONS) == Values(
        Reference("list"), {"list": DEFINITIONS["list"]}
    )
