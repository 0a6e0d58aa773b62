"""What is told of a subject: in words, and in colours where there is a terminal.

    for line in report(subject, Paint.PLAIN):
        …    # "Family: hermes, because the chat template writes <tool_call>."
    told("the masks compile", Passed(), Paint.PLAIN)    # ["pass  the masks compile"]

In plain text a control token of the prompt stands in brackets: ⟦<|im_start|>⟧. Markers that are text do not.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TextIO

from server.doctor.subject import Difference, Finding, Passed, Subject
from server.prompt.traits import Arguments, CallIds, SystemRole, TextBesideCalls, Traits

SYSTEM = {
    SystemRole.ANYWHERE: "system messages anywhere",
    SystemRole.FRONT: "one system message at the front",
    SystemRole.LAST_USER: "system messages in the last user message",
    SystemRole.NONE: "no system messages, which go into the first user message",
}
ARGUMENTS = {Arguments.OBJECT: "arguments as objects", Arguments.TEXT: "arguments as JSON text"}
IDS = {CallIds.ANY: "any ids of calls", CallIds.NINE_LETTERS: "ids of nine letters or digits"}
TEXT = {
    TextBesideCalls.TOGETHER: "beside its calls",
    TextBesideCalls.BEFORE: "in a turn before its calls",
    TextBesideCalls.NOWHERE: "nowhere",
}

BEFORE, AFTER = 24, 56
"""Letters that are shown before the first difference of two texts, and after it."""


class Paint(Enum):
    """How control tokens, markers, `pass` and `FAIL` are set off from other text."""

    PLAIN = "plain"
    COLOURED = "coloured"

    def control(self, text: str) -> str:
        return f"⟦{text}⟧" if self is Paint.PLAIN else f"\x1b[7m{text}\x1b[0m"

    def marker(self, text: str) -> str:
        return text if self is Paint.PLAIN else f"\x1b[36m{text}\x1b[0m"

    def passed(self, text: str) -> str:
        return text if self is Paint.PLAIN else f"\x1b[32m{text}\x1b[0m"

    def failed(self, text: str) -> str:
        return text if self is Paint.PLAIN else f"\x1b[31m{text}\x1b[0m"


def paint_for(stream: TextIO, environ: Mapping[str, str]) -> Paint:
    """Colours for a terminal, unless NO_COLOR asks for none."""
    return Paint.COLOURED if stream.isatty() and not environ.get("NO_COLOR") else Paint.PLAIN


def report(subject: Subject, paint: Paint) -> Iterator[str]:
    """All that is told before the checks."""
    yield f"Family: {subject.why}"
    yield f"Template: {subject.template.origin}."
    yield f"  {abilities(subject.template.traits)}"
    yield ""
    yield "A conversation of two tools, two calls and their two results, as the model reads it:"
    yield ""
    yield from (f"  {line}".rstrip() for line in painted_prompt(subject, paint).split("\n"))


def abilities(traits: Traits) -> str:
    """What a template can do, in words."""
    if not traits.tools:
        return "It does not show tools."
    shown = ["tools"]
    if traits.calls:
        shown.append("calls, two in one turn" if traits.parallel_calls else "calls, one in each turn")
    elif traits.text_calls:
        shown.append("calls that are written into the text of their turn")
    shown += ["results"] if traits.results or traits.text_calls else []
    takes = [SYSTEM[traits.system]]
    if traits.calls:
        takes += [ARGUMENTS[traits.arguments], IDS[traits.call_ids]]
    sentences = [f"It shows {'; '.join(shown)}. It takes {'; '.join(takes)}."]
    if traits.calls:
        sentences.append(f"It shows the text of a turn {TEXT[traits.text_beside_calls]}.")
    if traits.thinking:
        names = ", ".join(traits.thinking.on)
        sentences.append(f"Thinking is switched by {names}.")
    return " ".join(sentences)


def painted_prompt(subject: Subject, paint: Paint) -> str:
    """The prompt with its control tokens and the family's markers set off."""
    span = (subject.span.begin, subject.span.end) if subject.span else ()
    markers = sorted({*subject.family.call.landmarks, *span}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, markers)) or r"(?!)")

    def plain(text: str) -> str:
        return pattern.sub(lambda found: paint.marker(found[0]), text)

    vocabulary, ids = subject.vocabulary, subject.prompt.token_ids
    if vocabulary is None or not ids:
        return plain(subject.prompt.text)
    painted, run = [], list[int]()
    for id in ids:
        if id in vocabulary.control_ids:
            painted += [plain(vocabulary.decode(run)), paint.control(vocabulary.token_text(id))]
            run = []
        else:
            run.append(id)
    return "".join([*painted, plain(vocabulary.decode(run))])


def told(rule: str, finding: Finding, paint: Paint) -> Iterator[str]:
    """The line of one check, and under it the first difference if there is one."""
    match finding:
        case Passed(note):
            yield f"{paint.passed('pass')}  {rule}" + (f" ({note})" if note else "")
        case Difference(said, wanted, found):
            yield f"{paint.failed('FAIL')}  {rule}: {said}"
            if wanted:
                yield from _both(wanted, found)
            elif found:
                yield f"      {_line(found[: BEFORE + AFTER])}"


def _both(wanted: str, found: str) -> Iterator[str]:
    """Two texts under each other from shortly before they differ, with a caret where."""
    pairs = zip(wanted, found, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(wanted), len(found)))
    start = max(0, at - BEFORE)
    yield f"      wanted  {_line(wanted[start : at + AFTER])}"
    yield f"      found   {_line(found[start : at + AFTER])}"
    yield f"              {' ' * (at - start)}^"


def _line(text: str) -> str:
    """The text on one line, letter for letter."""
    return text.replace("\n", "␤").replace("\t", "␉")
