"""The templates of 70 models: a family for each, and every conversation whole, through its own or ours.

The pages are other people's: they are read from the directory that STRICTCALL_TEST_DATA names.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from parsers.call_ids import CallIdForm
from parsers.family import Family
from server.prompt import renderer
from server.prompt.call_ids import form_of
from server.prompt.rehearsal import rehearse
from server.prompt.render import template_turns
from server.prompt.renderer import choose_renderer
from server.request import Message
from server.startup.families import choose
from tests.server.prompting import AUTO, TIME, USER, WEATHER, Renderer, call, calls, result

NO_TEXT_BESIDE_CALLS = {"Mistral-Small-3.2-24B-Instruct-2506", "mistralai-Mistral-Nemo-Instruct-2407"}
"""Models that write either text or calls in a turn, with templates that allow nothing else."""


@pytest.fixture(scope="module", name="chosen")
def _chosen(model_data: Path) -> dict[str, tuple[renderer.Renderer, Family]]:
    """For each page, the template that serves the model, and its family."""
    chosen = {}
    for path in sorted((model_data / "chat_templates").glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        family = choose(None, template=source, control_strings=set()).family
        chosen[path.stem] = choose_renderer(family, own=source), family
    return chosen


Chosen = dict[str, tuple[renderer.Renderer, Family]]


def prompts(chosen: Chosen, *messages: Message) -> Iterator[tuple[str, str]]:
    """Each page's name, and its prompt for the messages."""
    for page, (template, family) in chosen.items():
        yield page, template.render(template_turns(messages, template, family, lambda value: value))


def test_a_conversation_with_calls_loses_nothing(chosen: Chosen) -> None:
    """Two tools, two calls and two results: all there, in order, once, and in the right words (row 114)."""
    lost = {page: rehearse(template, family).lost for page, (template, family) in chosen.items()}

    assert len(chosen) == 70
    assert {page: names for page, names in lost.items() if names} == {}


def test_rounds_of_calls_lose_nothing(chosen: Chosen) -> None:
    """Later rounds are as whole as the first, which some models' own templates get wrong."""
    conversation = (
        USER,
        calls(call("a", '{"city": "Ulm"}'), call("b", '{"city": "Bonn"}')),
        result("b", "sun"),
        result("a", "rain"),
        calls(call("c", '{"city": "Jena"}')),
        result("c", "fog"),
        Message("assistant", "numbat"),
        Message("user", "quokka"),
        calls(call("d", '{"city": "Graz"}')),
        result("d", "hail"),
    )
    words = ("Hi", "Ulm", "Bonn", "rain", "sun", "Jena", "fog", "numbat", "quokka", "Graz", "hail")
    for page, prompt in prompts(chosen, *conversation):
        assert [page, *(word for word in words if word not in prompt)] == [page]
        assert prompt.index("rain") < prompt.index("sun") < prompt.index("hail")


def test_text_beside_calls_is_there(chosen: Chosen) -> None:
    """An answer of ours may be both, and comes back as one message."""
    turn = calls(call("a", '{"city": "Ulm"}'), content="I look outside.")
    without = {
        page
        for page, prompt in prompts(chosen, USER, turn, result("a", "rain"))
        if "I look outside." not in prompt
    }

    assert without == NO_TEXT_BESIDE_CALLS


def test_ids_of_other_servers_have_the_form_of_the_family(chosen: Chosen) -> None:
    """Where a family has a form of its own for ids, call and result have the same one of that form."""
    foreign = "call_0123456789abcdef01234567"
    conversation = (USER, calls(call(foreign, '{"city": "Ulm"}')), result(foreign, "rain"))
    for page, prompt in prompts(chosen, *conversation):
        template, family = chosen[page]
        if form_of(family, template.traits.call_ids) is not CallIdForm.UNIQUE:
            assert (page, foreign in prompt) == (page, False)
    for page in ("Kimi-K2-Instruct", "moonshotai-Kimi-K2"):
        assert "## Return of functions.get_weather:0" in dict(prompts(chosen, *conversation))[page]


def test_system_messages_are_there_wherever_they_stand(chosen: Chosen) -> None:
    """Several, and late ones, whatever the template knows of such."""
    conversation = (
        Message("system", "system one"),
        USER,
        Message("assistant", "numbat"),
        Message("system", "system two"),
        Message("user", "quokka"),
    )
    for page, prompt in prompts(chosen, *conversation):
        assert [page, *(word for word in ("system one", "system two", "Hi") if word not in prompt)] == [page]


def test_no_content_is_never_a_word(chosen: Chosen) -> None:
    """An answer of calls only has null for its content, which some templates print."""
    turn = calls(call("a", '{"city": "Ulm"}'))
    for page, prompt in prompts(chosen, USER, turn, result("a", "rain")):
        answer = prompt.rpartition("Hi")[2]
        assert (page, "None" in answer) == (page, False)


def test_tools_and_their_keys_keep_their_order(chosen: Chosen) -> None:
    """The prefix cache holds as long as the prompt's beginning is the same."""
    properties = {"zeta": {"type": "string", "description": "Z."}, "alpha": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["zeta"]}
    tools = [
        {"type": "function", "function": {"name": name, "description": "Do.", "parameters": schema}}
        for name in ("tool_two", "tool_one")
    ]
    for page, (template, _) in chosen.items():
        prompt = template.render([{"role": "user", "content": "Hi"}], tools=tools)
        assert (page, prompt.index("tool_two") < prompt.index("tool_one")) == (page, True)
        assert (page, prompt.index("zeta") < prompt.rindex("alpha")) == (page, True)


def test_prompts_grow_at_their_end(hermes: Renderer, chosen: Chosen) -> None:
    """With one more round, the tools and the first turns are the same text, which the cache holds."""
    first = (Message("system", "Be short."), USER)
    more = (*first, calls(call("a", '{"city": "Ulm"}')), result("a", "rain"))
    for page, (template, family) in chosen.items():
        render = replace(hermes, template=template)
        short = render(*first, tools=(WEATHER, TIME), choice=AUTO).text
        long = render(*more, tools=(WEATHER, TIME), choice=AUTO).text
        same = long.index("Hi", long.index("Be short."))
        assert (page, family.name, long[:same]) == (page, family.name, short[:same])
