"""The Hermes family: what is content, what is reasoning, and what is only markup."""

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Malformed, Reason, Reasoning
from tests.parsers.reading import Answer, events_of, read

PROSE = {
    "marker in prose": "the tag <tool_call> is what opens a call",
    "both markers in prose": "write <tool_call> and </tool_call> around it",
    "empty tag": "like <tool_call></tool_call> this",
    "marker in back quotes": "the `<tool_call>` tag, in ```\n<tool_call>\n``` fences",
    "marker, then brackets": "<tool_call> [1, 2] and so on",
    "string in the tag": '<tool_call>"f"</tool_call>',
    "marker before whitespace at the end": "so: <tool_call>\n",
    "near marker": "If x <tool then stop. <tool_call ",
    "part of a marker at the end": "An arrow: -<",
    "most of a marker at the end": "x <tool_call",
    "whitespace at the end": "Done. \n\n",
    "whitespace at the start": "\n\n Done.",
    "only whitespace": " \n ",
}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE.keys())
def test_text_without_a_call_is_content_to_the_last_character(text: str) -> None:
    """A marker that opens nothing is text, and whatever was held back is released at the end."""
    assert events_of(text) == [Content(text)]


def test_prose_marker_before_a_call_costs_neither() -> None:
    """A call behind a marker in prose is still found."""
    answer = read('A <tool_call> looks so: <tool_call>{"name": "f"}</tool_call>')

    assert answer == Answer("A <tool_call> looks so:", calls=[("f", "{}")])


WHITESPACE = {
    "before a call": ("Sure. \n\nCALL", "Sure."),
    "nothing but whitespace before": ("\n\nCALL", ""),
    "between calls": ("CALL\n \nCALL", ""),
    "after the last call": ("CALL\n\n", ""),
    "text between calls": ("A\nCALL\n and \nCALL", "A\n and"),
    "text after calls": ("A CALL B CALL\nC\n", "A B\nC\n"),
    "fence around a call": ("```json\nCALL\n```", "```json\n```"),
    "text behind a call that was not closed": ('<tool_call>{"name": "f"}\nDone.', "\nDone."),
    "brace too many behind a call that was not closed": ('<tool_call>{"name": "f"}} x', " x"),
}


@pytest.mark.parametrize(("form", "content"), WHITESPACE.values(), ids=WHITESPACE.keys())
def test_whitespace_around_calls_is_markup(form: str, content: str) -> None:
    """Whitespace before a call is dropped, and after it unless text follows; all other text is exact."""
    text = form.replace("CALL", '<tool_call>\n{"name": "f"}\n</tool_call>')

    assert read(text).content == content


def test_content_between_calls_keeps_its_place() -> None:
    """Text after a call is said after it."""
    assert events_of('<tool_call>{"name": "f"}</tool_call> then <tool_call>{"name": "g"}</tool_call>') == [
        CallBegin(0, "f"),
        CallArguments(0, "{}"),
        CallEnd(0),
        Content(" then"),
        CallBegin(1, "g"),
        CallArguments(1, "{}"),
        CallEnd(1),
    ]


REASONING = {
    "as trained": ("<think>\nHm.\n</think>\n\nYes.", False, Answer("Yes.", "Hm.")),
    "opened by the prompt": ("\nHm.\n</think>\n\nYes.", True, Answer("Yes.", "Hm.")),
    "opened by the prompt and again": ("<think>\nHm.\n</think>\n\nYes.", True, Answer("Yes.", "Hm.")),
    "empty": ("<think>\n\n</think>\n\nYes.", False, Answer("Yes.")),
    "whitespace before": ("\n <think>Hm.</think>Yes.", False, Answer("Yes.", "Hm.")),
    "inner whitespace": ("<think>\n  A\n\nB  \n</think>\n  Yes.", False, Answer("  Yes.", "  A\n\nB")),
    "never closed": ("<think>\nHm. \n", False, Answer("", "Hm. \n")),
    "never closed, opened by the prompt": ("Hm.</thin", True, Answer("", "Hm.</thin")),
    "nothing after the prompt's opener": ("\n", True, Answer()),
    "part of a marker at the start": ("<thi", False, Answer("<thi")),
    "near marker at the start": ("<thin ice", False, Answer("<thin ice")),
    "span in the middle is text": ("I <think>so</think>.", False, Answer("I <think>so</think>.")),
    "second span is text": (
        "<think>A</think><think>B</think>",
        False,
        Answer("<think>B</think>", "A"),
    ),
    "then a call": (
        '<think>\nHm.\n</think>\n\n<tool_call>\n{"name": "f"}\n</tool_call>',
        False,
        Answer("", "Hm.", [("f", "{}")]),
    ),
    "call inside, closed later": (
        '<think>\nMaybe <tool_call>{"name": "f"}</tool_call> or\nnot.\n</think>\n\nNo.',
        False,
        Answer("No.", 'Maybe <tool_call>{"name": "f"}</tool_call> or\nnot.'),
    ),
    "call inside, closed later, then a call": (
        '<tool_call>{"name": "g"}</tool_call></think><tool_call>{"name": "f"}</tool_call>',
        True,
        Answer("", '<tool_call>{"name": "g"}</tool_call>', [("f", "{}")]),
    ),
    "call inside, never closed": (
        '<think>\nCall it.\n<tool_call>\n{"name": "f"}\n</tool_call>\n<tool_call>{"name": "g"}</tool_call>',
        False,
        Answer("", "Call it.", [("f", "{}"), ("g", "{}")]),
    ),
    "marker of no call inside, never closed": (
        "<think>\nA <tool_call> is a tag.",
        False,
        Answer("", "A <tool_call> is a tag."),
    ),
    "marker of no call, then a call, never closed": (
        '<think>A <tool_call> tag. <tool_call>{"name": "f"}</tool_call> Done.',
        False,
        Answer(" Done.", "A <tool_call> tag.", [("f", "{}")]),
    ),
    "no tools": ("<think>Hm. <tool_call></think>Yes.", False, Answer("Yes.", "Hm. <tool_call>")),
}


@pytest.mark.parametrize(("text", "opens", "expected"), REASONING.values(), ids=REASONING.keys())
def test_reasoning_span_is_told_from_content_and_calls(text: str, opens: bool, expected: Answer) -> None:
    """The span is read at the start only; a call in it is a call only if the span is never closed."""
    assert read(text, opens_reasoning=opens) == expected


def test_span_cut_off_by_the_budget_is_reasoning_with_what_it_holds() -> None:
    """Nobody knows whether a span that was cut off would have been closed: no call is taken from it."""
    text = '<think>\nMaybe <tool_call>{"name": "f"}</tool_call>\n'

    assert events_of(text, truncated=True) == [Reasoning(text.removeprefix("<think>\n"))]


def test_malformed_call_ends_a_span_that_is_never_closed() -> None:
    """A call in an open span ends it even if it cannot be read."""
    assert events_of("<think>Hm. <tool_call>{'name'}</tool_call> So.") == [
        Reasoning("Hm. "),
        Malformed("<tool_call>{'name'}</tool_call>", Reason.BAD_JSON),
        Content(" So."),
    ]


@pytest.mark.parametrize("again", ["</tool_call>", "\n</tool_call>\n</tool_call>\n"])
def test_end_marker_that_is_written_again_behind_a_call_is_dropped(again: str) -> None:
    """It ends nothing. Behind a block of no call, and behind text, it is as exact as all text."""
    call = '<tool_call>{"name": "f"}</tool_call>'

    assert read(call + again) == Answer("", "", [("f", "{}")])
    assert read(f"{call}{again}{call}") == Answer("", "", [("f", "{}"), ("f", "{}")])
    assert read(call + again + "Done.").content.lstrip() == "Done."
    assert read(f"{call} Done.{again}.").content == f" Done.{again}."
    assert read(f"<tool_call></tool_call>{again}.").content == f"<tool_call></tool_call>{again}."
