"""Families of models that nobody has described, derived from what their chat templates write."""

import json
from typing import Any

import pytest

from parsers.syntax import Span
from server.derive import NotDerivedError, derive
from server.startup.families import choose
from server.tokens.vocabulary import Vocabulary
from tests.server.prompting import TEMPLATES
from tests.server.scripted import Told, always, serving, tool

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("weather", {"city": "Ulm", "days": 2}),
    ("ping", {}),
    ("note", {"text": "rain"}),
]
ENDS = ("<|end|>", "<|wait|>")

WRITTEN = {
    "array": '<uses>[{"name": "weather", "arguments": {"city": "Ulm", "days": 2}}, '
    '{"name": "ping", "arguments": {}}, {"name": "note", "arguments": {"text": "rain"}}]</uses>',
    "functions": '<function=weather>{"city": "Ulm", "days": 2}</function><function=ping>{}</function>'
    '<function=note>{"text": "rain"}</function>',
    "keyed": '[USE]{"weather": {"city": "Ulm", "days": 2}}[USE]{"ping": {}}[USE]{"note": {"text": "rain"}}',
    "lines": "<use>\n<tool=weather>\n<with=city>\nUlm\n</with>\n<with=days>\n2\n</with>\n</tool>\n</use>"
    "<use>\n<tool=ping>\n</tool>\n</use>"
    "<use>\n<tool=note>\n<with=text>\nrain\n</with>\n</tool>\n</use>",
    "literals": '<use>[weather(city="Ulm", days=2), ping(), note(text="rain")]</use>',
    "named": '<uses>\n<use>weather\n```json\n{"city": "Ulm", "days": 2}\n```</use>\n'
    '<use>ping\n```json\n{}\n```</use>\n<use>note\n```json\n{"text": "rain"}\n```</use>\n</uses>',
    "objects": '<use>\n{"tool": "weather", "with": {"city": "Ulm", "days": 2}}\n</use>'
    '<use>\n{"tool": "ping", "with": {}}\n</use><use>\n{"tool": "note", "with": {"text": "rain"}}\n</use>',
    "one_call": '{"name": "weather", "parameters": {"city": "Ulm", "days": 2}}\n'
    '{"name": "ping", "parameters": {}}\n{"name": "note", "parameters": {"text": "rain"}}',
    "tags": '<uses>\n<use name="weather">\n<arg name="city" string="true">Ulm</arg>\n'
    '<arg name="days" string="false">2</arg>\n</use>\n<use name="ping">\n</use>\n'
    '<use name="note">\n<arg name="text" string="true">rain</arg>\n</use>\n</uses>',
    "thoughts": '<use>{"name": "weather", "arguments": {"city": "Ulm", "days": 2}}</use>'
    '<use>{"name": "ping", "arguments": {}}</use><use>{"name": "note", "arguments": {"text": "rain"}}</use>',
}
"""The calls as a model with each of our templates would write them."""

REFUSED = {
    "ids": "one call would not be read",
    "quoted_badly": "text that wants escapes would be written in another way than the template does",
    "unmarked": "one call would not be read",
}

SHOWS_ALL = """{{ tools }}{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}
{{ c.function.arguments | tojson + ' for ' + c.function.name }}{% endfor %}{% endfor %}"""
WANTS_RESULTS = "{% if messages[-1].tool_calls %}{{ raise_exception('And the results?') }}{% endif %}"

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def source(name: str) -> str:
    return (TEMPLATES / "derived" / f"{name}.jinja").read_text(encoding="utf-8")


def test_every_template_of_ours_is_tried() -> None:
    """A template without a test is none."""
    assert {page.stem for page in (TEMPLATES / "derived").glob("*.jinja")} == {*WRITTEN, *REFUSED}


@pytest.mark.parametrize("name", WRITTEN)
def test_calls_are_written_as_the_template_writes_them(name: str) -> None:
    """Each style of arguments, with markers that no family has."""
    assert derive(source(name), end_strings=ENDS).write_calls(CALLS) == WRITTEN[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_proved_is_not_derived(name: str) -> None:
    """A record that misreads or miswrites would be worse than none; the reason tells which it was."""
    with pytest.raises(NotDerivedError) as refusal:
        derive(source(name), end_strings=ENDS)

    assert str(refusal.value) == REFUSED[name]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("{% if %}", "The chat template cannot be compiled: "),
        ("{{ messages | length }}", "it shows no tools"),
        ("{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% endfor %}", "it shows no calls"),
        ("{{ raise_exception('No.') }}", "it shows no tools"),
        (SHOWS_ALL, "none of the styles of arguments fits"),
        (SHOWS_ALL + WANTS_RESULTS, "it refuses an answer of calls"),
    ],
)
def test_a_template_that_shows_too_little_is_told_why(page: str, reason: str) -> None:
    """Nothing that a template does is an error here: there is always `generic`."""
    with pytest.raises(NotDerivedError) as refusal:
        derive(page)

    assert str(refusal.value).startswith(reason)


def test_reasoning_is_found_where_it_is_shown() -> None:
    """The marks stand around the thought of an earlier turn, and around nothing where there was none."""
    assert derive(source("thoughts"), end_strings=ENDS).reasoning == Span("<ponder>", "</ponder>", "\n\n")


def test_reasoning_is_found_where_it_is_only_spelled() -> None:
    """Many templates drop earlier thoughts, and name their marks to do so."""
    spelled = "{% set thought = '<think>', '</think>' %}" + source("objects")

    assert derive(spelled, end_strings=ENDS).reasoning == Span("<think>", "</think>", "\n\n")
    assert derive(source("objects"), end_strings=ENDS).reasoning is None


def test_what_ends_a_turn_is_no_part_of_a_call() -> None:
    """A token that ends an answer can stand in no mask; one that is not known to end it fits in no style."""
    ended = source("objects").replace("{{- '<|end|>' }}", "{{- '<|wait|>' if m.tool_calls }}")

    assert derive(ended, end_strings=ENDS).write_calls(CALLS) == WRITTEN["objects"]
    with pytest.raises(NotDerivedError):
        derive(ended)


def test_a_derived_family_is_told_with_one_of_its_calls() -> None:
    """Whoever reads the log sees at once whether it is right."""
    chosen = choose(None, template=source("objects"), control_strings=(), end_strings=ENDS)

    assert chosen.family.name == "derived"
    assert chosen.sentence == (
        "derived from the chat template, which writes a call as "
        '<use>␤{"tool": "NAME", "with": {"KEY": "VALUE"}}␤</use>'
    )


def test_a_family_that_cannot_be_derived_is_told_with_the_reason() -> None:
    """Then the model is told of a form of ours."""
    chosen = choose(None, template=source("quoted_badly"), control_strings=(), end_strings=ENDS)

    assert chosen.family.name == "generic"
    assert chosen.sentence == (
        "generic, because the chat template writes no form of calls that is known here: "
        "text that wants escapes would be written in another way than the template does."
    )


@pytest.mark.parametrize("name", sorted(WRITTEN.keys() - {"one_call"}))
async def test_a_derived_family_is_served(name: str, vocabulary: Vocabulary) -> None:
    """From the request to the client, streamed or not, as any family that is built in."""
    family = derive(source(name), end_strings=ENDS)
    tools = [tool("weather", WEATHER, strict=True), tool("ping"), tool("note", NOTE)]
    answer = "Let me see." + family.write_calls(CALLS)
    async with serving(
        vocabulary, always(vocabulary, answer), template=source(name), family=family
    ) as server:
        [choice] = await server.answers(tools=tools)

    assert choice == Told(
        "Let me see.", calls=tuple((name, json.dumps(given)) for name, given in CALLS), finish="tool_calls"
    )
