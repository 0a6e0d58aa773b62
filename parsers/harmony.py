r"""OpenAI's Harmony format: an answer of messages, each on a channel or for a tool.

    GPT_OSS.parser(["f"]).feed("<|channel|>final<|message|>Sure.")    # [Content("Sure.")]
    GPT_OSS.write_calls([("f", {"a": 1})])
    # '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>'

It is a class of its own because text for the user has markup as well, and headers have their parts in any
order; the interface is that of all families. The control strings are tokens of the models' vocabulary.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from parsers.answer_parser import AnswerParser
from parsers.arguments.style import CallableTool, Schema
from parsers.call_ids import CallIdForm
from parsers.formats import Format
from parsers.harmony_marks import MARKS, Marks
from parsers.harmony_mask import harmony_tag
from parsers.harmony_parser import HarmonyParser
from parsers.marker_tokens import told_from_text
from parsers.syntax import CallSyntax, Span
from parsers.write import write_calls


@dataclass(frozen=True, slots=True)
class HarmonyFamily:
    """A family whose models write Harmony.

    `call`, `reasoning`, `preamble` and `final` are the messages as the models were trained to write them:
    calls, thoughts, text in front of calls, and text that is the answer. The parser reads more.
    """

    name: str
    call: CallSyntax
    reasoning: Span | None
    preamble: Span
    final: str
    marks: Marks = MARKS
    signs: tuple[tuple[str, ...], ...] = ()
    call_ids: CallIdForm = CallIdForm.UNIQUE

    def without_reasoning(self) -> "HarmonyFamily":
        return replace(self, reasoning=None)

    def parser(
        self,
        tools: Mapping[str, Schema] | Collection[str],
        *,
        opens_reasoning: bool = False,
        in_form: bool = False,
        tokens: Collection[str] = (),
    ) -> AnswerParser:
        machine = partial(HarmonyParser, tools=tools, opens_reasoning=opens_reasoning, in_form=in_form)
        return told_from_text(tokens, self.marks, machine)

    def structural_tag(
        self,
        tools: Sequence[CallableTool],
        *,
        at_least: int,
        at_most: int,
        answer: Format | None,
        opens_reasoning: bool,
    ) -> dict[str, Any]:
        return harmony_tag(
            self,
            tools,
            at_least=at_least,
            at_most=at_most,
            answer=answer,
            opens_reasoning=opens_reasoning,
        )

    def write_text(self, text: str, *, before_calls: bool = False) -> str:
        if not before_calls:
            return self.final + text
        return self.preamble.begin + text + self.preamble.end + self.preamble.after if text else ""

    def write_calls(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
        return write_calls(self.call, calls)
