"""Arguments in the families' own spellings: a mask allows what is read again as values of the node."""

import json
import random
from typing import Any

import pytest
import xgrammar as xgr

from parsers.arguments.elements import Elements
from parsers.arguments.literal_call import LiteralCall
from parsers.arguments.style import Arguments, Call, Progress
from parsers.arguments.tagged import Tagged
from parsers.arguments.xtml import Xtml
from parsers.family import Family
from parsers.registry import FAMILIES
from server.schema.automata.languages import Languages
from server.schema.automata.rules import HasFormat, LongerOrEqual, Matches, Rule, ShorterOrEqual
from server.schema.emit.emit import emit
from server.schema.emit.places import outline_for
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
from server.schema.unmasked import Ledger
from tests.parsers.walking import walker_of_characters
from tests.server.schema.emit.languages import admits

LANGUAGES = Languages()
OWN = [family for family in FAMILIES if isinstance(family.call.style, Tagged | Xtml | Elements | LiteralCall)]
by_family = pytest.mark.parametrize("family", OWN, ids=lambda family: family.name)


def text(*limits: Any) -> Text:
    return Text(LANGUAGES.text([Rule("#", "x", limit) for limit in limits], Ledger()))


SHORT = text(LongerOrEqual(1), ShorterOrEqual(4))
WORD = text(Matches("^[a-z<>/_{}]{1,6}$"))
DATE = text(HasFormat("date"))
PLACE = Object((Property("name", SHORT, True), Property("floor", Number(integer=True), False)), ())

WALKS = 40
WORDS = ["null", "1", "true", "</parameter>", "[", "{", '"', "'", "a b", "\n"]

ARGUMENTS: dict[str, Node] = {
    "texts": Object(
        (
            Property("text", Text(), True),
            Property("short", SHORT, False),
            Property("word", WORD, False),
            Property("date", DATE, False),
        ),
        (),
    ),
    "values": Object(
        (
            Property("count", Number(integer=True), False),
            Property("share", Number(), False),
            Property("done", Boolean(), True),
            Property("nothing", Null(), False),
            Property("place", PLACE, False),
            Property("tags", Array((), SHORT, 1, 3), False),
        ),
        (),
        least=2,
        most=4,
    ),
    "unions": Object(
        (
            Property("perhaps", Union((Text(), Null())), True),
            Property("either", Union((SHORT, Number(integer=True))), True),
            Property("flag", Union((Text(), Boolean())), False),
            Property("mixed", Literals(("a", 1, "1", None, "null", "x y")), True),
            Property("open", Union((Text(), PLACE, Array((), Number()))), False),
            Property("any", Anything(), False),
        ),
        (),
    ),
    "free": Object((Property("a", Text(), True),), (FreeKeys(None, Number(integer=True)),), least=2, most=3),
    "any": Object((), (FreeKeys(None, Anything()),)),
    "forms": Union(
        (
            Object((Property("kind", Literals(("a",)), True), Property("x", Number(), True)), ()),
            Object((Property("kind", Literals(("b",)), True), Property("x", SHORT, True)), ()),
        )
    ),
    "tree": Object((Property("tree", Union((Null(), Reference("tree"))), True),), ()),
    "literal": Object((Property("one", Literals(({"a": [1, "x", None]}, ["y"], True)), True),), ()),
}
DEFINITIONS: dict[str, Node] = {
    "tree": Object((Property("next", Union((Null(), Reference("tree"))), True),), ())
}


def grammar_of(style: Any, node: Node) -> str:
    grammar = emit(Values(node, DEFINITIONS), style.spelling, LANGUAGES)
    return json.dumps({"type": "structural_tag", "format": {"type": "grammar", "grammar": grammar}})


def read(style: Any, node: Node, written: str) -> Any:
    """What the style's reader makes of a call with these arguments, whole and character by character."""
    call, end = style.write(Call("f", {})), style.closing or style.end
    call = call.removesuffix(end) + written + end
    known = outline_for(Values(node, DEFINITIONS), style.spelling)
    found = []
    for pieces in ([call], list(call)):
        reader, steps, progress = style.reader({"f": known}), [], Progress.OPEN
        for piece in pieces:
            reading = reader.read(piece)
            steps += reading.steps
            progress = reading.progress
            assert reading.fault is None
        assert progress is Progress.COMPLETE
        found.append("".join(step.text for step in steps if isinstance(step, Arguments)))
    assert found[0] == found[1]
    return json.loads(found[0])


@by_family
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_what_the_mask_lets_through_is_read_as_a_value_of_its_node(family: Family, arguments: str) -> None:
    """Lengths, patterns, formats, unions and counts hold in all spellings, and text is told from the rest."""
    node, style = ARGUMENTS[arguments], family.call.style
    assert isinstance(style, Tagged | Xtml | Elements | LiteralCall)
    members, within = style.spelling.members, style.spelling.within or style.spelling
    ends = [end for end in (members.after, members.closing, within.text.end) if end]
    words = [*WORDS, *ends * 4]
    walker = walker_of_characters()
    grammar = walker.compile(grammar_of(style, node))
    ended = 0
    for seed in range(WALKS):
        written = walker.walk(grammar, random.Random(seed), words)
        if written is not None:
            value = read(style, node, written)
            assert admits(node, value, DEFINITIONS, ordered=not members.is_sorted), (seed, written, value)
            ended += 1
    assert ended > WALKS // 10


VALUES: dict[str, list[dict[str, Any]]] = {
    "texts": [{"text": " a\n<b>\n ", "short": "é<x", "word": "</a>", "date": "2024-02-29"}, {"text": "</p>"}],
    "values": [{"count": -3, "done": True, "place": {"name": "a", "floor": 1}, "tags": ["x", "'\"y"]}],
    "unions": [
        {"perhaps": "nulls", "either": "ab", "mixed": "x y", "open": "a [", "any": "1"},
        {"perhaps": None, "either": 12, "flag": False, "mixed": 1, "open": [1.5], "any": "x"},
    ],
    "free": [{"a": "b", "c": 1}, {"a": "", "b": 1, "c": 2}],
    "forms": [{"kind": "a", "x": 1}, {"kind": "b", "x": "1."}],
    "tree": [{"tree": {"next": {"next": None}}}],
    "literal": [{"one": {"a": [1, "x", None]}}, {"one": ["y"]}, {"one": True}],
}


@by_family
@pytest.mark.parametrize("arguments", VALUES)
def test_values_can_be_written_as_the_model_was_trained_to(family: Family, arguments: str) -> None:
    """The mask is in no right value's way."""
    style: Any = family.call.style
    grammar = walker_of_characters().compile(grammar_of(style, ARGUMENTS[arguments]))
    head, end = style.write(Call("f", {})), style.closing or style.end
    for value in VALUES[arguments]:
        written = style.write(Call("f", value)).removeprefix(head.removesuffix(end)).removesuffix(end)
        matcher = xgr.GrammarMatcher(grammar)

        assert matcher.accept_string(written), written
        assert matcher.is_completed()
        assert read(style, ARGUMENTS[arguments], written) == value
