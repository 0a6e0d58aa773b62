"""What is checked of a chat template: what reaches the model, and in whose letters.

tools_are_shown(subject)            # Passed()
written_calls_are_shown(subject)    # Difference("…", wanted="<tool_call>…", found="<function_call>…")
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from parsers.call_ids import CallIdForm
from server.doctor.subject import WRITTEN, Difference, Finding, Passed, Subject, wrong_calls
from server.prompt.call_ids import form_of
from server.prompt.conversation import tool_definitions
from server.prompt.rehearsal import CALLS, EVERYTHING, QUESTION, RESULTS, TOOLS
from server.prompt.render import template_turns
from server.request import Message

IDS = {
    CallIdForm.UNIQUE: "call_ and 24 characters",
    CallIdForm.NINE_LETTERS: "nine letters or digits",
    CallIdForm.NUMBERED: "functions.NAME:N",
}


def tools_are_shown(subject: Subject) -> Finding:
    return _shown(subject, "the system message", "the user message", "tool 1", "tool 2")


def calls_are_shown(subject: Subject) -> Finding:
    return _shown(subject, "call 1", "call 2")


def results_are_shown(subject: Subject) -> Finding:
    return _shown(subject, "result 1", "result 2")


def nothing_is_out_of_place(subject: Subject) -> Finding:
    return _shown(subject, "the order", "'None' for no text", "arguments quoted twice", "'strict' in a tool")


def _shown(subject: Subject, *names: str) -> Finding:
    lost = subject.rehearsal.lost
    if lost == EVERYTHING:
        return Difference(subject.rehearsal.text)
    wrong = [name for name in lost if name in names]
    return Difference(f"wrong or missing: {', '.join(wrong)}") if wrong else Passed()


def shown_calls_are_read(subject: Subject) -> Finding:
    """What the template makes of a turn of calls, the parser makes calls of again."""
    for calls in _turns_of_calls(subject):
        shown = _shown_turn(subject, calls)
        reading = subject.read([shown], opened=_stands_in_span(subject, shown))
        if finding := wrong_calls(reading, WRITTEN[calls]):
            return replace(finding, said=f"{finding.said}, of what the template shows", found=shown)
    return Passed()


def written_calls_are_shown(subject: Subject) -> Finding:
    """What the writer writes, and so what the mask allows, is to the letter what the template shows."""
    for calls in _turns_of_calls(subject):
        wanted, shown = subject.family.write_calls(WRITTEN[calls]), _shown_turn(subject, calls)
        if wanted not in shown:
            return Difference("the writer's letters are not the template's", wanted, _nearest(wanted, shown))
    return Passed()


def ids_come_back(subject: Subject) -> Finding:
    """A client sends back the ids that it was given, and the template takes them."""
    form = form_of(subject.family, subject.template.traits.call_ids)
    ids = [form.new(call.name, number) for number, call in enumerate(CALLS.tool_calls)]
    calls = [replace(call, id=id) for call, id in zip(CALLS.tool_calls, ids, strict=True)]
    results = [replace(result, tool_call_id=id) for result, id in zip(RESULTS, reversed(ids), strict=True)]
    turn = replace(CALLS, tool_calls=tuple(calls))
    prompt = _rendered(subject, (*QUESTION, turn, *results))
    if form is CallIdForm.NUMBERED and (missing := [id for id in ids if id not in prompt]):
        return Difference(f"the prompt does not show {missing[0]}")
    return Passed(IDS[form])


def _turns_of_calls(subject: Subject) -> list[slice]:
    """The turns that the conversation's calls stand in: one for all, or one for each."""
    traits = subject.template.traits
    together = traits.parallel_calls or not traits.calls
    return [slice(0, 2)] if together else [slice(0, 1), slice(1, 2)]


def _shown_turn(subject: Subject, calls: slice) -> str:
    """What the template adds to the prompt for a turn of these calls."""
    turn = replace(CALLS, tool_calls=CALLS.tool_calls[calls])
    whole = _rendered(subject, (*QUESTION, turn), add_generation_prompt=False)
    asked = _rendered(subject, QUESTION)
    if not whole.startswith(asked):
        asked = _rendered(subject, QUESTION, add_generation_prompt=False)
    return whole[_common(whole, asked) :]


def _rendered(subject: Subject, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> str:
    turns = template_turns(messages, subject.template, subject.family, _as_it_is)
    return subject.template.render(
        turns,
        tools=tool_definitions(TOOLS, _as_it_is),
        add_generation_prompt=add_generation_prompt,
        arguments=subject.vocabulary.special_tokens if subject.vocabulary else None,
    )


def _as_it_is(value: Any) -> Any:
    return value


def _common(one: str, other: str) -> int:
    """How many letters two texts begin with together."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _nearest(wanted: str, text: str) -> str:
    """The part of a text that begins as what was wanted does, or its beginning if none does."""
    letters = wanted.lstrip()
    begin = next(letters[:length] for length in range(len(letters), -1, -1) if letters[:length] in text)
    if 4 * len(begin) < len(letters):
        return text[: len(wanted)]
    start = text.find(begin)
    space = len(text[:start]) - len(text[:start].rstrip())
    start -= min(space, len(wanted) - len(letters))
    return text[start : start + len(wanted)]


def _stands_in_span(subject: Subject, shown: str) -> bool:
    span = subject.span
    return bool(span and subject.opens and span.end in shown and span.begin not in shown)
