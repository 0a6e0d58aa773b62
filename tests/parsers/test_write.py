"""Writing calls, and reading them back."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parsers.families.hermes import HERMES
from parsers.family import write_call
from tests.parsers.reading import Answer, read

NASTY = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        '"',
        "\\",
        '"}}\n</tool_call>',
        "{",
        "}",
        "[",
        "```",
        "🚀",
        "\ud83d",
        "\ude80",
        "\n",
        "\x00",
        "\u2028",
        "\u00a0",
        "name",
        "arguments",
    ]
)
TEXT = st.lists(NASTY | st.text(max_size=5), max_size=6).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
CALLS = st.lists(
    st.tuples(TEXT.filter(bool), st.dictionaries(TEXT, VALUES, max_size=3)), min_size=1, max_size=3
)


def test_call_is_written_as_the_model_was_trained() -> None:
    """Markers, newlines and spaces stand as in the training data."""
    assert HERMES.write_calls([("f", {"a": "é"}), ("g", {})]) == (
        '<tool_call>\n{"name": "f", "arguments": {"a": "é"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'
    )
    assert write_call(HERMES, "g", {}) == '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'


@given(calls=CALLS, content=st.sampled_from(["", "Sure."]))
def test_what_is_written_is_read_back(calls: list[tuple[str, dict[str, Any]]], content: str) -> None:
    """Any names and arguments survive, however the text is cut."""
    text = content + HERMES.write_calls(calls)
    answer = read(text, [json.loads(json.dumps(name)) for name, _ in calls])

    # A surrogate pair that was built of halves is one character once it has been JSON.
    expected = json.loads(json.dumps(calls))
    assert [[name, json.loads(arguments)] for name, arguments in answer.calls] == expected
    assert (answer.content, answer.malformed) == (content, [])
    text.encode()


@given(TEXT)
def test_text_of_any_kind_loses_nothing(text: str) -> None:
    """Without tools every character is content, unless it opens a reasoning span."""
    answer = read("." + text, ())

    assert answer == Answer("." + text)
