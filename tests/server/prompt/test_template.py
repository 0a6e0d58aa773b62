"""Chat templates: what real ones need, what the probe finds out about them, and which one is chosen."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from parsers.families.hermes import HERMES
from parsers.registry import find
from server.errors import ApiError, Code
from server.prompt.template import ChatTemplate, TemplateLoadError, choose_template
from server.prompt.tool_places import Turn
from server.prompt.traits import Arguments, CallIds, SystemRole
from server.tokens.vocabulary import Vocabulary
from templates import read_template

TEMPLATES = Path(__file__).parents[2] / "data" / "templates"

USER: Turn = {"role": "user", "content": "Hi"}
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def load(name: str) -> ChatTemplate:
    return ChatTemplate((TEMPLATES / f"{name}.jinja").read_text(), origin="a test")


def render(source: str, **arguments: object) -> str:
    return ChatTemplate(source, origin="a test").render([USER], arguments=arguments)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("{{ v | tojson }}", '{"a": "<é>"}', id="json without escapes of HTML or letters"),
        pytest.param("{{ v | tojson(ensure_ascii=true) }}", '{"a": "<\\u00e9>"}', id="json in ascii"),
        pytest.param("{{ v | tojson(separators=(',', ':')) }}", '{"a":"<é>"}', id="json separators"),
        pytest.param("{{ v | tojson(indent=1) }}", '{\n "a": "<é>"\n}', id="json indent"),
        pytest.param("{{ [1, 2] | map('string') | tojson }}", '["1", "2"]', id="json of a generator"),
        pytest.param("{% for i in [1, 2] %}{{ i }}{% break %}{% endfor %}", "1", id="break"),
        pytest.param("{% generation %}{{ 1 }}{% endgeneration %}", "1", id="generation"),
        pytest.param("  {% if true %}\nx{% endif %}", "x", id="blocks leave no white space"),
        pytest.param("{{ bos_token }}|{{ unk_token }}", "|", id="special tokens that the model lacks"),
    ],
)
def test_what_real_templates_use_is_there(source: str, expected: str) -> None:
    """Templates render as with Hugging Face, or as the engines that some were written for."""
    assert render(source, v={"a": "<é>"}) == expected


def test_a_template_that_always_walks_through_tools_gets_an_empty_list() -> None:
    """Templates meant for tools serve plain chat as well; others get none, which they ask for."""
    walks = "{% for tool in tools %}x{% endfor %}{{ messages[0].content }}"
    tests = "{{ 'tools!' if tools is not none }}{{ messages[0].content }}"

    assert render(walks) == "Hi"
    assert render(tests) == "Hi"


def test_the_date_is_todays() -> None:
    """`strftime_now` is how models are told the date."""
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", render("{{ strftime_now('%Y-%m-%d') }}"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            "{{ raise_exception('Roles must alternate') }}", "Roles must alternate", id="its own words"
        ),
        pytest.param("{{ messages[0].content + 1 }}", "can only concatenate str", id="type error"),
        pytest.param("{{ missing.name }}", "'missing' is undefined", id="undefined"),
        pytest.param("{{ messages.append(1) }}", "unsafe", id="change of the arguments"),
        pytest.param("{{ messages.__class__.__mro__ }}", "unsafe", id="way out of the sandbox"),
        pytest.param("{{ 1 // 0 }}", "division", id="arithmetic"),
        pytest.param("{{ cycler() }}", "at least one item", id="a fault of Jinja's own functions"),
        pytest.param("{{ {}['a'].b }}", "has no attribute 'a'", id="missing key"),
        pytest.param("{{ range | tojson }}", "function is not JSON", id="not json"),
    ],
)
def test_a_template_that_fails_is_a_400_with_its_reason(source: str, message: str) -> None:
    """Whatever a template raises, the client learns why, and no 5xx makes it retry."""
    with pytest.raises(ApiError) as caught:
        render(source)

    assert caught.value.kind is Code.TEMPLATE_REFUSED
    assert message in caught.value.message


@pytest.mark.parametrize("source", ["{% for %}", "{% break %}", "{{ " + "(" * 50_000])
def test_a_template_that_cannot_be_compiled_cannot_be_loaded(source: str) -> None:
    """A broken template stops the start of the server, not each request, whoever finds it out."""
    with pytest.raises(TemplateLoadError, match="cannot be compiled"):
        ChatTemplate(source, origin="a test")


def test_hermes_shows_everything() -> None:
    """Our own template shows tools, calls and results in any number, and system messages anywhere."""
    source = read_template("hermes")
    assert source is not None
    traits = ChatTemplate(source, origin="a test").traits

    assert traits.tools
    assert traits.calls
    assert traits.results
    assert traits.parallel_calls
    assert traits.text_arguments
    assert traits.arguments is Arguments.OBJECT
    assert traits.system is SystemRole.ANYWHERE


def test_one_call_per_turn_is_found_out() -> None:
    """A template that refuses the second call of a turn, as Llama 3's does, still shows calls."""
    traits = load("one_call").traits

    assert traits.calls
    assert not traits.parallel_calls


def test_the_form_of_ids_is_found_out() -> None:
    """A template that takes ids of nine letters only, as Mistral's does, is given such."""
    traits = load("nine_letter_ids").traits

    assert traits.call_ids is CallIds.NINE_LETTERS
    assert traits.system is SystemRole.FRONT
    assert traits.parallel_calls


def test_a_missing_system_role_is_found_out() -> None:
    """A template without a system role, as Gemma 2's, is not sent system messages."""
    traits = load("no_system").traits

    assert traits.system is SystemRole.NONE
    assert not traits.tools
    assert not traits.calls


def test_arguments_as_text_are_found_out() -> None:
    """Functionary alone wants OpenAI's JSON text; others would quote it a second time."""
    assert load("text_arguments").traits.arguments is Arguments.TEXT
    assert load("one_call").traits.arguments is Arguments.OBJECT


def test_arguments_that_must_be_an_object_are_found_out() -> None:
    """A template that walks through arguments cannot show text in their place."""
    assert not load("bracketed_keys").traits.text_arguments


def test_content_that_must_be_null_is_found_out() -> None:
    """A template that takes a turn of calls only without content gets None."""
    source = "{% for m in messages if m.tool_calls %}{{ m.tool_calls if m.content is none }}{% endfor %}"
    assert ChatTemplate(source, origin="a test").traits.empty_content is None
    assert load("one_call").traits.empty_content == ""


def test_the_key_of_reasoning_is_found_out() -> None:
    """gpt-oss looks for `thinking`, most for `reasoning_content`."""
    source = "{% for m in messages %}{{ m.role }}{{ m.thinking }}{% endfor %}"
    assert ChatTemplate(source, origin="a test").traits.reasoning_key == "thinking"
    assert load("opens_reasoning").traits.reasoning_key == "reasoning_content"


def test_the_developer_role_is_found_out() -> None:
    """The record says whether a template knows `developer`."""
    assert ChatTemplate(CHATML, origin="a test").traits.developer
    assert not ChatTemplate(
        "{% for m in messages if m.role in ('system', 'user') %}x{% endfor %}", origin=""
    ).traits.developer


def test_the_models_own_template_is_kept_if_it_shows_tools() -> None:
    """A model knows its own format best."""
    own = (TEMPLATES / "one_call.jinja").read_text()

    assert choose_template(own, find("hermes")).origin == "the model's own"


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        pytest.param(None, "the model has none", id="none"),
        pytest.param(CHATML, "the model's own does not show tools", id="without tools"),
        pytest.param("{% if %}", "cannot be compiled", id="broken"),
    ],
)
def test_ours_stands_in_and_says_why(own: str | None, reason: str) -> None:
    """Without a template that shows tools, the family's is taken, and the log can say why."""
    template = choose_template(own, find("hermes"))

    assert template.traits.tools
    assert template.origin.startswith("templates/hermes.jinja")
    assert reason in template.origin


def test_an_own_template_without_tools_serves_if_there_is_none_of_ours() -> None:
    """Chat without tools is better than no chat."""
    template = choose_template(CHATML, replace(HERMES, name="no-such-family"))

    assert "without tools" in template.origin
    assert template.render([USER]) == "<|im_start|>user\nHi<|im_end|>\n"


def test_no_template_at_all_says_what_to_do() -> None:
    """A base model cannot chat; the message names the way out."""
    with pytest.raises(TemplateLoadError, match="instruct version"):
        choose_template(None, replace(HERMES, name="no-such-family"))


CONVERSATIONS = [
    [USER],
    [{"role": "system", "content": "Be short."}, USER],
    [{"role": "system", "content": ""}, USER],
    [USER, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "  And? \n"}],
    [{"role": "assistant", "content": "Hello"}, {"role": "system", "content": "late"}, USER],
]


@pytest.mark.parametrize("messages", CONVERSATIONS)
def test_ours_equals_the_default_models_own_without_tools(
    smollm2: Vocabulary, messages: list[dict[str, str]]
) -> None:
    """Byte for byte, its default system prompt included: ours only adds the tools."""
    assert smollm2.chat_template is not None
    own = ChatTemplate(smollm2.chat_template, origin="a test")
    ours = choose_template(smollm2.chat_template, find("hermes"))

    assert ours is not own
    for add_generation_prompt in (True, False):
        expected = own.render(messages, add_generation_prompt=add_generation_prompt)
        assert ours.render(messages, add_generation_prompt=add_generation_prompt) == expected


def test_an_own_template_without_a_default_system_prompt_gets_none() -> None:
    """Ours invents no system prompt."""
    assert choose_template(CHATML, find("hermes")).render([USER]).startswith("<|im_start|>user\nHi")
    assert (
        choose_template((TEMPLATES / "no_system.jinja").read_text(), find("hermes"))
        .render([USER])
        .startswith("<|im_start|>user\nHi")
    )


def test_ours_writes_tools_and_calls_as_qwen_was_trained(model_data: Path) -> None:
    """Tools, calls and results are those of Qwen3's own template, to the letter."""
    qwen3 = ChatTemplate((model_data / "chat_templates/Qwen-Qwen3-0.6B.jinja").read_text(), origin="a test")
    ours = choose_template(None, find("hermes"))
    tools = [{"type": "function", "function": {"name": "f", "description": "é<", "parameters": {}}}]
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": ["é<", 1.5, None]}}}
    conversation: list[Turn] = [
        {"role": "system", "content": "Be short."},
        USER,
        {"role": "assistant", "content": "Both.", "tool_calls": [call, call]},
        {"role": "tool", "content": "1", "tool_call_id": "1"},
        {"role": "tool", "content": "2", "tool_call_id": "1"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "3", "tool_call_id": "1"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"},
    ]

    assert ours.render(conversation, tools=tools) == qwen3.render(conversation, tools=tools)
    assert ours.render(conversation[1:], tools=tools) == qwen3.render(conversation[1:], tools=tools)


def test_ours_writes_calls_as_the_family_does() -> None:
    """What the history shows is what the mask lets the model write, to the letter."""
    arguments = {"a": ["é<", 1.5, None]}
    function = {"name": "f", "arguments": arguments}
    turn: Turn = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": function}, {"function": function}],
    }
    text = choose_template(None, find("hermes")).render([USER, turn], add_generation_prompt=False)

    written = HERMES.write_calls([("f", arguments), ("f", arguments)])
    assert text.endswith(f"<|im_start|>assistant\n{written}<|im_end|>\n")


def test_every_real_template_greets_its_user(model_data: Path) -> None:
    """70 models' templates, those included that are meant for tools only."""
    pages = sorted((model_data / "chat_templates").glob("*.jinja"))
    templates = {path.stem: ChatTemplate(path.read_text(), origin="a test") for path in pages}

    assert [name for name, template in templates.items() if "Hi" not in template.render([USER])] == []
    assert len(templates) == 70
