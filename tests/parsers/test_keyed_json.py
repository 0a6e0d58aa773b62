"""Calls that are an object whose one key is the tool: what is read, and what is wrong with what is not."""

import pytest

from parsers.events import Malformed, Reason
from parsers.families.apertus import APERTUS
from tests.parsers.reading import Answer, read

TAGS = "<|tools_prefix|>%s<|tools_suffix|>"

MALFORMED = {
    "no tool": ("{}", Reason.NO_NAME),
    "an empty name": ('{"": {}}', Reason.NO_NAME),
    "a name without quotes": ("{f: {}}", Reason.BAD_JSON),
    "a name that is no JSON": ('{"\\x": {}}', Reason.BAD_JSON),
    "no colon": ('{"f" {}}', Reason.BAD_JSON),
    "text for arguments": ('{"f": "x"}', Reason.NOT_AN_OBJECT),
    "a word for arguments": ('{"f": x}', Reason.BAD_JSON),
    "arguments that are no JSON": ('{"f": {a}}', Reason.BAD_JSON),
    "another key": ('{"f": {}, "g": {}}', Reason.BAD_JSON),
    "another tool": ('{"unknown": {}}', Reason.UNKNOWN_TOOL),
}


@pytest.mark.parametrize(
    "text", ['{"f": {"a": 1}}', ' [\n{ "f" : {"a": 1} } , ]\n', '[{"\\u0066": {"a": 1}}]}']
)
def test_call_is_read_whatever_stands_around_its_parts(text: str) -> None:
    """Whitespace, brackets and commas say nothing, and a name may be spelled with escapes."""
    assert read(TAGS % text, family=APERTUS) == Answer(calls=[("f", '{"a": 1}')])


@pytest.mark.parametrize(("text", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_call_is_told_whole_and_with_its_reason(text: str, reason: Reason) -> None:
    """The client sees all of what the model wrote, and the calls around it are not lost."""
    answer = read(TAGS % text + TAGS % '{"g": {}}', family=APERTUS)

    assert answer.calls == [("g", "{}")]
    [malformed] = answer.malformed
    assert isinstance(malformed, Malformed)
    assert (malformed.raw, malformed.reason) == (TAGS % text, reason)
    assert answer.content == ""


def test_tags_without_a_call_are_text() -> None:
    """What the model says about its tags is for the user."""
    assert read(TAGS % " are the tags", family=APERTUS) == Answer(TAGS % " are the tags")
