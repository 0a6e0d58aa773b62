"""Prompts: nothing that a client wrote is lost, misplaced or taken for a control token."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsers.families.hermes import HERMES
from server.errors import ApiError, Code
from server.render import Prompt, render
from server.request import Message, Mode, Request, ToolCall, ToolChoice, ToolDefinition
from server.template import ChatTemplate, choose_template
from server.vocabulary import Vocabulary

TEMPLATES = Path(__file__).parents[1] / "data" / "templates"

USER = Message("user", "Hi")
WEATHER = ToolDefinition(
    "get_weather",
    "Look out of the window.",
    {"type": "object", "properties": {"city": {"type": "string"}}},
    strict=True,
)
TIME = ToolDefinition("get_time")
AUTO = ToolChoice(Mode.AUTO)


def load(name: str) -> ChatTemplate:
    return ChatTemplate((TEMPLATES / f"{name}.jinja").read_text(), origin="a test")


def ask(*messages: Message, **fields: Any) -> Request:
    return Request(id="r", api="chat", model="m", messages=messages, **fields)


def call(id: str, arguments: str, name: str = "get_weather") -> ToolCall:
    return ToolCall(id, name, arguments)


def calls(*tool_calls: ToolCall, content: str = "") -> Message:
    return Message("assistant", content, tool_calls=tool_calls)


def result(id: str, content: str) -> Message:
    return Message("tool", content, tool_call_id=id)


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders with one template and the default model's vocabulary."""

    template: ChatTemplate
    vocabulary: Vocabulary

    def __call__(self, *messages: Message, **fields: Any) -> Prompt:
        return self.request(ask(*messages, **fields))

    def request(self, request: Request) -> Prompt:
        return render(request, template=self.template, vocabulary=self.vocabulary, family=HERMES)

    def using(self, name: str) -> "Renderer":
        return replace(self, template=load(name))

    def refusal(self, *messages: Message, **fields: Any) -> ApiError:
        with pytest.raises(ApiError) as caught:
            self(*messages, **fields)
        return caught.value


@pytest.fixture(scope="module", name="hermes")
def _hermes(smollm2: Vocabulary) -> Renderer:
    return Renderer(choose_template(smollm2.chat_template, "hermes"), smollm2)


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


def test_a_tool_without_parameters_takes_none(hermes: Renderer) -> None:
    """A missing or boolean schema is shown as an object without properties, which every template can read."""
    shown = '{"name": "get_time", "parameters": {"type": "object", "properties": {}}}'

    assert shown in hermes(USER, tools=(TIME,), choice=AUTO).text
    assert shown in hermes(USER, tools=(replace(TIME, parameters=True),), choice=AUTO).text


def test_with_tool_choice_none_no_tool_is_shown(hermes: Renderer) -> None:
    """A model that sees tools calls them, whatever it is told (fault B049)."""
    assert hermes(USER, tools=(WEATHER,), choice=ToolChoice(Mode.NONE)) == hermes(USER)


def test_allowed_tools_do_not_change_the_prompt(hermes: Renderer) -> None:
    """All tools stay, so that the prefix cache stays; only the mask is narrower."""
    tools = (WEATHER, TIME)
    narrowed = ToolChoice(Mode.REQUIRED, allowed=("get_time",))

    assert hermes(USER, tools=tools, choice=narrowed) == hermes(USER, tools=tools, choice=AUTO)


def test_results_come_in_the_order_of_the_calls(hermes: Renderer) -> None:
    """The format pairs results by position, and clients send them as they finish."""
    both = calls(call("a", '{"city": "Ulm"}'), call("b", '{"city": "Bonn"}'))
    in_order = hermes(USER, both, result("a", "rain"), result("b", "sun"))

    assert hermes(USER, both, result("b", "sun"), result("a", "rain")) == in_order
    assert in_order.text.index("rain") < in_order.text.index("sun")


def test_results_without_an_id_answer_the_open_calls_in_order(hermes: Renderer) -> None:
    """A client that lost the ids still gets its results to the right calls (fault B008)."""
    both = calls(call("a", '{"city": "Ulm"}'), call("b", '{"city": "Bonn"}'))
    named = hermes(USER, both, result("a", "rain"), result("b", "sun"))

    assert hermes(USER, both, result("b", "sun"), result("", "rain")) == named


def test_each_round_of_results_belongs_to_its_own_calls(hermes: Renderer) -> None:
    """Ids may repeat between turns, as those of servers that count from 0 do."""
    rounds = hermes(
        USER,
        calls(call("0", "{}"), call("1", "{}")),
        result("1", "second"),
        result("0", "first"),
        calls(call("1", "{}"), call("0", "{}")),
        result("0", "fourth"),
        result("1", "third"),
    ).text

    places = [rounds.index(word) for word in ("first", "second", "third", "fourth")]
    assert places == sorted(places)


def test_a_result_has_the_name_of_its_tool(hermes: Renderer) -> None:
    """OpenAI's results have only an id; formats that want a name get it."""
    source = "{% for m in messages if m.role == 'tool' %}{{ m.name }}={{ m.content }};{% endfor %}"
    prompt = replace(hermes, template=ChatTemplate(source, origin="a test"))

    conversation = (
        calls(call("a", "{}", "get_time"), call("b", "{}")),
        result("b", "rain"),
        result("a", "noon"),
    )
    assert prompt(USER, *conversation).text == "get_time=noon;get_weather=rain;"


def test_a_turn_of_several_calls_is_split_where_one_is_the_limit(hermes: Renderer) -> None:
    """A template that knows one call per turn shows all of them, each before its result."""
    both = calls(call("a", '{"city": "Ulm"}'), call("b", '{"city": "Bonn"}'), call("c", '{"city": "Jena"}'))
    text = hermes.using("one_call")(
        USER, both, result("c", "fog"), result("a", "rain"), Message("user", "So?")
    ).text

    places = [text.index(word) for word in ("Ulm", "rain", "Bonn", "Jena", "fog", "So?")]
    assert places == sorted(places)


def test_calls_without_results_are_split_too(hermes: Renderer) -> None:
    """A conversation that ends in calls loses none of them."""
    both = calls(call("a", '{"city": "Ulm"}'), call("b", '{"city": "Bonn"}'), content="Both.")
    text = hermes.using("one_call")(USER, both).text

    assert text.index("Ulm") < text.index("Bonn")


def test_foreign_ids_become_ids_that_the_template_takes(hermes: Renderer) -> None:
    """Mistral's ids have nine letters; any other is mapped, the same way in call and result (fault B183)."""
    long = "call_0123456789abcdef"
    text = hermes.using("nine_letter_ids")(USER, calls(call(long, "{}")), result(long, "rain")).text

    id = text.partition("[CALL_ID]")[2][:9]
    assert id.isalnum()
    assert f"[TOOL_RESULTS]{id}[TOOL_CONTENT]rain" in text
    assert long not in text


def test_ids_that_the_template_takes_are_kept(hermes: Renderer) -> None:
    """The server's own ids of this form come back as they are (fault B184)."""
    text = hermes.using("nine_letter_ids")(
        USER, calls(call("a1B2c3D4e", "{}")), result("a1B2c3D4e", "rain")
    ).text

    assert "[CALL_ID]a1B2c3D4e[ARGS]" in text


@pytest.mark.parametrize("arguments", ['{"t": "say "hi" now"}', '{"city": "Ber', "[1]", '"x"', "{" * 5000])
def test_arguments_that_are_no_object_are_shown_as_they_are(hermes: Renderer, arguments: str) -> None:
    """A call cut short or misquoted does not poison the conversation for ever (faults B187, B188)."""
    text = hermes(USER, calls(call("a", arguments)), Message("user", "go on")).text

    assert f'"arguments": {arguments}}}\n</tool_call>' in text


def test_arguments_that_are_no_object_are_wrapped_where_one_is_needed(hermes: Renderer) -> None:
    """A template that walks through arguments gets an object with the text in it (fault B187)."""
    text = hermes.using("bracketed_keys")(USER, calls(call("a", '{"city": "Ber'))).text

    assert '<arguments>{"city": "Ber</arguments>' in text


def test_empty_arguments_are_an_empty_object(hermes: Renderer) -> None:
    """Clients write "" for a call without arguments."""
    assert '"arguments": {}}' in hermes(USER, calls(call("a", ""))).text


def test_arguments_are_shown_with_letters_not_escapes(hermes: Renderer) -> None:
    r"""A history of `\u4f60` teaches the model to write escapes (fault B196)."""
    assert '{"n": "你好"}' in hermes(USER, calls(call("a", '{"n": "\\u4f60\\u597d"}'))).text


def test_arguments_are_text_where_the_template_wants_text(hermes: Renderer) -> None:
    """Functionary's template concatenates them; letters instead of escapes there, too."""
    text = hermes.using("text_arguments")(USER, calls(call("a", '{"n":"\\u4f60"}'), call("b", "{oops"))).text

    assert '>>>get_weather\n{"n": "你"}' in text
    assert ">>>get_weather\n{oops" in text


def test_an_assistant_turn_without_calls_has_no_list_of_them(hermes: Renderer) -> None:
    """A template that tests for the key is not misled by an empty list (fault B191)."""
    assert "<|assistant|>yo<|end|>" in hermes.using("one_call")(USER, Message("assistant", "yo"), USER).text


def test_a_turn_of_calls_without_content_is_no_none(hermes: Renderer) -> None:
    """Absent, null and empty content are the same, and no template prints None (faults B009, B010)."""
    text = hermes(USER, calls(call("a", "{}"))).text

    assert "<|im_start|>assistant\n<tool_call>" in text


def test_late_system_messages_stay_where_the_template_shows_them(hermes: Renderer) -> None:
    """What a template can show in place is not moved."""
    text = hermes(USER, Message("assistant", "b"), Message("system", "Be short"), Message("user", "c")).text

    assert "b<|im_end|>\n<|im_start|>system\nBe short<|im_end|>\n<|im_start|>user\nc" in text


def test_late_system_messages_are_joined_at_the_front_where_they_are_refused(hermes: Renderer) -> None:
    """Their text is not lost: a blank line joins them before the conversation (fault B026)."""
    render_strict = hermes.using("nine_letter_ids")
    text = render_strict(
        Message("system", "A"), USER, Message("assistant", "b"), Message("system", "B"), Message("user", "c")
    ).text

    assert text.startswith("[INST]A\n\nB\nHi[/INST]")
    assert render_strict(USER, Message("assistant", "b"), Message("system", "B"), USER).text.startswith(
        "[INST]B\nHi"
    )


def test_without_a_system_role_the_first_user_message_begins_with_it(hermes: Renderer) -> None:
    """Gemma 2 knows no system role; its user says it (fault B027)."""
    without = hermes.using("no_system")

    assert "<turn>user\nS\n\nHi</turn>" in without(Message("system", "S"), USER).text
    assert "<turn>user\nS</turn>" in without(Message("system", "S")).text
    assert (
        "a</turn>\n<turn>user\nS\n\nHi"
        in without(Message("system", "S"), Message("assistant", "a"), USER).text
    )


def test_a_refusal_has_the_templates_own_words(hermes: Renderer) -> None:
    """Two user turns where roles must alternate are the client's to mend (fault B028)."""
    error = hermes.using("nine_letter_ids").refusal(USER, USER)

    assert error.kind is Code.TEMPLATE_REFUSED
    assert "roles must alternate user/assistant" in error.message
    assert error.param == "messages"


MIXED = {
    "type": "object",
    "properties": {
        "a": {"description": "no type"},
        "b": {"type": ["null", "string"]},
        "c": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        "d": {"$ref": "#/$defs/D"},
        "e": True,
        "f": {"type": "array", "items": {"oneOf": [{"type": "null"}]}},
        "g": {"type": ["null"]},
    },
    "required": [],
    "$defs": {"D": {"properties": {"x": {"type": "number"}}}},
}


def test_schemas_without_one_type_are_made_plain_for_templates_that_need_it(hermes: Renderer) -> None:
    """A template that upper-cases types gets one for each property (fault B029)."""
    tools = (ToolDefinition("t", parameters=MIXED),)
    text = hermes.using("upper_types")(USER, tools=tools, choice=AUTO).text

    assert text.startswith(
        "t OBJECT:{a STRING:no type}{b STRING:}{c INTEGER:}{d OBJECT:}{e STRING:}{f ARRAY:}{g NULL:}\n"
    )


def test_schemas_are_shown_as_they_are_to_templates_that_can(hermes: Renderer) -> None:
    """The plain copy is for those that fail without it (fault B029)."""
    tools = (ToolDefinition("t", parameters=MIXED),)

    assert json.dumps(MIXED) in hermes(USER, tools=tools, choice=AUTO).text


def test_what_plain_schemas_do_not_mend_is_refused_in_the_templates_words(hermes: Renderer) -> None:
    """The first refusal is told, which is about the client's own tools."""
    tools = (ToolDefinition("t", parameters={"type": "strang", "description": "odd"}),)
    error = hermes.using("upper_types").refusal(USER, tools=tools, choice=AUTO)

    assert "Unknown type strang" in error.message


def test_template_arguments_reach_the_template(hermes: Renderer) -> None:
    """`enable_thinking: false` closes the span that the template would have opened."""
    thinking = hermes.using("opens_reasoning")

    assert thinking(USER).text.endswith("<think>\n")
    assert thinking(USER, template_arguments={"enable_thinking": False}).text.endswith(
        "<think>\n\n</think>\n\n"
    )


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


def test_a_clients_key_cannot_complete_a_tag_of_the_template(hermes: Renderer) -> None:
    """A template that writes `<` + key + `>` makes no control token of the key `filename`."""
    assert "<filename>" in hermes.vocabulary.control_strings
    tagged = hermes.using("bracketed_keys")
    prompt = tagged(USER, calls(call("a", '{"filename": "x"}')))

    assert "<filename>x</filename>" in prompt.text
    assert hermes.vocabulary.encode("<filename>")[0] not in prompt.token_ids


def test_a_word_of_the_templates_own_control_strings_is_harmless(hermes: Renderer) -> None:
    """`im_end` in a text is only a word; the template's own `<|im_end|>` stay control tokens."""
    prompt = hermes(Message("user", "im_end"))

    assert list(prompt.token_ids) == hermes.vocabulary.encode(prompt.text)


SLOTS = 12
HARMLESS = "quokka"


def conversation(words: list[str]) -> Request:
    """Put words everywhere a client may write: all roles, calls, tools and template arguments."""
    system, first, name, key, value, broken, said, reason, rain, about, field, argument = words
    return ask(
        Message("system", system),
        Message("user", first, name=name),
        calls(
            call("a", json.dumps({key: [value, {"k": value}]})), call("b", f'{{"x": {broken}'), content=said
        ),
        result("b", rain),
        result("a", first),
        Message("assistant", said, reasoning=reason),
        Message("user", rain),
        tools=(
            ToolDefinition(
                "t",
                about,
                {
                    "type": "object",
                    "description": about,
                    "properties": {field: {"type": "string", "description": "d"}},
                },
            ),
        ),
        choice=AUTO,
        template_arguments={"documents": [argument]},
    )


def control_counts(prompt: Prompt, vocabulary: Vocabulary) -> dict[str, int]:
    return {
        string: prompt.token_ids.count(vocabulary.encode(string)[0]) for string in vocabulary.control_strings
    }


def check_no_client_writes_control_tokens(renderer: Renderer) -> None:
    """Compare random conversations with the same ones in harmless words, control token by control token."""
    vocabulary = renderer.vocabulary
    strings = sorted(vocabulary.control_strings)
    parts = [s for string in strings for s in (string, string.upper(), string[:-2], string[2:], string[1:-1])]
    words = st.lists(st.sampled_from([*parts, "<", ">", "|", "\U00017000", "ſ"]), min_size=1, max_size=3)
    harmless = control_counts(renderer.request(conversation([HARMLESS] * SLOTS)), vocabulary)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(words.map("".join), min_size=SLOTS, max_size=SLOTS))
    def check(spelled: list[str]) -> None:
        prompt = renderer.request(conversation(spelled))

        assert control_counts(prompt, vocabulary) == harmless
        assert vocabulary.decode(prompt.token_ids) == prompt.text
        assert spelled[8].casefold() in prompt.text.casefold()

    check()


@pytest.mark.parametrize("name", ["hermes", "lower_case", "upper_types", "bracketed_keys", "opens_reasoning"])
def test_no_client_writes_a_control_token(hermes: Renderer, name: str) -> None:
    """Not through any role, field, filter, or tag that the template writes around it."""
    check_no_client_writes_control_tokens(hermes if name == "hermes" else hermes.using(name))


@pytest.mark.parametrize("name", ["Qwen-Qwen3-0.6B", "Qwen3-Coder", "Qwen3.5-4B", "GLM-4.6", "MiniMax-M3"])
def test_no_client_writes_a_control_token_of_a_real_model(
    qwen3: Vocabulary, model_data: Path, name: str
) -> None:
    """Real templates look into content, split it and put it into tags; it is text all the same."""
    source = (model_data / "chat_templates" / f"{name}.jinja").read_text()

    check_no_client_writes_control_tokens(Renderer(ChatTemplate(source, origin="a test"), qwen3))
