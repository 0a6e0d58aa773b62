"""The grammar of values in JSON: through XGrammar, over bytes, it allows them and nothing else."""

import json
from functools import cache
from typing import Any

import pytest
import xgrammar as xgr
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.spelling import JSON
from server.mask.trial import byte_tokens
from server.schema.automata.automaton import Automaton, State
from server.schema.document import SchemaError
from server.schema.emit.emit import emit
from server.schema.nodes import (
    Anything,
    Array,
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
from tests.server.schema.emit.languages import admits, nodes, of_length, without


@cache
def compiler() -> xgr.GrammarCompiler:
    return xgr.GrammarCompiler(byte_tokens(), max_threads=1, cache_limit_bytes=50_000_000)


def mask(node: Node, **definitions: Node) -> Any:
    return compiler().compile_grammar(emit(Values(node, definitions), JSON))


def accepts(mask: Any, text: str) -> bool:
    matcher = xgr.GrammarMatcher(mask)
    return bool(matcher.accept_string(text) and matcher.is_completed())


SMALL = st.sampled_from(
    [None, True, False, 0, 1, 12, -3, 1.5, "", "1", "a", "ab", "é\n", 'q"', "abcd", [], {}, [None], {"a": 1}]
)
VALUES = st.recursive(
    SMALL,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", 'q"', "é", "123", "x"]), inner, max_size=4)
    ),
    max_leaves=6,
)


def values_of(node: Node) -> st.SearchStrategy[Any]:
    """Values that are near the node's, and often its own."""
    match node:
        case Literals(values):
            return st.integers(0, len(values) - 1).map(values.__getitem__)
        case Array(prefix, items) if prefix or items:
            inner = st.one_of(*map(values_of, prefix if items is None else (*prefix, items)))
            return st.lists(inner, min_size=node.least, max_size=node.least + 3)
        case Object(properties):
            own = {item.name: values_of(item.value) for item in properties}
            known = st.fixed_dictionaries({}, optional=own)
            free = st.dictionaries(st.sampled_from(["123", "45"]), SMALL, max_size=2)
            return st.tuples(known, free).map(lambda pair: _ordered(node, pair[0]) | pair[1])
        case Union(nodes):
            return st.one_of(*map(values_of, nodes))
        case _:
            return SMALL


def _ordered(node: Object, members: dict[str, Any]) -> dict[str, Any]:
    return {item.name: members[item.name] for item in node.properties if item.name in members}


@settings(max_examples=150, deadline=None)
@given(st.data(), nodes())
def test_mask_allows_the_values_of_its_node_and_no_others(data: st.DataObject, node: Node) -> None:
    """However nodes are put together."""
    compiled = mask(node)
    for strategy in (values_of(node), values_of(node), VALUES):
        value = data.draw(strategy)
        text = json.dumps(value, ensure_ascii=False)
        assert accepts(compiled, text) == admits(node, value), text


def test_node_may_stand_within_itself() -> None:
    """A reference is the rule of its definition."""
    tree = Object((Property("next", Union((Null(), Reference("#/tree"))), required=True),), ())
    compiled = mask(Reference("#/tree"), **{"#/tree": tree})

    assert accepts(compiled, '{"next": {"next": {"next": null}}}')
    assert not accepts(compiled, '{"next": {"next": {}}}')


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        (r'"\"\\\/\b\f\n\r\t"', True),
        (r'"\u00e9\uD83D\ude00"', True),
        (r'"\ud83d"', False),
        (r'"\ude00\ud83d"', False),
        (r'"\ud83d\u0041"', False),
        (r'"\x41"', False),
        (r'"\u41"', False),
        ('"\n"', False),
        ('"\x7f\u2028🚀"', True),
    ],
)
def test_strings_are_json_s(text: str, allowed: bool) -> None:
    """What stands in a string is a character or JSON's escape of one."""
    assert accepts(mask(Text()), text) is allowed
    assert accepts(mask(Anything()), f"{{{text}: [{text}]}}") is allowed


@pytest.mark.parametrize("ascii_only", [True, False])
def test_escape_counts_as_the_character_it_stands_for(ascii_only: bool) -> None:
    """Lengths are of the value, not of its text."""
    compiled = mask(Text(of_length(3, 3)))

    for value, allowed in (('"\\\n', True), ("é🚀\x00", True), ("🚀🚀", False), ('""""', False)):
        assert accepts(compiled, json.dumps(value, ensure_ascii=ascii_only)) is allowed


def test_a_key_that_is_not_free_cannot_be_spelled_with_escapes() -> None:
    """A key that the schema declares, or forbids, is not among the free ones however it is written."""
    compiled = mask(Object((), (FreeKeys(without("a"), Null()),)))

    assert accepts(compiled, '{"b": null}')
    assert accepts(compiled, r'{"\u0141": null}')
    assert not accepts(compiled, '{"a": null}')
    assert not accepts(compiled, r'{"\u0061": null}')


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("-0", True),
        ("1" * 200, True),
        ("1" * 201, False),
        ("01", False),
        ("1.", False),
        ("+1", False),
        ("9" * 200 + "e99", True),
        ("1E+308", False),
        ("1e-5", True),
    ],
)
def test_numbers_are_json_s_and_none_is_more_than_a_double_holds(text: str, allowed: bool) -> None:
    """A parser may read them all."""
    assert accepts(mask(Number()), text) is allowed
    assert accepts(mask(Number(integer=True)), text) is (allowed and text.lstrip("-").isdecimal())


def test_characters_behind_a_code_are_not_part_of_it() -> None:
    """XGrammar reads as many hexadecimal digits as it can where it is not told how many there are."""
    assert accepts(mask(Literals(("`c", "\x01b"))), '"`c"')
    language = Automaton((State(False, ((((0x60, 0x60),), 1),)), State(True, ((((0x63, 0x63),), 1),))))

    assert accepts(mask(Text(language)), '"`cc"')
    assert not accepts(mask(Text(language)), '"\u060c"')


def test_member_whose_value_cannot_be_written_is_left_out() -> None:
    """A double does not hold the number, and so nothing that is read can be it."""
    never = Literals((float("inf"),))
    compiled = mask(Object((Property("a", never, required=False), Property("b", Null(), required=True)), ()))

    assert accepts(compiled, '{"b": null}')
    with pytest.raises(SchemaError, match="can be written"):
        mask(Array((never,), None, least=1))


@pytest.mark.parametrize("count", [25, 400])
def test_grammar_grows_with_the_number_of_optional_members_and_no_faster(count: int) -> None:
    """Each of them may be missing, in any combination."""
    properties = tuple(Property(f"key{number:03}", Null(), required=False) for number in range(count))
    grammar = emit(Values(Object(properties, ()), {}), JSON)

    assert len(grammar) < 150 * count
    compiled = compiler().compile_grammar(grammar)
    assert accepts(compiled, '{"key003": null, "key024": null}')
    assert not accepts(compiled, '{"key024": null, "key003": null}')


def test_shorter_strings_are_made_of_the_rules_of_longer_ones() -> None:
    """A compiler that remembers rules by structure has seen them then."""
    short, long = (emit(Values(Text(of_length(0, most)), {}), JSON) for most in (20, 60))
    both = emit(Values(Array((Text(of_length(0, 20)), Text(of_length(0, 60))), None), {}), JSON)

    assert len(short.splitlines()) < 25
    assert len(both.splitlines()) < len(long.splitlines()) + 10


def test_text_in_quotes_is_counted_however_long() -> None:
    """Only a text that must not hold what ends it costs so much that its count may be given up."""
    compiled = mask(Array((Text(of_length(0, 256)),), None))

    assert accepts(compiled, f'["{"é" * 256}"]')
    assert not accepts(compiled, f'["{"é" * 257}"]')


def test_rules_of_text_hold_no_groups() -> None:
    """XGrammar's compiler does not know a rule again that has one, and would compile every string anew."""
    within = Values(Array((Text(), Text(of_length(0, 20)), Text(without('"'))), None), {})
    bodies = [line.partition(" ::= ")[2] for line in emit(within, JSON).splitlines()]
    of_text = [body.removeprefix("(").partition(") (=")[0] for body in bodies if ") (=" in body]

    assert len(of_text) > 20
    assert [body for body in of_text if "(" in body] == []


def test_node_that_stands_in_many_places_is_written_once() -> None:
    """Equal nodes need not be the same object, and true is not 1."""

    def nested(value: Any) -> Node:
        return Object((Property("kind", Literals((value,)), True), Property("x" * 50, Text(), True)), ())

    alike = emit(Values(Array(tuple(nested(1) for _ in range(30)), None), {}), JSON)
    compiled = mask(Array((nested(1), nested(True)), None))

    assert alike.count("x" * 50) == 1
    item = '{"kind": %s, "' + "x" * 50 + '": ""}'
    assert accepts(compiled, f"[{item % 1}, {item % 'true'}]")
    assert not accepts(compiled, f"[{item % 1}, {item % 1}]")
