r"""A family's markup and a request's tools to an XGrammar structural tag: the mask of a whole answer.

With the tool `f`, and one or two calls of it, Hermes gives the reasoning span and then

    {"type": "sequence", "elements": [
        {"type": "tag",
         "begin": '<tool_call>\n{"name": "f", "arguments": ', "content": …, "end": '}\n</tool_call>'},
        {"type": "repeat", "min": 0, "max": 1, …a newline and another such tag…}]}

What the mask allows is what the model was trained to write and nothing wider, though the parser reads more:

* A call is spelled as the writer spells it, but for whitespace inside the arguments.
* Free text comes before the calls, never after: clients close the content at the first call. It cannot
  hold a marker, of a call or of reasoning, that opens neither; and where calls have no begin marker, it does
  not begin as they do.
* Inside the reasoning span no call can be opened, and the span must be closed before the answer may end.
"""

from collections.abc import Sequence
from typing import Any

from parsers.arguments.style import CallableTool
from parsers.formats import Format, either, free_text, optional, regex, repeat, sequence, tag, text
from parsers.syntax import CallSyntax, Envelope, Span

__all__ = ["CallableTool", "Format", "structural_tag", "with_envelopes"]


def structural_tag(
    syntax: CallSyntax,
    span: Span | None,
    tools: Sequence[CallableTool],
    *,
    at_least: int,
    at_most: int,
    answer: Format | None,
    opens_reasoning: bool,
) -> dict[str, Any]:
    """The structural tag of an answer: see `parsers.family.Family.structural_tag`."""
    body = _body(syntax, span, tools, at_least, at_most, answer)
    if span:
        excluded = syntax.markers if tools else ()
        body = sequence(thoughts_in(span, excluded, opens_reasoning=opens_reasoning), body)
    return {"type": "structural_tag", "format": body}


def with_envelopes(answer: Format, envelopes: Sequence[Envelope]) -> Format:
    """The answer as it is, or in one of the envelopes."""
    return either([answer, *(tag(envelope.begin, answer, envelope.end) for envelope in envelopes)])


def _body(
    syntax: CallSyntax,
    span: Span | None,
    tools: Sequence[CallableTool],
    at_least: int,
    at_most: int,
    answer: Format | None,
) -> Format:
    """All that follows the reasoning span."""
    # Else the parser would take it for a span, at the start of the text.
    excluded = [span.begin] if span else []
    if not tools:
        return free_text(excluded) if answer is None else answer
    calls = _calls(syntax, tools, at_least=max(at_least, 1), at_most=at_most)
    alone = sequence(text(syntax.before), calls) if syntax.before else calls
    if at_least:
        return alone
    if answer is not None:
        return either([answer, alone])
    prose = free_text([*syntax.markers, *syntax.cues(tool.name for tool in tools), *excluded])
    if syntax.begin:
        return sequence(prose, optional(calls))
    return either([calls, optional(sequence(regex(_not_a_call(syntax, tools)), prose))])


def _not_a_call(syntax: CallSyntax, tools: Sequence[CallableTool]) -> str:
    """The first character of text, where calls have no begin marker."""
    firsts = {(syntax.lead + syntax.style.frame(tool).before)[0] for tool in tools}
    firsts |= {opener[0] for opener in syntax.openers}
    return "[^" + "".join(f"\\{first}" if first in "[]^-\\" else first for first in sorted(firsts)) + "\\s]"


def _calls(syntax: CallSyntax, tools: Sequence[CallableTool], *, at_least: int, at_most: int) -> Format:
    """From `at_least` to `at_most` calls, of which there is one."""
    if syntax.joint is None:
        blocks = either([_call(syntax, tool, whole_block=True) for tool in tools])
        return several_calls(blocks, syntax.separator, at_least=at_least, at_most=at_most)
    calls = either([_call(syntax, tool, whole_block=False) for tool in tools])
    several = several_calls(calls, syntax.joint, at_least=at_least, at_most=at_most)
    begin, end = syntax.begin + syntax.lead, syntax.trail + syntax.end
    return tag(begin, several, end) if begin else sequence(several, text(end))


def several_calls(content: Format, joint: str, *, at_least: int, at_most: int) -> Format:
    """From `at_least` to `at_most` times `content`, with `joint` between them."""
    if at_most == 1:
        return content
    further = sequence(text(joint), content) if joint else content
    return sequence(content, repeat(further, at_least=at_least - 1, at_most=at_most - 1))


def _call(syntax: CallSyntax, tool: CallableTool, *, whole_block: bool) -> Format:
    frame = syntax.style.frame(tool)
    if not whole_block:
        return tag(frame.before, frame.content, frame.after)
    before, after = syntax.begin + syntax.lead, syntax.trail + syntax.end
    return tag(before + frame.before, frame.content, frame.after + after)


def thoughts_in(span: Span, excluded: Sequence[str], *, opens_reasoning: bool) -> Format:
    """The reasoning span: what is left of it if the prompt has opened it, else a whole one or none."""
    thoughts = tag("" if opens_reasoning else span.begin, free_text(excluded), span.end)
    whole = sequence(thoughts, text(span.after)) if span.after else thoughts
    return whole if opens_reasoning else optional(whole)
