"""Our own chat templates: what the models of each family were trained to read."""

from pathlib import Path

import pytest

from parsers.registry import find
from server.prompt.template import ChatTemplate, choose_template
from server.prompt.tool_places import Turn
from server.prompt.traits import CallIds
from templates import read_replacement, read_template

OURS = ("deepseek_v3", "deepseek_v31", "hermes", "kimi_k2", "llama4_pythonic")
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "Look outside.", "parameters": WEATHER},
}


def called(id: str, name: str, city: str) -> Turn:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": {"city": city}}}


CONVERSATION: list[Turn] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Rain?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            called("functions.weather:0", "weather", "Łódź"),
            called("functions.weather:1", "weather", "Rio"),
        ],
    },
    {"role": "tool", "tool_call_id": "functions.weather:0", "name": "weather", "content": "wet"},
    {"role": "tool", "tool_call_id": "functions.weather:1", "name": "weather", "content": "dry"},
]


def ours(name: str) -> ChatTemplate:
    source = read_replacement(name) or read_template(name)
    assert source is not None
    return ChatTemplate(source, origin="a test")


@pytest.mark.parametrize("name", OURS)
def test_a_template_of_ours_shows_everything(name: str) -> None:
    """Tools, calls that stand side by side, and their results reach the model."""
    traits = ours(name).traits

    assert (traits.tools, traits.calls, traits.results, traits.parallel_calls) == (True, True, True, True)
    assert traits.text_arguments
    assert traits.call_ids is CallIds.ANY


@pytest.mark.parametrize("name", OURS)
def test_a_template_of_ours_writes_calls_as_the_family_does(name: str) -> None:
    """The model reads its earlier calls in the form that mask and parser expect of the next."""
    calls = [("weather", {"city": "Łódź"}), ("weather", {"city": "Rio"})]

    assert find(name).write_calls(calls) in ours(name).render(CONVERSATION, tools=[TOOL])


def test_kimi_reads_results_by_the_ids_of_its_calls() -> None:
    """The whole prompt, to the letter."""
    assert ours("kimi_k2").render(CONVERSATION) == (
        "<|im_system|>system<|im_middle|>Be brief.<|im_end|><|im_user|>user<|im_middle|>Rain?<|im_end|>"
        "<|im_assistant|>assistant<|im_middle|><|tool_calls_section_begin|>"
        '<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city": "Łódź"}<|tool_call_end|>'
        '<|tool_call_begin|>functions.weather:1<|tool_call_argument_begin|>{"city": "Rio"}<|tool_call_end|>'
        "<|tool_calls_section_end|><|im_end|>"
        "<|im_system|>tool<|im_middle|>## Return of functions.weather:0\nwet<|im_end|>"
        "<|im_system|>tool<|im_middle|>## Return of functions.weather:1\ndry<|im_end|>"
        "<|im_assistant|>assistant<|im_middle|>"
    )


def test_deepseek_goes_on_right_behind_the_results() -> None:
    """The whole prompt, to the letter: no turn is opened after a result."""
    assert ours("deepseek_v31").render(CONVERSATION) == (
        "Be brief.<｜User｜>Rain?<｜Assistant｜></think><｜tool▁calls▁begin｜>"
        '<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Łódź"}<｜tool▁call▁end｜>'
        '<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Rio"}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
        "<｜tool▁output▁begin｜>wet<｜tool▁output▁end｜><｜tool▁output▁begin｜>dry<｜tool▁output▁end｜>"
    )


def test_deepseek_is_told_of_tools_as_its_model_card_says() -> None:
    """Behind the system message, with a blank line between, and nothing behind it."""
    prompt = ours("deepseek_v31").render(CONVERSATION[:2], tools=[TOOL])
    head, _, rest = prompt.partition("\n\nIMPORTANT: ")

    assert head == (
        "Be brief.\n\n## Tools\nYou have access to the following tools:\n\n"
        "### weather\nDescription: Look outside.\n\n"
        'Parameters: {"type": "object", "properties": {"city": {"type": "string"}}}'
    )
    assert rest.endswith("without separators or spaces<｜User｜>Rain?<｜Assistant｜></think>")


@pytest.mark.parametrize(("thinking", "end"), [(True, "<think>"), (False, "</think>")])
def test_deepseek_thinks_if_it_is_asked_to(thinking: bool, end: str) -> None:
    """The prompt opens the thought, or closes it at once."""
    prompt = ours("deepseek_v31").render(CONVERSATION[:2], arguments={"thinking": thinking})

    assert prompt.endswith(f"<｜Assistant｜>{end}")


R1 = (
    "{% for m in messages %}{{ '<｜User｜>' + m.content if m.role == 'user' }}{% endfor %}"
    "{{ '<｜Assistant｜><think>\n' if add_generation_prompt }}"
)
V3 = R1.replace("<think>\n", "")


@pytest.mark.parametrize(
    ("own", "arguments", "end"),
    [
        (V3, {}, "<｜Assistant｜>"),
        (V3, {"enable_thinking": False}, "<｜Assistant｜>"),
        (R1, {}, "<｜Assistant｜><think>\n"),
        (R1, {"enable_thinking": True}, "<｜Assistant｜><think>\n"),
        (R1, {"enable_thinking": False}, "<｜Assistant｜><think>\n\n</think>\n\n"),
    ],
)
def test_deepseek_v3_begins_an_answer_as_the_models_own_template_does(
    own: str, arguments: dict[str, bool], end: str
) -> None:
    """R1 thinks and V3 does not, and both are of one family."""
    prompt = choose_template(own, find("deepseek_v3")).render(CONVERSATION[:2], arguments=arguments)

    assert prompt == f"Be brief.<｜User｜>Rain?{end}"


def test_deepseek_v3_marks_each_round_of_calls_and_results() -> None:
    """The whole prompt, to the letter: the models' own templates lose the marks of a second round."""
    result = (
        "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>wet<｜tool▁output▁end｜>\n"
        "<｜tool▁output▁begin｜>dry<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"
    )
    calls = find("deepseek_v3").write_calls([("weather", {"city": "Łódź"}), ("weather", {"city": "Rio"})])
    calls += "<｜end▁of▁sentence｜>"
    prompt = ours("deepseek_v3").render([*CONVERSATION, *CONVERSATION[2:]])

    assert prompt == f"Be brief.<｜User｜>Rain?<｜Assistant｜>{calls}{result}{calls}{result}"


def test_llama_4_is_asked_for_python_whatever_its_own_template_asks_for() -> None:
    """Mask and parser are for Python; the model's own template, which shows JSON, would contradict them."""
    own = (
        "{{ '<|python_start|>' if false }}{{ tools | tojson if tools }}"
        "{% for m in messages %}{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}{% endfor %}"
    )
    template = choose_template(own, find("llama4_pythonic"))
    prompt = template.render(CONVERSATION)

    assert "asks for calls in another form" in template.origin
    assert prompt == (
        "<|header_start|>system<|header_end|>\n\nBe brief.<|eot|>"
        "<|header_start|>user<|header_end|>\n\nRain?<|eot|>"
        "<|header_start|>assistant<|header_end|>\n\n[weather(city='Łódź'), weather(city='Rio')]<|eot|>"
        "<|header_start|>ipython<|header_end|>\n\nwet<|eot|>"
        "<|header_start|>ipython<|header_end|>\n\ndry<|eot|>"
        "<|header_start|>assistant<|header_end|>\n\n"
    )


def test_llama_3_2_has_the_marks_of_its_own_vocabulary() -> None:
    """The same calls, between the turns of Llama 3."""
    prompt = ours("llama4_pythonic").render(CONVERSATION[1:2], arguments={"eos_token": "<|eot_id|>"})

    assert prompt == (
        "<|start_header_id|>user<|end_header_id|>\n\nRain?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )


SHOWS_NO_CALLS = (
    "{{ tools | tojson if tools }}{% for m in messages if m.role != 'tool' %}{{ m.content }}{% endfor %}"
)
SHOWS_TEXT = "{{ tools | tojson if tools }}{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}"


def test_a_template_that_shows_tools_but_no_calls_gives_way() -> None:
    """Else a conversation could not go on behind its first call."""
    chosen = choose_template(SHOWS_NO_CALLS, find("kimi_k2"))
    kept = choose_template(SHOWS_NO_CALLS, find("granite3"))

    assert chosen.origin == "templates/kimi_k2.jinja, because the model's own does not show calls"
    assert chosen.traits.calls
    assert kept.origin == (
        "the model's own, without earlier calls: it does not show them, "
        "and the family granite3 has none of ours"
    )


def test_a_template_that_shows_results_and_text_is_kept_for_calls_as_text() -> None:
    """All but the calls is in the model's own form, and text can hold those."""
    chosen = choose_template(SHOWS_TEXT, find("granite3"))

    assert chosen.origin == "the model's own, with earlier calls written into the text of their turns"
    assert not chosen.traits.calls


def test_calls_with_ids_are_not_written_into_text() -> None:
    """The writer of text knows no ids, which Kimi's results refer to."""
    assert choose_template(SHOWS_TEXT, find("kimi_k2")).origin.startswith("templates/kimi_k2.jinja")


@pytest.mark.parametrize(
    ("page", "family"),
    [
        ("Kimi-K2-Instruct", "kimi_k2"),
        ("Kimi-K2-Thinking", "kimi_k2"),
        ("deepseek-ai-DeepSeek-V3.1", "deepseek_v31"),
        ("deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek_v3"),
        ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek_v3"),
    ],
)
def test_real_templates_that_fall_short_are_replaced(model_data: Path, page: str, family: str) -> None:
    """Their own would show no tools, or refuse every conversation with a call in it."""
    own = (model_data / "chat_templates" / f"{page}.jinja").read_text(encoding="utf-8")
    chosen = choose_template(own, find(family))

    assert chosen.origin.startswith(f"templates/{family}.jinja")
    assert chosen.traits.parallel_calls
