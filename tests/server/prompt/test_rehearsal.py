"""The conversation that every template is tried on: what is lost is named."""

import pytest

from parsers.families.hermes import HERMES
from parsers.registry import find
from server.prompt.rehearsal import rehearse
from server.prompt.template import ChatTemplate, choose_template

WHOLE = (
    "{{ tools | tojson if tools }}{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}{% endfor %}"
)


def lost(source: str) -> tuple[str, ...]:
    return rehearse(ChatTemplate(source, origin="a test"), HERMES).lost


def test_nothing_is_lost_in_a_whole_prompt() -> None:
    """Our own template is one, and the text is what the model would read."""
    rehearsal = rehearse(choose_template(None, find("hermes")), HERMES)

    assert rehearsal.lost == ()
    assert rehearsal.text.index("sleeping") < rehearsal.text.index("munching")
    assert '{"name": "feed_numbat", "arguments": {"meal": "termites"}}' in rehearsal.text
    assert lost(WHOLE) == ()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ([("haiku", "")], ("the system message",)),
        ([("well", "")], ("the user message",)),
        ([("sleeps", "")], ("tool 1",)),
        ([("feed_numbat", "")], ("tool 2", "call 2")),
        ([("termites", "")], ("call 2",)),
        ([("munching", "")], ("result 2",)),
        ([("hillside", "-"), ("termites", "hillside"), ("-", "termites")], ("the order",)),
        ([("sleeping", "-"), ("munching", "sleeping"), ("-", "munching")], ("the order",)),
        ([("<tool>", "None<tool>")], ("'None' for no text",)),
        ([('{"burrow', '{\\"burrow')], ("arguments quoted twice",)),
        ([('"parameters"', '"strict": true, "parameters"')], ("'strict' in a tool",)),
    ],
)
def test_what_is_lost_is_named(changes: list[tuple[str, str]], names: tuple[str, ...]) -> None:
    """One row for each thing that can go wrong with a conversation."""
    source = WHOLE
    for old, new in changes:
        source = f"{{% filter replace({old!r}, {new!r}) %}}{source}{{% endfilter %}}"

    assert lost(source) == names


def test_a_refusal_loses_everything() -> None:
    """The template's own words are the text."""
    source = "{{ raise_exception('No tools here') if tools }}{{ messages[0].content }}"
    rehearsal = rehearse(ChatTemplate(source, origin="a test"), HERMES)

    assert rehearsal.lost == ("everything",)
    assert "No tools here" in rehearsal.text
