"""One block: where it is over, and what is left behind it."""

from parsers.block import Block
from parsers.events import CallArguments, CallBegin, CallEnd, Content, Malformed, Reason
from parsers.families.hermes import HERMES


def block(first_index: int = 0) -> Block:
    return Block(HERMES.call, {"f": {}}, first_index=first_index, begin="<tool_call>")


def test_text_behind_the_end_marker_is_left() -> None:
    """A block takes its own text and no more."""
    reading = block(first_index=3)

    assert reading.read('\n{"name": "f", "arguments": {}}\n</tool_call> Done.') == [
        CallBegin(3, "f"),
        CallArguments(3, "{}"),
        CallEnd(3),
    ]
    assert (reading.over, reading.rest) == (True, " Done.")


def test_block_is_not_over_before_its_end_marker_is_whole() -> None:
    """Half a marker may be anything."""
    reading = block()
    reading.read('{"name": "f"}</tool_')

    assert not reading.over
    reading.read("call>")
    assert (reading.over, reading.rest) == (True, "")


def test_block_without_a_call_says_its_text() -> None:
    """From the begin marker to the character that shows that no call stands here."""
    reading = block()

    assert reading.read(" is a tag") == [Content("<tool_call> ")]
    assert (reading.over, reading.rest) == (True, "is a tag")


def test_broken_call_gives_back_what_follows_the_first_marker() -> None:
    """What an open string had swallowed is left to be read again."""
    reading = block()
    events = reading.read('{"k": "x</tool_call> and <tool_call>{"')

    assert events == []
    assert reading.read("y") == [Malformed('<tool_call>{"k": "x</tool_call>', Reason.BAD_JSON)]
    assert reading.rest == ' and <tool_call>{"y'
