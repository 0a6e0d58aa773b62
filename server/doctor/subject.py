"""A model examined without running it: what is known of it, and what a check finds.

    subject = of_template("…<tool_call>…", name="qwen.jinja", named=None)
    subject.family.name                  # "hermes"
    subject.ids("Hi")                    # [72, 105]: without a vocabulary, tokens are bytes
    subject.lets_through(subject.mask(Mode.REQUIRED), "Hi")    # False

The checks are in `checks.py`, and how it is all told in `text.py`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xgrammar import CompiledGrammar

from parsers.arguments.style import Schema
from parsers.family import Family
from parsers.marker_tokens import spellings
from parsers.syntax import Span
from server.config.settings import ToolMask
from server.console.reading import Reading
from server.console.terminal import CommandError
from server.doctor.walk import Walker
from server.errors import ApiError
from server.mask.constrain import Constraint, constrain
from server.mask.forms import BYTES, END_OF_BYTES
from server.prompt.rehearsal import CALLS, QUESTION, RESULTS, TOOLS, Rehearsal, rehearse
from server.prompt.render import Prompt, render
from server.prompt.renderer import Renderer, choose_renderer
from server.prompt.template import TemplateLoadError
from server.request import Mode, Request, ToolChoice, ToolDefinition
from server.schema.plan import SchemaPlanner
from server.startup.families import choose
from server.startup.locate import Located
from server.startup.start import as_trained, choose_family, load_template, load_vocabulary
from server.tokens.markers import marker_tokens
from server.tokens.reader import TokenReader
from server.tokens.vocabulary import Vocabulary

SCHEMAS: Mapping[str, Schema] = {
    tool.name: tool.parameters for tool in TOOLS if isinstance(tool.parameters, Mapping)
}
"""The tools of the conversation, for parsers."""

Called = tuple[str, Mapping[str, Any]]

WRITTEN: tuple[Called, ...] = tuple((call.name, json.loads(call.arguments)) for call in CALLS.tool_calls)
"""The conversation's calls, as the writer takes them."""

MAX_CALLS = 3
"""Calls that a mask lets through where several are allowed."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A check that found nothing. `note` is what else there is to know."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that a check found wrong: in words, and where they help with both sides."""

    said: str
    wanted: str = ""
    found: str = ""


Finding = Passed | Difference


@dataclass(frozen=True, slots=True)
class Subject:
    """A family and a template, and the model's vocabulary where there is a model.

    `why` says why it is this family. `prompt` is the conversation as the model would read it.
    """

    family: Family
    why: str
    template: Renderer
    vocabulary: Vocabulary | None
    walker: Walker
    rehearsal: Rehearsal
    prompt: Prompt
    planner: SchemaPlanner = field(default_factory=SchemaPlanner)

    @property
    def span(self) -> Span | None:
        return self.family.reasoning

    @property
    def opens(self) -> bool:
        """Whether the prompt ends inside the reasoning span."""
        return self.prompt.opens_reasoning

    @property
    def thought(self) -> str:
        """What ends a thought that the prompt has begun, with what follows it; else nothing."""
        return f"Hm.{self.span.end}{self.span.after}" if self.span and self.opens else ""

    def ids(self, text: str) -> list[int]:
        """The tokens of an answer."""
        if self.vocabulary is None:
            return list(text.encode())
        return self.vocabulary.encode(text, inside=True)

    def lets_through(self, mask: CompiledGrammar, answer: str) -> bool:
        """Whether the model may write the answer, and end there."""
        return self.walker.lets_through(mask, self.ids(answer))

    def constraint(
        self, choice: ToolChoice, *, parallel: bool = True, tools: Sequence[ToolDefinition] = TOOLS
    ) -> Constraint:
        """What the server would hold an answer to. Raises `ApiError`."""
        request = Request("doctor", "chat", "", QUESTION, tuple(tools), choice, parallel)
        return constrain(
            request,
            family=self.family,
            planner=self.planner,
            tool_mask=ToolMask.ENVELOPE,
            max_calls=MAX_CALLS,
            opens_reasoning=self.opens,
        )

    def mask(
        self, mode: Mode, *, parallel: bool = True, tools: Sequence[ToolDefinition] = TOOLS
    ) -> CompiledGrammar:
        """The server's mask, compiled. Raises `ApiError` or `RuntimeError`."""
        constraint = self.constraint(ToolChoice(mode), parallel=parallel, tools=tools)
        return self.walker.compile(constraint.structural_tag or "")

    def read(self, pieces: Iterable[str], *, opened: bool = False) -> Reading:
        """What the parser reads of an answer that comes in these pieces."""
        parser = self.family.parser(SCHEMAS, opens_reasoning=opened)
        reading = Reading()
        for piece in pieces:
            reading.add(parser.feed(piece))
        reading.add(parser.finish())
        return reading

    def read_tokens(self, answer: str, *, masked: bool) -> Reading:
        """What the server reads of an answer. Under a mask no marker is told from its text."""
        if self.vocabulary is None:
            return self.read([answer], opened=self.opens)
        kept = marker_tokens(self.family, self.vocabulary)
        markers = {} if masked else kept
        parser = self.family.parser(SCHEMAS, opens_reasoning=self.opens, tokens=markers.values())
        reader = TokenReader(self.vocabulary.detokenizer(keep=frozenset(kept)), parser, markers)
        reading = Reading()
        for id in self.ids(answer):
            reading.add(reader.feed(id))
        reading.add(reader.finish(truncated=False))
        return reading


def of_template(source: str, *, name: str, named: Family | None) -> Subject:
    """A template of which no model is at hand. Raises `CommandError` if it is none."""
    chosen = choose(named, template=source, control_strings=())
    try:
        template = choose_renderer(chosen.family, own=source)
    except TemplateLoadError as error:
        raise CommandError(f"{name}: {error}") from error
    family = as_trained(chosen.family, source)
    rehearsal = rehearse(template, family)
    opens = family.reasoning is not None and rehearsal.text.rstrip().endswith(family.reasoning.begin)
    prompt = Prompt(rehearsal.text, (), opens_reasoning=opens)
    walker = Walker.over(BYTES, END_OF_BYTES)
    return Subject(family, chosen.sentence, template, None, walker, rehearsal, prompt)


def of_model(located: Located) -> Subject:
    """A model, of which only the tokenizer is loaded. Raises `CommandError`."""
    vocabulary = load_vocabulary(located.model)
    if not vocabulary.end_ids:
        raise CommandError(f"The tokenizer of '{located.model}' does not say which token ends an answer.")
    chosen = choose_family(located, vocabulary)
    template = load_template(located, vocabulary, chosen.family)
    family = as_trained(chosen.family, vocabulary.chat_template, located.template)
    rehearsal, prompt = rehearse(template, family), _prompt(template, family, vocabulary)
    walker = _walker(family, vocabulary)
    return Subject(family, chosen.sentence, template, vocabulary, walker, rehearsal, prompt)


def _prompt(template: Renderer, family: Family, vocabulary: Vocabulary) -> Prompt:
    """The rehearsal's conversation as the server sends it, or the template's refusal."""
    messages = (*QUESTION, CALLS, *RESULTS)
    try:
        return render(
            Request("doctor", "chat", "", messages, TOOLS, ToolChoice(Mode.AUTO)),
            template=template,
            vocabulary=vocabulary,
            family=family,
        )
    except ApiError as error:
        return Prompt(error.message, (), opens_reasoning=False)


def _walker(family: Family, vocabulary: Vocabulary) -> Walker:
    """A walker over the tokens that can be part of an answer.

    As in the engine, only the tokenizer's own end token ends a mask. Others that end an answer are text to
    it, and may be the end of a call.
    """
    own = vocabulary.encode(vocabulary.special_tokens.get("eos_token", ""))
    end = own[0] if len(own) == 1 else min(vocabulary.end_ids)
    kept = {end, *marker_tokens(family, vocabulary), *ends_that_are_spelled(family, vocabulary)}
    hidden = (vocabulary.special_ids | vocabulary.end_ids) - kept
    texts = [b"" if id in hidden else vocabulary.token_bytes(id) for id in range(vocabulary.size)]
    return Walker.over(texts, end)


def ends_that_are_spelled(family: Family, vocabulary: Vocabulary) -> dict[int, str]:
    """The tokens that end an answer and are markers of the family as well, with their texts."""
    spelled = "\0".join(spellings(family))
    texts = {id: vocabulary.token_text(id) for id in vocabulary.end_ids}
    return {id: text for id, text in sorted(texts.items()) if text in spelled}


def wrong_calls(reading: Reading, calls: Sequence[Called]) -> Difference | None:
    """The difference between what was read and the calls that were written, None if there is none."""
    wanted = [(name, dict(arguments)) for name, arguments in calls]
    found = [(call["name"], json.loads(call["arguments"])) for call in reading.calls]
    if found == wanted:
        return None
    if reading.failures:
        first = reading.failures[0]
        return Difference(f"the parser says {first['reason']}", found=first["raw"])
    return Difference("the parser reads other calls", _as_text(wanted), _as_text(found) or reading.content)


def _as_text(calls: Sequence[Called]) -> str:
    return "; ".join(f"{name} {json.dumps(arguments, ensure_ascii=False)}" for name, arguments in calls)
