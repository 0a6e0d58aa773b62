r"""The mask of Harmony answers: a family's record and a request's tools to a structural tag.

With the tool `f` and free text there is a thought or none, and then either

    <|channel|>final<|message|>TEXT

or calls, perhaps behind a preamble (`<|channel|>commentary<|message|>TEXT<|end|><|start|>assistant`):

    <|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>

Between two calls stands `<|start|>assistant`. The last `<|call|>` may be left out, as `<|return|>` always is:
where they are tokens that end the model's turn, a mask lets them pass at its own end and nowhere else.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parsers.arguments.style import CallableTool
from parsers.formats import Format, either, free_text, optional, sequence, tag, text
from parsers.grammar import several_calls, thoughts_in
from parsers.syntax import CallSyntax

if TYPE_CHECKING:
    from parsers.harmony import HarmonyFamily


def harmony_tag(
    family: "HarmonyFamily",
    tools: Sequence[CallableTool],
    *,
    at_least: int,
    at_most: int,
    answer: Format | None,
    opens_reasoning: bool,
) -> dict[str, Any]:
    """The structural tag of an answer: see `parsers.family.Family.structural_tag`."""
    marks = family.marks
    # Without tools a header may be quoted, as long as no body follows it.
    excluded = marks.all if tools else (*marks.ends, marks.start, marks.message)
    final = sequence(text(family.final), free_text(excluded) if answer is None else answer)
    if not tools:
        body = final
    else:
        calls = _calls(family.call, tools, at_least=max(at_least, 1), at_most=at_most)
        if not at_least and answer is None:
            preamble = family.preamble
            before = sequence(tag(preamble.begin, free_text(excluded), preamble.end), text(preamble.after))
            calls = sequence(optional(before), calls)
        body = calls if at_least else either([final, calls])
    if family.reasoning:
        body = sequence(thoughts_in(family.reasoning, excluded, opens_reasoning=opens_reasoning), body)
    return {"type": "structural_tag", "format": body}


def _calls(syntax: CallSyntax, tools: Sequence[CallableTool], *, at_least: int, at_most: int) -> Format:
    calls = either([_call(syntax, tool) for tool in tools])
    several = several_calls(calls, syntax.end + syntax.separator, at_least=at_least, at_most=at_most)
    return sequence(several, optional(text(syntax.end)))


def _call(syntax: CallSyntax, tool: CallableTool) -> Format:
    frame = syntax.style.frame(tool)
    return sequence(text(syntax.begin + frame.before), frame.content)
