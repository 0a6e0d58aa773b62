"""The text of an answer in a form: marks within it stay, and those that it ends in go."""

import random

import pytest

from parsers.form import FormText
from tests.parsers.reading import cut

MARKS = ("<end>", "<over>")


def text_of(text: str) -> str:
    """What is said of the text, which must not depend on how it is cut."""
    rng = random.Random(len(text))
    found = []
    for pieces in ([text], list(text), cut(text, rng, longest=4), cut(text, rng, longest=4)):
        form = FormText(MARKS)
        said = [said for piece in pieces for said in form.read(piece)]
        assert all(said)
        found.append("".join(said + form.finish()))
    assert len(set(found)) == 1
    return found[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        ("a b\n", "a b\n"),
        ("a<end>", "a"),
        ("a<end>\n<over> ", "a"),
        ("a<end>b", "a<end>b"),
        ("<end>b<over>", "<end>b"),
        ("a<end> <over>b<end>", "a<end> <over>b"),
        ("a<en", "a<en"),
        ("a<end><ov", "a<end><ov"),
        ("<<<end>", "<<"),
    ],
)
def test_only_marks_at_the_end_are_dropped(text: str, said: str) -> None:
    """With the whitespace around them; half a mark at the end is text."""
    assert text_of(text) == said
