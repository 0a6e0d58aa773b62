r"""A family's record and a request's tools to an XGrammar structural tag: the mask of a whole answer.

With the tool `f`, and one or two calls of it, Hermes gives the reasoning span and then

    {"type": "sequence", "elements": [
        {"type": "tag",
         "begin": '<tool_call>\n{"name": "f", "arguments": ', "content": …, "end": '}\n</tool_call>'},
        {"type": "repeat", "min": 0, "max": 1, …a newline and another such tag…}]}

What the mask allows is what the model was trained to write and nothing wider, though the parser reads more:

* A call is spelled as the writer spells it, but for whitespace inside the arguments.
* Free text comes before the calls, never after: clients close the content at the first call. It cannot
  hold a begin marker, of a call or of reasoning, that opens neither.
* Inside the reasoning span no call can be opened, and the span must be closed before the answer may end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parsers.family import CallSyntax, Family, Span

Format = Mapping[str, Any]
"""An XGrammar structural-tag format."""


@dataclass(frozen=True, slots=True)
class CallableTool:
    """A tool the model may call. `arguments` is the format of its arguments in the family's style."""

    name: str
    arguments: Format


def structural_tag(
    family: Family,
    tools: Sequence[CallableTool],
    *,
    at_least: int,
    at_most: int,
    answer: Format | None,
    opens_reasoning: bool,
) -> dict[str, Any]:
    """The structural tag of an answer with `at_least` to `at_most` calls of `tools`.

    Without tools the answer is `answer`, and free text where that is None. With `at_least` 0 it is either
    `answer` or calls; with no `answer`, free text and then calls. With `at_least` 1 or more it is calls only.
    `opens_reasoning`: the prompt ends inside the reasoning span.
    """
    body = _body(family, tools, at_least, at_most, answer)
    if family.reasoning:
        excluded = [family.call.begin] if tools else []
        body = _sequence(_span(family.reasoning, excluded, opens_reasoning=opens_reasoning), body)
    return {"type": "structural_tag", "format": body}


def _body(
    family: Family, tools: Sequence[CallableTool], at_least: int, at_most: int, answer: Format | None
) -> Format:
    """All that follows the reasoning span."""
    if not tools:
        return _free_text(family, tools) if answer is None else answer
    calls = _calls(family.call, tools, at_least=max(at_least, 1), at_most=at_most)
    if at_least:
        return calls
    if answer is None:
        return _sequence(_free_text(family, tools), _optional(calls))
    return _either([answer, calls])


def _calls(syntax: CallSyntax, tools: Sequence[CallableTool], *, at_least: int, at_most: int) -> Format:
    """From `at_least` to `at_most` calls, of which there is one."""
    call = _either([_call(syntax, tool) for tool in tools])
    if at_most == 1:
        return call
    further = _sequence(_text(syntax.separator), call) if syntax.separator else call
    return _sequence(call, {"type": "repeat", "min": at_least - 1, "max": at_most - 1, "content": further})


def _call(syntax: CallSyntax, tool: CallableTool) -> Format:
    before, after = syntax.frame(tool.name)
    return {"type": "tag", "begin": before, "content": tool.arguments, "end": after}


def _free_text(family: Family, tools: Sequence[CallableTool]) -> Format:
    excluded = [family.call.begin] if tools else []
    if family.reasoning:
        # Else the parser would take it for a span, at the start of the text.
        excluded.append(family.reasoning.begin)
    return {"type": "any_text", "excludes": excluded}


def _span(span: Span, excluded: Sequence[str], *, opens_reasoning: bool) -> Format:
    """The reasoning span: what is left of it if the prompt has opened it, else a whole one or none."""
    begin = "" if opens_reasoning else span.begin
    inside = {"type": "any_text", "excludes": list(excluded)}
    tag = {"type": "tag", "begin": begin, "content": inside, "end": span.end}
    whole = _sequence(tag, _text(span.after)) if span.after else tag
    return whole if opens_reasoning else _optional(whole)


def _text(text: str) -> Format:
    return {"type": "const_string", "value": text}


def _optional(content: Format) -> Format:
    return {"type": "optional", "content": content}


def _sequence(*elements: Format) -> Format:
    return {"type": "sequence", "elements": list(elements)}


def _either(elements: Sequence[Format]) -> Format:
    return elements[0] if len(elements) == 1 else {"type": "or", "elements": list(elements)}
