"""The checks of `strictcall doctor`: what is right passes all of them, and each finds its own fault."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parsers.answer_parser import AnswerParser
from parsers.arguments.style import CallableTool, Schema
from parsers.families.hermes import HERMES
from parsers.families.kimi_k2 import KIMI_K2
from parsers.family import MarkedFamily
from parsers.formats import Format
from parsers.registry import find
from server.doctor.answer_checks import markers_are_known, walks_end_in_valid_calls
from server.doctor.checks import CHECKS, examined
from server.doctor.subject import Difference, Passed, Subject, of_template
from server.prompt.rehearsal import rehearse
from server.prompt.render import Prompt
from server.prompt.template import ChatTemplate
from server.tokens.vocabulary import Vocabulary
from templates import read_template
from tests.server.special import with_special_tokens

OURS = ("deepseek_v3", "deepseek_v31", "hermes", "kimi_k2")
HERMES_TEMPLATE = read_template("hermes") or ""

SHOWN = ("both tools are in the prompt", "both calls are", "both results are")
IN_ORDER = "they stand in order, with nothing that is not theirs"
READ, WRITTEN = (
    "calls that the template shows are read as calls",
    "calls are written as the template shows them",
)
COMPILE, LET_THROUGH = "the masks compile", "the mask lets written calls through"
REFUSE = tuple(check.rule for check in CHECKS if check.rule.startswith("the mask refuses"))
READ_BACK = ("written calls are read back whole", "written calls are read back letter by letter")
WALKED = "random answers under the mask are read to valid calls"
THOUGHTS, IDS = "thoughts are told from calls", "ids come back from the client"


def failed(subject: Subject) -> set[str]:
    return {rule for rule, finding in examined(subject) if isinstance(finding, Difference)}


def subject(source: str = HERMES_TEMPLATE, family: MarkedFamily = HERMES) -> Subject:
    """A subject of just this template and family, which nobody would choose."""
    template = ChatTemplate(source, origin="a test")
    rehearsal = rehearse(template, family)
    chosen = of_template(HERMES_TEMPLATE, name="hermes.jinja", named=HERMES)
    prompt = Prompt(rehearsal.text, (), opens_reasoning=False)
    return replace(chosen, template=template, family=family, rehearsal=rehearsal, prompt=prompt)


@pytest.mark.parametrize("name", OURS)
def test_our_own_templates_pass(name: str) -> None:
    """With nothing to complain of at all."""
    source = read_template(name)
    assert source is not None

    assert failed(of_template(source, name=name, named=None)) == set()


def test_the_prompt_may_open_the_thought() -> None:
    """Then every answer begins within it."""
    opening = "{# </think> #}{{ '<think>' if add_generation_prompt }}"
    opened = of_template(HERMES_TEMPLATE + opening, name="hermes.jinja", named=HERMES)

    assert opened.opens
    assert failed(opened) == set()


FAULTS = {
    "a refusal": (
        "{{ raise_exception('No tools here') if tools }}" + HERMES_TEMPLATE,
        {*SHOWN, IN_ORDER, READ, WRITTEN, IDS},
    ),
    "a lost tool": (("feed_numbat", "feed"), {*SHOWN[:2], READ, WRITTEN}),
    "a lost result": (("munching", ""), {SHOWN[2]}),
    "results in another order": (("sleeping", "-", "munching", "sleeping", "-", "munching"), {IN_ORDER}),
    "calls in other words": (('"arguments": ', '"parameter": '), {READ, WRITTEN}),
    "calls in other spaces": (('{"burrow": "hillside"', '{"burrow":"hillside"'), {WRITTEN}),
}


@pytest.mark.parametrize(("change", "rules"), FAULTS.values(), ids=FAULTS.keys())
def test_faults_of_a_template_are_found(change: str | tuple[str, ...], rules: set[str]) -> None:
    """Each by the checks that are about it."""
    source = change if isinstance(change, str) else HERMES_TEMPLATE
    pairs = () if isinstance(change, str) else zip(change[::2], change[1::2], strict=True)
    for old, new in pairs:
        source = f"{{% filter replace({old!r}, {new!r}) %}}{source}{{% endfilter %}}"

    assert failed(subject(source)) == rules


def test_ids_that_do_not_reach_the_prompt_are_found() -> None:
    """Where results are paired with calls by their ids."""
    source = read_template("kimi_k2") or ""
    without = "{% filter replace('functions.find_wombat:0', '') %}" + source + "{% endfilter %}"

    assert IDS in failed(subject(without, KIMI_K2))
    assert IDS not in failed(subject(source, KIMI_K2))


class WritesMore(MarkedFamily):
    """Writes what its mask does not know."""

    def write_calls(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
        return super().write_calls(calls) + "!"


class MasksNothing(MarkedFamily):
    """Lets any text through."""

    def structural_tag(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {"type": "structural_tag", "format": {"type": "any_text"}}


class MasksWrongly(MarkedFamily):
    """Has a mask that is none."""

    def structural_tag(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {"type": "structural_tag", "format": {"type": "regex", "pattern": "("}}


class MasksOtherTools(MarkedFamily):
    """Takes the first tool's arguments for any object."""

    def structural_tag(
        self,
        tools: Sequence[CallableTool],
        *,
        at_least: int,
        at_most: int,
        answer: Format | None,
        opens_reasoning: bool,
    ) -> dict[str, Any]:
        anything: Format = {"type": "json_schema", "json_schema": {"type": "object"}}
        return super().structural_tag(
            [replace(tools[0], arguments=anything), *tools[1:]],
            at_least=at_least,
            at_most=at_most,
            answer=answer,
            opens_reasoning=opens_reasoning,
        )


class EndsEarly(MarkedFamily):
    """Has a mask that lets nothing through but the end, where calls are not required."""

    def structural_tag(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {"type": "structural_tag", "format": {"type": "const_string", "value": "No."}}


class CannotThink(MarkedFamily):
    """Reads thoughts as text."""

    def parser(
        self,
        tools: Mapping[str, Schema] | Collection[str],
        *,
        opens_reasoning: bool = False,
        in_form: bool = False,
        tokens: Collection[str] = (),
    ) -> AnswerParser:
        return HERMES.without_reasoning().parser(tools, in_form=in_form, tokens=tokens)


class KnowsNoTools(MarkedFamily):
    """Reads every call as text."""

    def parser(
        self,
        tools: Mapping[str, Schema] | Collection[str],
        *,
        opens_reasoning: bool = False,
        in_form: bool = False,
        tokens: Collection[str] = (),
    ) -> AnswerParser:
        return super().parser([], opens_reasoning=opens_reasoning, in_form=in_form, tokens=tokens)


BROKEN = {
    WritesMore: {WRITTEN, LET_THROUGH, *READ_BACK, THOUGHTS},
    MasksNothing: {*REFUSE, WALKED},
    MasksWrongly: {COMPILE, LET_THROUGH, *REFUSE, WALKED, THOUGHTS},
    MasksOtherTools: {REFUSE[1], WALKED},
    EndsEarly: {LET_THROUGH, REFUSE[3], WALKED, THOUGHTS},
    CannotThink: {WALKED, THOUGHTS},
    KnowsNoTools: {READ, *READ_BACK, WALKED, THOUGHTS},
}


@pytest.mark.parametrize(("family", "rules"), BROKEN.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_faults_of_a_family_are_found(family: type[MarkedFamily], rules: set[str]) -> None:
    """Writer, mask and parser are held to each other."""
    broken = family(HERMES.name, HERMES.call, HERMES.reasoning)

    assert failed(subject(family=broken)) == rules


def test_a_marker_that_ends_an_answer_is_found(smollm2: Vocabulary) -> None:
    """No call could be written."""
    vocabulary = with_special_tokens(smollm2, "<tool_call>", end="<tool_call>")
    finding = markers_are_known(replace(subject(), vocabulary=vocabulary))

    assert isinstance(finding, Difference)
    assert finding.said == "<tool_call> ends an answer, and the call before it is not whole"


def test_a_marker_that_ends_a_call_may_end_the_answer(smollm2: Vocabulary) -> None:
    """The call is whole without it."""
    vocabulary = with_special_tokens(smollm2, "<|call|>", "<|channel|>", end="<|call|>")
    examinee = replace(subject(), family=find("gpt_oss"), vocabulary=vocabulary)
    finding = markers_are_known(examinee)

    assert isinstance(finding, Passed)
    assert "tokens: <|channel|>; text: " in finding.note
    assert finding.note.endswith("; ends of an answer: <|call|>")


WITH_IDS = "the template writes an id into each call, which the model is not asked for"

NOT_PASSING = {
    "GigaChat3-10B-A1.8B": "the template marks calls by other words than those of the family's later models",
    "Mistral-Small-3.2-24B-Instruct-2506": WITH_IDS,
    "inclusionai-ling-3.0-flash": "the template puts no line break before calls, nor between two arguments",
    "mistralai-Mistral-Nemo-Instruct-2407": WITH_IDS,
}
"""Why what the writer writes is not to the letter what these templates show. It is read all the same."""


def test_real_templates_pass_or_are_known(model_data: Path) -> None:
    """Those that fail do so for the reason that is stated, and no others do."""
    # Walks are the same for all templates of a family.
    checks = [check for check in CHECKS if check.of is not walks_end_in_valid_calls]
    found = {}
    for page in sorted((model_data / "chat_templates").glob("*.jinja")):
        each = of_template(page.read_text(encoding="utf-8"), name=page.name, named=None)
        wrong = {rule for rule, finding in examined(each, checks) if isinstance(finding, Difference)}
        if wrong:
            found[page.stem] = wrong

    assert found == {name: {WRITTEN} for name in NOT_PASSING}
