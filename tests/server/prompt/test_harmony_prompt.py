"""The prompts of gpt-oss: what is shown of a conversation, and what the model's own template loses."""

import re
from pathlib import Path
from typing import Any

import pytest

from parsers.families.gpt_oss import GPT_OSS
from parsers.harmony_marks import MARKS
from server.errors import ApiError
from server.prompt.harmony import HarmonyPrompt
from server.prompt.render import render
from server.prompt.renderer import choose_renderer
from server.prompt.template import ChatTemplate
from server.prompt.tool_places import Turn
from server.prompt.traits import probe
from server.request import Message, Mode, ToolChoice, ToolDefinition
from server.tokens.vocabulary import Vocabulary
from tests.server.prompt.test_render_safety import check_no_client_writes_control_tokens
from tests.server.prompting import USER, Renderer, ask, call, calls, result
from tests.server.special import with_special_tokens

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Which."},
        "unit": {"type": "string", "enum": ["c", "f"]},
    },
    "required": ["city"],
}
FUNCTION = {"name": "weather", "description": "Look outside.", "parameters": WEATHER}
TOOLS = [{"type": "function", "function": FUNCTION}]
NEXT = "<|start|>assistant"


@pytest.fixture(name="harmony", scope="module")
def _harmony() -> HarmonyPrompt:
    return HarmonyPrompt()


@pytest.fixture(name="vocabulary_of_harmony", scope="module")
def _vocabulary_of_harmony(smollm2: Vocabulary) -> Vocabulary:
    return with_special_tokens(smollm2, *MARKS.all)


def said(text: str, **fields: Any) -> Turn:
    return {"role": "assistant", "content": text, **fields}


def called(*cities: str, **fields: Any) -> Turn:
    functions = [{"name": "weather", "arguments": {"city": city}} for city in cities]
    return said("", tool_calls=[{"type": "function", "function": each} for each in functions], **fields)


def found(text: str) -> Turn:
    return {"role": "tool", "name": "weather", "content": text}


HI: Turn = {"role": "user", "content": "Hi"}


def behind_user(harmony: HarmonyPrompt, *turns: Turn, **options: Any) -> str:
    """What the prompt has behind the first user message."""
    return harmony.render([HI, *turns], **options).partition("<|start|>user<|message|>Hi<|end|>")[2]


def test_the_whole_prompt_to_the_letter(harmony: HarmonyPrompt) -> None:
    """The system's message says what the model is told of itself, the developer's what is wanted of it."""
    prompt = harmony.render([{"role": "system", "content": "Be brief."}, HI], tools=TOOLS)

    assert re.sub(r"\d{4}-\d\d-\d\d", "DATE", prompt) == (
        "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
        "Knowledge cutoff: 2024-06\nCurrent date: DATE\n\nReasoning: medium\n\n"
        "# Valid channels: analysis, commentary, final. Channel must be included for every message.\n"
        "Calls to these tools must go to the commentary channel: 'functions'.<|end|>"
        "<|start|>developer<|message|># Instructions\n\nBe brief.\n\n# Tools\n\n## functions\n\n"
        "namespace functions {\n\n// Look outside.\ntype weather = (_: {\n"
        '// Which.\ncity: string,\nunit?: "c" | "f",\n}) => any;\n\n} // namespace functions<|end|>'
        "<|start|>user<|message|>Hi<|end|><|start|>assistant"
    )


def test_every_call_and_every_result_is_shown(harmony: HarmonyPrompt) -> None:
    """Calls are written as the model writes them, and each result stands under its own tool."""
    ping: Turn = {"role": "tool", "name": "ping", "content": '"pong"\n'}
    written = GPT_OSS.write_calls([("weather", {"city": "Łódź"}), ("weather", {"city": "Rio"})])

    assert behind_user(harmony, called("Łódź", "Rio"), found("wet"), ping) == (
        NEXT + written + "<|start|>functions.weather<|channel|>commentary to=assistant<|message|>wet<|end|>"
        '<|start|>functions.ping<|channel|>commentary to=assistant<|message|>"pong"\n<|end|>' + NEXT
    )


def test_thoughts_are_shown_up_to_the_answer_that_they_led_to(harmony: HarmonyPrompt) -> None:
    """Behind its last answer the model reads why it made its calls; what it thought before is gone."""
    earlier = (called("Rio", reasoning_content="one"), found("wet"), said("Wet.", reasoning_content="two"))
    chain = (HI, called("Łódź", reasoning_content="three"), found("dry"))

    prompt = behind_user(harmony, *earlier, *chain)
    assert re.findall("one|two|three", prompt) == ["three"]
    assert f"{NEXT}<|channel|>analysis<|message|>three<|end|>{NEXT}<|channel|>commentary to=" in prompt
    assert f"{NEXT}<|channel|>final<|message|>Wet.<|end|>" in prompt


def test_text_beside_calls_is_a_preamble(harmony: HarmonyPrompt) -> None:
    """It was for the user, and stands between the thought and the calls."""
    turn = {**called("Rio", reasoning_content="Hm."), "content": "I look."}

    assert behind_user(harmony, turn).startswith(
        f"{NEXT}<|channel|>analysis<|message|>Hm.<|end|>{NEXT}<|channel|>commentary<|message|>I look.<|end|>"
    )


def test_an_answer_that_goes_on_keeps_its_thought(harmony: HarmonyPrompt) -> None:
    """The model has not finished it."""
    prompt = behind_user(harmony, said("It is", reasoning_content="Hm."), add_generation_prompt=False)

    assert prompt == (
        f"{NEXT}<|channel|>analysis<|message|>Hm.<|end|>{NEXT}<|channel|>final<|message|>It is<|end|>"
    )
    assert "Hm." not in behind_user(harmony, said("It is.", reasoning_content="Hm."))


@pytest.mark.parametrize(
    ("effort", "shown"), [("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high")]
)
def test_effort_is_told_in_the_words_that_the_model_knows(
    harmony: HarmonyPrompt, effort: str, shown: str
) -> None:
    """It was trained on three."""
    assert f"\nReasoning: {shown}\n" in harmony.render([HI], arguments={"reasoning_effort": effort})


def test_effort_that_is_none_is_refused(harmony: HarmonyPrompt) -> None:
    """The client is told which there are."""
    with pytest.raises(ApiError, match="one of minimal, low, medium, high"):
        harmony.render([HI], arguments={"reasoning_effort": "wombat"})


def test_model_identity_may_be_set(harmony: HarmonyPrompt) -> None:
    """By the name that the model's own template has for it."""
    prompt = harmony.render([HI], arguments={"model_identity": "You are Quokka."})

    assert prompt.startswith("<|start|>system<|message|>You are Quokka.\n")


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({"type": "object", "properties": {}}, "type f = () => any;"),
        ({"type": "object", "properties": {"b": True, "a": {"$ref": "#"}}}, "b?: any,\na?: any,"),
        ({"properties": [1], "required": "x"}, "type f = (_: any) => any;"),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, "a?: string | null,"),
    ],
)
def test_any_schema_can_be_shown(harmony: HarmonyPrompt, parameters: dict[str, Any], shown: str) -> None:
    """What the language of the prompt cannot say is `any`; the order of keys is the client's."""
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}

    assert shown in harmony.render([HI], tools=[tool])


def test_it_can_do_all_that_it_is_said_to(harmony: HarmonyPrompt) -> None:
    """Whatever a template is asked at its start, it shows; only what is better joined is said to be so."""
    found_out = probe(harmony.render)

    assert (found_out.tools, found_out.calls, found_out.results, found_out.parallel_calls) == (True,) * 4
    assert found_out.reasoning_key == harmony.traits.reasoning_key
    assert found_out.arguments is harmony.traits.arguments
    assert found_out.text_arguments


def test_models_that_write_harmony_read_it() -> None:
    """Their own template gives way, unless the user has given one."""
    assert isinstance(choose_renderer(GPT_OSS, own="{{ messages }}"), HarmonyPrompt)
    assert isinstance(choose_renderer(GPT_OSS, own=None, given="{{ messages }}"), ChatTemplate)


def test_results_go_to_their_calls_in_whatever_order_they_come(vocabulary_of_harmony: Vocabulary) -> None:
    """The whole way from a request: ids pair them, and names tell which is which."""
    request = ask(
        USER,
        calls(call("a", "{}", name="weather"), call("b", "{}", name="ping")),
        result("b", "pong"),
        result("a", "wet"),
        tools=(ToolDefinition("weather"), ToolDefinition("ping")),
        choice=ToolChoice(Mode.AUTO),
    )
    prompt = render(request, template=HarmonyPrompt(), vocabulary=vocabulary_of_harmony, family=GPT_OSS)

    header = r"functions\.(\w+)<\|channel\|>commentary to=assistant<\|message\|>"
    assert re.findall(header + r"(\w+)", prompt.text) == [("weather", "wet"), ("ping", "pong")]
    assert not prompt.opens_reasoning


def test_an_answer_is_continued_where_it_ends(vocabulary_of_harmony: Vocabulary) -> None:
    """The prompt ends with the last word that there is."""
    request = ask(USER, Message("assistant", "It is"), continue_final_message=True)
    prompt = render(request, template=HarmonyPrompt(), vocabulary=vocabulary_of_harmony, family=GPT_OSS)

    assert prompt.text.endswith("<|channel|>final<|message|>It is")


def test_no_client_writes_a_control_token(harmony: HarmonyPrompt, vocabulary_of_harmony: Vocabulary) -> None:
    """Not through any role or field: the library's own tokens are never a client's words."""
    check_no_client_writes_control_tokens(Renderer(harmony, vocabulary_of_harmony))


@pytest.fixture(name="own")
def _own(model_data: Path) -> ChatTemplate:
    """The model's own template."""
    path = model_data / "chat_templates" / "openai-gpt-oss-120b.jinja"
    return ChatTemplate(path.read_text(encoding="utf-8"), origin="the model's own")


def test_a_plain_conversation_is_that_of_the_models_own_template(
    harmony: HarmonyPrompt, own: ChatTemplate
) -> None:
    """To the letter."""
    turns = [HI, said("Yes?"), {"role": "user", "content": "Bye"}]

    assert harmony.render(turns) == own.render(turns)


def test_one_call_differs_from_the_models_own_template_only_where_that_is_odd(
    harmony: HarmonyPrompt, own: ChatTemplate
) -> None:
    """Recipients stand behind the channel, as the model writes them, and a result is not quoted."""
    turns = [HI, called("Rio"), found("wet")]
    text = own.render(turns, tools=TOOLS)
    for odd, right in (
        (
            " to=functions.weather<|channel|>commentary json",
            "<|channel|>commentary to=functions.weather <|constrain|>json",
        ),
        (" to=assistant<|channel|>commentary", "<|channel|>commentary to=assistant"),
        ('"wet"', "wet"),
    ):
        assert odd in text
        text = text.replace(odd, right)

    assert harmony.render(turns, tools=TOOLS) == text
