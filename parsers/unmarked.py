"""A family whose model was given a prompt without a template: all that it writes is text.

    family = Unmarked(HERMES)
    family.parser(()).feed("<think>Hm")      # [Content("<think>Hm")]

Nobody has shown the model tools, or where it may think; what looks like a marker is the client's to read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parsers.answer_parser import AnswerParser
from parsers.arguments.style import CallableTool, Schema
from parsers.call_ids import CallIdForm
from parsers.events import Content, Event
from parsers.family import Family
from parsers.formats import Format, free_text
from parsers.syntax import CallSyntax


class TextParser:
    """Reads an answer in which nothing has a meaning."""

    in_reasoning = False

    def feed(self, text: str) -> list[Event]:
        return [Content(text)] if text else []

    def feed_marker(self, marker: str) -> list[Event]:
        return self.feed(marker)

    def finish(self, *, truncated: bool = False) -> list[Event]:  # noqa: ARG002 (nothing is held back)
        return []


@dataclass(frozen=True, slots=True)
class Unmarked:
    """`of` is what the model writes where it is given a template's prompt."""

    of: Family

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def call(self) -> CallSyntax:
        return self.of.call

    @property
    def reasoning(self) -> None:
        return None

    @property
    def signs(self) -> tuple[tuple[str, ...], ...]:
        return self.of.signs

    @property
    def call_ids(self) -> CallIdForm:
        return self.of.call_ids

    def without_reasoning(self) -> "Unmarked":
        return self

    def parser(
        self,
        tools: Mapping[str, Schema] | Collection[str],  # noqa: ARG002 (there are none)
        *,
        opens_reasoning: bool = False,  # noqa: ARG002 - as every family has it
        in_form: bool = False,  # noqa: ARG002 - as every family has it
        tokens: Collection[str] = (),  # noqa: ARG002 - as every family has it
    ) -> AnswerParser:
        return TextParser()

    def structural_tag(
        self,
        tools: Sequence[CallableTool],  # noqa: ARG002 (there are none)
        *,
        at_least: int,  # noqa: ARG002 - as every family has it
        at_most: int,  # noqa: ARG002 - as every family has it
        answer: Format | None,
        opens_reasoning: bool,  # noqa: ARG002 - as every family has it
    ) -> dict[str, Any]:
        return {"type": "structural_tag", "format": free_text([]) if answer is None else answer}

    def write_text(self, text: str, *, before_calls: bool = False) -> str:  # noqa: ARG002 - as every family has it
        return text

    def write_calls(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
        return self.of.write_calls(calls)
