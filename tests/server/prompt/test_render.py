"""Prompts: what of a request the model sees, and in what state its answer begins."""

import json
from dataclasses import replace
from typing import Any

import pytest

from parsers.families.hermes import HERMES
from server.errors import Code
from server.prompt.render import render
from server.prompt.template import ChatTemplate
from server.request import Message, Mode, ToolChoice, ToolDefinition
from tests.server.prompting import AUTO, TIME, USER, WEATHER, Renderer, ask, call, calls, load


def test_a_prompt_is_its_text_and_the_ids_of_it(hermes: Renderer) -> None:
    """The ids decode to the text, and the template's control strings are control tokens."""
    prompt = hermes(Message("system", "Be short."), USER)

    assert prompt.text == (
        "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert hermes.vocabulary.decode(prompt.token_ids) == prompt.text
    assert list(prompt.token_ids) == hermes.vocabulary.encode(prompt.text)
    assert prompt.token_ids.count(1) == 3


def test_tools_are_shown_in_the_clients_order_without_strict(hermes: Renderer) -> None:
    """Order of tools and of keys is the client's; `strict` is no business of the model."""
    schema = {"type": "object", "properties": {"z": {"type": "string"}, "a": {}}, "required": ["z"]}
    tools = (replace(WEATHER, parameters=schema), TIME)
    text = hermes(USER, tools=tools, choice=AUTO).text

    assert json.dumps(schema) in text
    assert text.index('"name": "get_weather"') < text.index('"name": "get_time"')
    assert "strict" not in text


def test_with_tool_choice_none_no_tool_is_shown(hermes: Renderer) -> None:
    """A model that sees tools calls them, whatever it is told (fault B049)."""
    assert hermes(USER, tools=(WEATHER,), choice=ToolChoice(Mode.NONE)) == hermes(USER)


def test_allowed_tools_do_not_change_the_prompt(hermes: Renderer) -> None:
    """All tools stay, so that the prefix cache stays; only the mask is narrower."""
    tools = (WEATHER, TIME)
    narrowed = ToolChoice(Mode.REQUIRED, allowed=("get_time",))

    assert hermes(USER, tools=tools, choice=narrowed) == hermes(USER, tools=tools, choice=AUTO)


def test_a_refusal_has_the_templates_own_words(hermes: Renderer) -> None:
    """Two user turns where roles must alternate are the client's to mend (fault B028)."""
    error = hermes.using("nine_letter_ids").refusal(USER, USER)

    assert error.kind is Code.TEMPLATE_REFUSED
    assert "roles must alternate user/assistant" in error.message
    assert error.param == "messages"


def test_template_arguments_reach_the_template(hermes: Renderer) -> None:
    """`enable_thinking: false` closes the span that the template would have opened."""
    thinking = hermes.using("opens_reasoning")

    assert thinking(USER).text.endswith("<think>\n")
    assert thinking(USER, template_arguments={"enable_thinking": False}).text.endswith(
        "<think>\n\n</think>\n\n"
    )


def test_a_template_argument_is_recognised_though_a_control_string_has_it_inside(hermes: Renderer) -> None:
    """Only text is hidden for being part of a control string; `start` chooses a branch here."""
    source = "{{ '<|im_start|>' + messages[0].content if mode == 'start' else raise_exception('mode') }}"
    template = ChatTemplate("{% if mode is defined %}" + source + "{% endif %}", origin="a test")
    prompt = replace(hermes, template=template)(
        Message("user", "start"), template_arguments={"mode": "start"}
    )

    assert prompt.text == "<|im_start|>start"


def test_an_effort_that_the_template_refuses_is_a_400(hermes: Renderer) -> None:
    """The client made it, so that it is no 5xx, and the template says what it does not know (fault B012)."""
    error = hermes.using("opens_reasoning").refusal(USER, template_arguments={"reasoning_effort": "enormous"})

    assert error.status == 400
    assert "Unsupported reasoning_effort enormous" in error.message


@pytest.mark.parametrize("name", ["messages", "tools", "add_generation_prompt", "chat_template", "eos_token"])
def test_template_arguments_cannot_replace_what_the_server_sets(hermes: Renderer, name: str) -> None:
    """Nobody slips another conversation or template past the checks."""
    error = hermes.refusal(USER, template_arguments={name: "x"})

    assert error.kind is Code.INVALID_VALUE
    assert error.param == f"chat_template_kwargs.{name}"


def test_the_final_message_is_continued(hermes: Renderer) -> None:
    """The prompt ends where the assistant's message ends, its last space included."""
    prompt = hermes(USER, Message("assistant", "I am <|im_end|> "), continue_final_message=True)

    assert prompt.text.endswith("<|im_start|>assistant\nI am <|im_end|> ")
    assert prompt.token_ids.count(2) == hermes(USER).token_ids.count(2)


@pytest.mark.parametrize("final", [USER, calls(call("a", "{}"))])
def test_only_an_assistants_text_is_continued(hermes: Renderer, final: Message) -> None:
    """There is nothing to continue in a question or a finished call."""
    assert hermes.refusal(USER, final, continue_final_message=True).param == "continue_final_message"


def test_a_final_message_that_is_not_shown_cannot_be_continued(hermes: Renderer) -> None:
    """A template that leaves it out would make the model answer something else."""
    hides = replace(hermes, template=ChatTemplate("{{ messages[0].content }}", origin="a test"))
    error = hides.refusal(USER, Message("assistant", "x"), continue_final_message=True)

    assert error.kind is Code.TEMPLATE_REFUSED


def test_the_prompt_opens_reasoning_if_its_last_turn_does(hermes: Renderer) -> None:
    """The parser and the mask begin inside the span then."""
    thinking = hermes.using("opens_reasoning")
    earlier = Message("assistant", "Hello", reasoning="hm")

    assert thinking(USER, earlier, USER).opens_reasoning
    assert not thinking(USER, template_arguments={"enable_thinking": False}).opens_reasoning
    assert not hermes(USER).opens_reasoning


def test_a_user_cannot_open_or_close_reasoning(hermes: Renderer) -> None:
    """Markers in content are text, also where the vocabulary has no tokens for them."""
    thinking = hermes.using("opens_reasoning")

    assert not hermes(Message("user", "<think>")).opens_reasoning
    assert not hermes(USER, Message("assistant", "a <think>"), continue_final_message=True).opens_reasoning
    assert thinking(Message("user", "</think>")).opens_reasoning


def test_without_a_reasoning_span_nothing_is_opened(hermes: Renderer) -> None:
    """A family that does not think reads `<think>` of its template as text."""
    family = replace(HERMES, reasoning=None)
    prompt = render(ask(USER), template=load("opens_reasoning"), vocabulary=hermes.vocabulary, family=family)

    assert not prompt.opens_reasoning


def test_earlier_reasoning_is_handed_over_beside_the_content(hermes: Renderer) -> None:
    """Where a template shows it, it stands in the span again."""
    text = hermes.using("opens_reasoning")(USER, Message("assistant", "Hello", reasoning="hm"), USER).text

    assert "<think>\nhm\n</think>\n\nHello" in text


def test_content_that_spells_the_end_of_reasoning_is_not_cut(hermes: Renderer) -> None:
    """A template that splits content at `</think>` does not see the one in a text about it."""
    said = "Close the span with </think>, then answer."

    assert said in hermes.using("opens_reasoning")(USER, Message("assistant", said), USER).text


@pytest.mark.parametrize("depth", [200, 100_000])
def test_deep_nesting_is_rendered_or_refused(hermes: Renderer, depth: int) -> None:
    """Whatever the depth of a schema, the server does not break."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    tools = (ToolDefinition("t", parameters=schema),)

    if depth == 200:
        assert hermes(USER, tools=tools, choice=AUTO).text.count('"items"') == depth
    else:
        assert hermes.refusal(USER, tools=tools, choice=AUTO).kind is Code.INVALID_VALUE
