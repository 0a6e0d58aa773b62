"""A model without a template: what it writes is text, whatever it spells."""

from parsers.events import Content
from parsers.families.hermes import HERMES
from parsers.unmarked import Unmarked

FAMILY = Unmarked(HERMES)


def test_markers_are_text() -> None:
    """Calls and thoughts are the client's to read; nothing is held back."""
    parser = FAMILY.parser((), tokens=["<tool_call>"])
    events = [
        *parser.feed("<think>a"),
        *parser.feed(""),
        *parser.feed_marker("<tool_call>"),
        *parser.finish(),
    ]

    assert events == [Content("<think>a"), Content("<tool_call>")]
    assert not parser.in_reasoning


def test_the_mask_is_the_format_alone() -> None:
    """No thought may come before it, since nobody would cut it off."""
    asked = {"type": "regex", "pattern": "a+"}
    tag = FAMILY.structural_tag((), at_least=0, at_most=0, answer=asked, opens_reasoning=False)
    free = FAMILY.structural_tag((), at_least=0, at_most=0, answer=None, opens_reasoning=False)

    assert tag["format"] == asked
    assert free["format"]["type"] == "any_text"


def test_all_else_is_the_familys() -> None:
    """Its name is that of the metrics, and what it would write is not another's."""
    assert (FAMILY.name, FAMILY.call, FAMILY.signs) == (HERMES.name, HERMES.call, HERMES.signs)
    assert (FAMILY.call_ids, FAMILY.reasoning) == (HERMES.call_ids, None)
    assert FAMILY.without_reasoning() is FAMILY
    assert FAMILY.write_text("a") == "a"
    assert FAMILY.write_calls([("f", {})]) == HERMES.write_calls([("f", {})])
