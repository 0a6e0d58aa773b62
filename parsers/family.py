r"""A model family: what its models write, stated once, and the parser, mask and writer that follow from it.

    HERMES = MarkedFamily(
        name="hermes",
        call=CallSyntax("<tool_call>", "</tool_call>", JsonCall(), lead="\n", trail="\n", separator="\n"),
        reasoning=Span("<think>", "</think>", after="\n\n"),
    )
    HERMES.parser(["f"]).feed('<tool_call>{"name": "f"')    # [CallBegin(0, "f")]
    HERMES.write_calls([("f", {"a": 1})])                    # '<tool_call>\n{"name": "f", "arguments": {…'

Nothing outside a family's own record tells one family from another.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from parsers.answer_parser import AnswerParser
from parsers.arguments.style import CallableTool, Schema
from parsers.call_ids import CallIdForm
from parsers.formats import Format
from parsers.grammar import structural_tag, with_envelopes
from parsers.machine import Parser
from parsers.marker_tokens import told_from_text
from parsers.syntax import CallSyntax, Envelope, Span
from parsers.write import write_calls


class Family(Protocol):
    """What the rest of the server asks of a family."""

    @property
    def name(self) -> str: ...

    @property
    def call(self) -> CallSyntax:
        """How calls are marked up."""
        ...

    @property
    def reasoning(self) -> Span | None:
        """How reasoning is marked up, where the models reason."""
        ...

    @property
    def signs(self) -> tuple[tuple[str, ...], ...]:
        """The signs of the family in chat templates: texts that together tell it from all behind it."""
        ...

    @property
    def call_ids(self) -> CallIdForm:
        """How the ids of calls look to its models."""
        ...

    def without_reasoning(self) -> "Family":
        """The family as a model writes it that was not trained to reason."""
        ...

    def parser(
        self,
        tools: Mapping[str, Schema] | Collection[str],
        *,
        opens_reasoning: bool = False,
        in_form: bool = False,
        tokens: Collection[str] = (),
    ) -> AnswerParser:
        """A parser of one answer.

        `tools` are the names that may be called, with the schemas of their arguments, which families that
        write no JSON need to tell text from numbers. Names alone leave all such values text.
        `opens_reasoning`: the prompt ends inside the reasoning span. `in_form`: an answer that is no call is
        in a form of its own, such as JSON, and what it spells is no call. `tokens` are the markers that are
        told apart from text: they come by `feed_marker`, and text that only spells them is text.
        """
        ...

    def structural_tag(
        self,
        tools: Sequence[CallableTool],
        *,
        at_least: int,
        at_most: int,
        answer: Format | None,
        opens_reasoning: bool,
    ) -> dict[str, Any]:
        """The mask: the XGrammar structural tag of an answer with `at_least` to `at_most` calls of `tools`.

        Without tools the answer is `answer`, and free text where that is None. With `at_least` 0 it is
        either `answer` or calls; with no `answer`, free text and then calls. With `at_least` 1 or more it is
        calls only. `opens_reasoning`: the prompt ends inside the reasoning span.
        """
        ...

    def write_text(self, text: str, *, before_calls: bool = False) -> str:
        """Text for the user as the models write it: as a whole answer, or in front of calls."""
        ...

    def write_calls(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
        """The calls of one answer as the models were trained to write them, in order and with all markers.

        Raises ValueError for arguments that JSON or the family's style cannot hold.
        """
        ...


@dataclass(frozen=True, slots=True)
class MarkedFamily:
    """A family whose answers are text with markers around reasoning and calls. The record is all of it.

    `envelopes` are what its models may write around the text for the user.
    """

    name: str
    call: CallSyntax
    reasoning: Span | None = None
    envelopes: tuple[Envelope, ...] = ()
    signs: tuple[tuple[str, ...], ...] = ()
    call_ids: CallIdForm = CallIdForm.UNIQUE

    def without_reasoning(self) -> "MarkedFamily":
        return replace(self, reasoning=None)

    def parser(
        self,
        tools: Mapping[str, Schema] | Collection[str],
        *,
        opens_reasoning: bool = False,
        in_form: bool = False,
        tokens: Collection[str] = (),
    ) -> AnswerParser:
        machine = partial(_machine, tools=tools, opens_reasoning=opens_reasoning, in_form=in_form)
        return told_from_text(tokens, self, machine)

    def structural_tag(
        self,
        tools: Sequence[CallableTool],
        *,
        at_least: int,
        at_most: int,
        answer: Format | None,
        opens_reasoning: bool,
    ) -> dict[str, Any]:
        return structural_tag(
            self.call,
            self.reasoning,
            tools,
            at_least=at_least,
            at_most=at_most,
            answer=answer if answer is None else with_envelopes(answer, self.envelopes),
            opens_reasoning=opens_reasoning,
        )

    def write_text(self, text: str, *, before_calls: bool = False) -> str:  # noqa: ARG002 (marked by nothing)
        return text

    def write_calls(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
        return write_calls(self.call, calls)


def _machine(
    family: MarkedFamily,
    tools: Mapping[str, Schema] | Collection[str],
    *,
    opens_reasoning: bool,
    in_form: bool,
) -> Parser:
    return Parser(
        family.call,
        family.reasoning,
        tools,
        opens_reasoning=opens_reasoning,
        in_form=in_form,
        dropped=tuple(mark for envelope in family.envelopes for mark in envelope.marks),
    )


def write_call(family: Family, name: str, arguments: Mapping[str, Any]) -> str:
    """An answer of one call."""
    return family.write_calls([(name, arguments)])
