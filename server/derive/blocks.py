r"""From what stands around calls and between them to the markers of blocks.

around = Around(before="<calls>[", after="]</calls>", between=", ")
call_syntax(around, JsonCall(), marks)
# CallSyntax("<calls>", "</calls>", JsonCall(), lead="[", trail="]", joint=", ")
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from parsers.arguments.style import ArgumentStyle
from parsers.syntax import CallSyntax
from server.derive.marks import Marks

StyleOf = Callable[[str, str, str], ArgumentStyle]
"""Makes a style from its opening, what stands before its closing, and its closing."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a template writes before one call, after it, and between two; None if it shows one only."""

    before: str
    after: str
    between: str | None

    @property
    def separator(self) -> str | None:
        """What stands between two blocks, if each call has one of its own."""
        if self.between is None:
            return "\n"
        begin, end = self.before.lstrip(), self.after
        is_whole = self.between.startswith(end) and self.between.endswith(begin)
        if not is_whole or len(self.between) < len(begin) + len(end):
            return None
        return self.between[len(end) : len(self.between) - len(begin)]


def call_syntax(around: Around, style: ArgumentStyle, marks: Marks) -> CallSyntax:
    """The syntax of calls in a style that has no marker of its own for each call."""
    separator = around.separator
    joint = around.between if separator is None else None
    before, head = _edge(around.before)
    begin, lead = marks.after_last(head)
    if not begin and any(char.isalnum() for char in lead):
        begin, lead = lead.rstrip(), lead[len(lead.rstrip()) :]
    trail, mark, rest = marks.first(around.after)
    return CallSyntax(
        begin,
        mark + rest,
        style,
        lead=lead,
        trail=trail,
        separator=separator or "",
        joint=joint,
        before=before,
    )


def marked_call_syntaxes(around: Around, style_of: StyleOf, marks: Marks) -> Iterator[CallSyntax]:
    """The syntaxes that may be those of calls in a style with markers for each call."""
    separator = around.separator
    if separator is None:
        yield _one_block(around.before, around.after, around.between or "", style_of, marks)
        return
    head, opening = marks.before_last(around.before)
    after, closing, tail = marks.first(around.after)
    yield _blocks(head, tail, style_of(opening, after, closing), separator=separator)
    if not opening:
        # The only mark in front of a call is the call's own, with no block around it.
        yield _blocks("", tail, style_of(head.strip(), after, closing), joint=separator)


def _one_block(before: str, after: str, between: str, style_of: StyleOf, marks: Marks) -> CallSyntax:
    """One block for all calls: what stands around each call stands between two as well."""
    opening = marks.common_tail(before, between)
    ending = marks.common_head(after, between.removesuffix(opening))
    ahead, mark, rest = marks.first(ending)
    return _blocks(
        before.removesuffix(opening),
        after.removeprefix(ending),
        style_of(opening, ahead, mark + rest),
        joint=between.removesuffix(opening).removeprefix(ending),
    )


def _blocks(
    head: str, tail: str, style: ArgumentStyle, *, separator: str = "", joint: str | None = None
) -> CallSyntax:
    before, head = _edge(head)
    begin = head.rstrip()
    trail, end = _edge(tail)
    lead = head.removeprefix(begin)
    return CallSyntax(
        begin, end, style, lead=lead, trail=trail, separator=separator, joint=joint, before=before
    )


def _edge(text: str) -> tuple[str, str]:
    """The whitespace that a text begins with, and the rest."""
    rest = text.lstrip()
    return text[: len(text) - len(rest)], rest
