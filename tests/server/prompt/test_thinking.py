"""`reasoning_effort`: the variables that turn thinking on and off in each template."""

from dataclasses import replace
from pathlib import Path

import pytest

from server.prompt.template import ChatTemplate
from server.prompt.thinking import Switch, template_arguments
from tests.server.prompting import USER, Renderer

ENABLE = Switch({"enable_thinking": True}, {"enable_thinking": False})

REAL = {
    "Apertus-8B-Instruct": {"enable_thinking": False},
    "ByteDance-Seed-OSS": {"thinking_budget": 0},
    "Cohere2MoE": {"reasoning_effort": "none"},
    "GLM-4.7-Flash": {"enable_thinking": False},
    "Kimi-K3": {"thinking": False},
    "MiniMax-M3": {"thinking_mode": "disabled"},
    "Qwen-Qwen3-0.6B": {"enable_thinking": False},
    "Qwen-Qwen2.5-7B-Instruct": None,
    "deepseek-ai-DeepSeek-V4": {"enable_thinking": False},
    "google-gemma-4-31B-it": {"enable_thinking": False},
    "ibm-granite-granite-3.3-2B-Instruct": {"thinking": False},
    "openai-gpt-oss-120b": None,
    "tencent-Hy3": {"reasoning_effort": "no_think"},
    "upstage-Solar-Open-100B": {"reasoning_effort": "minimal"},
}
"""What turns thinking off in real templates. gpt-oss prints the effort, but thinks whatever it says."""


def switch(source: str) -> Switch | None:
    return ChatTemplate(source + "{{ messages[0].content }}A:", origin="a test").traits.thinking


@pytest.mark.parametrize(
    ("source", "off"),
    [
        pytest.param("{{ '/no' if enable_thinking is false }}", {"enable_thinking": False}, id="by name"),
        pytest.param("{{ '/think' if thinking }}", {"thinking": False}, id="that is off without it"),
        pytest.param("{{ thinking_mode }}", {"thinking_mode": "disabled"}, id="by a word"),
        pytest.param("{{ 'Budget: ' ~ thinking_budget }}", {"thinking_budget": 0}, id="by a budget"),
        pytest.param(
            "{{ raise_exception('?') if reasoning_effort not in ('high', 'none', undefined) }}"
            "{{ reasoning_effort }}",
            {"reasoning_effort": "none"},
            id="by an effort that it knows",
        ),
        pytest.param("Effort: {{ reasoning_effort }}", None, id="not by printing what it is given"),
        pytest.param("{{ thoughts }}", None, id="not by a name that is not known"),
    ],
)
def test_a_switch_is_what_changes_the_prompt(source: str, off: dict[str, object] | None) -> None:
    """No standard names the variable; trying finds it."""
    found = switch(source)

    assert (found.off if found else None) == off


@pytest.mark.parametrize(
    ("found", "effort", "arguments"),
    [
        (ENABLE, None, {}),
        (ENABLE, "none", {"enable_thinking": False}),
        (ENABLE, "high", {"enable_thinking": True, "reasoning_effort": "high"}),
        (Switch({}, {"reasoning_effort": "no_think"}), "none", {"reasoning_effort": "no_think"}),
        (Switch({}, {"reasoning_effort": "no_think"}), "low", {"reasoning_effort": "low"}),
        (None, "none", {}),
        (None, "low", {"reasoning_effort": "low"}),
    ],
)
def test_the_effort_turns_the_switch(
    found: Switch | None, effort: str | None, arguments: dict[str, object]
) -> None:
    """`none` is off, any other is on; without a switch the template is not told of `none`."""
    assert template_arguments(found, effort) == arguments


def test_effort_none_closes_the_thought_that_the_prompt_would_open(hermes: Renderer) -> None:
    """The answer begins outside the reasoning span."""
    thinks = hermes.using("opens_reasoning")

    assert thinks(USER).opens_reasoning
    assert thinks(USER, reasoning_effort="high").opens_reasoning
    assert not thinks(USER, reasoning_effort="none").opens_reasoning
    assert thinks(USER, reasoning_effort="none").text.endswith("<think>\n\n</think>\n\n")


def test_what_the_client_gives_the_template_wins_over_the_effort(hermes: Renderer) -> None:
    """`chat_template_kwargs` is the more particular wish (fault B012)."""
    prompt = hermes.using("opens_reasoning")(
        USER, reasoning_effort="none", template_arguments={"enable_thinking": True}
    )

    assert prompt.opens_reasoning


def test_effort_none_is_served_where_nothing_can_be_turned_off(hermes: Renderer) -> None:
    """A template without a switch renders as without an effort."""
    assert hermes(USER, reasoning_effort="none") == hermes(USER)


@pytest.mark.parametrize("page", REAL)
def test_the_switches_of_real_templates_are_found(model_data: Path, page: str) -> None:
    """Each family has named its own."""
    source = (model_data / "chat_templates" / f"{page}.jinja").read_text(encoding="utf-8")
    found = ChatTemplate(source, origin="a test").traits.thinking

    assert (found.off if found else None) == REAL[page]


def test_no_real_template_opens_a_thought_at_effort_none(hermes: Renderer, model_data: Path) -> None:
    """Where there is a switch, the answer does not begin inside the reasoning span."""
    for path in sorted((model_data / "chat_templates").glob("*.jinja")):
        template = ChatTemplate(path.read_text(encoding="utf-8"), origin="a test")
        if template.traits.thinking:
            prompt = replace(hermes, template=template)(USER, reasoning_effort="none")
            assert (path.stem, prompt.opens_reasoning) == (path.stem, False)
