"""Calls that are one JSON object: what the reader says, step by step, and what the style writes."""

import pytest

from parsers.arguments.json_call import JsonCall
from parsers.arguments.json_text import write_json
from parsers.arguments.style import Arguments, Call, Name, Progress, Reading
from parsers.events import Reason


def test_call_is_told_in_steps() -> None:
    """Name first, then the arguments as they are, and where the call ends."""
    text = '\n{"name": "f", "arguments": {"a": 1}} x'

    assert JsonCall().reader({}).read(text) == Reading(
        len(text) - 2, (Name("f"), Arguments('{"a": 1}')), Progress.COMPLETE
    )


def test_nothing_is_decided_before_the_object_opens() -> None:
    """Whitespace, brackets and fences do not make a call."""
    reader = JsonCall().reader({})

    assert reader.read("\n[ ```json\n") == Reading(11, (), Progress.AROUND)
    assert reader.read("{") == Reading(1, (), Progress.OPEN)


def test_prose_is_told_at_its_first_character() -> None:
    """The character that shows that no call stands here is left."""
    assert JsonCall().reader({}).read(" is") == Reading(1, (), Progress.PROSE)
    assert JsonCall().reader({}).read("```json: {") == Reading(7, (), Progress.PROSE)


def test_after_a_fault_nothing_more_is_said() -> None:
    """A faulty call is read on only to find its end."""
    reader = JsonCall().reader({})

    assert reader.read('{"name": 3, "arguments": {"a": 1}, "name": "f"}') == Reading(
        47, (), Progress.COMPLETE, Reason.NO_NAME
    )


def test_keys_are_the_style_s() -> None:
    """Other families use other keys in the same style."""
    style = JsonCall(name="tool", arguments="input", also=())
    text = style.write(Call("f", {"a": 1}))

    assert text == '{"tool": "f", "input": {"a": 1}}'
    assert style.reader({}).read(text).steps == (Name("f"), Arguments('{"a": 1}'))
    assert style.reader({}).read('{"tool": "f", "parameters": {"a": 1}}').steps == (
        Name("f"),
        Arguments("{}"),
    )


def test_json_is_written_as_templates_write_it() -> None:
    """Spaces behind commas and colons, characters as themselves, but no lone surrogate and no NaN."""
    assert write_json({"é": ["🚀", "\ud83d", 1, None]}) == '{"é": ["🚀", "\\ud83d", 1, null]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(float("nan"))
