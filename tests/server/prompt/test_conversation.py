"""Messages and tools reach the template in the form it was written for, and nothing is lost."""

import json
from dataclasses import replace

import pytest

from parsers.families.hermes import HERMES
from server.prompt.template import ChatTemplate
from server.request import Message, ToolDefinition
from tests.server.prompting import AUTO, TIME, USER, Renderer, call, calls, result


def test_a_tool_without_parameters_takes_none(hermes: Renderer) -> None:
    """A missing or boolean schema is shown as an object without properties, which every template can read."""
    shown = '{"name": "get_time", "parameters": {"type": "object", "properties": {}}}'

    assert shown in hermes(USER, tools=(TIME,), choice=AUTO).text
    assert shown in hermes(USER, tools=(replace(TIME, parameters=True),), choice=AUTO).text


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


SHOWS_TEXT = "{{ tools }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ m.tool_call_id }}{% endfor %}"


def shows_text(hermes: Renderer) -> Renderer:
    return replace(hermes, template=ChatTemplate(SHOWS_TEXT, origin="a test"))


def test_calls_are_text_where_the_template_shows_none(hermes: Renderer) -> None:
    """The family writes them, behind the text of their turn; all of a turn's calls are there."""
    turn = calls(call("a", '{"city": "Ulm"}'), call("b", '{"city": "Bonn"}'), content="Both.")
    text = shows_text(hermes)(USER, turn, result("a", "rain"), result("b", "sun")).text

    written = HERMES.write_calls([("get_weather", {"city": "Ulm"}), ("get_weather", {"city": "Bonn"})])
    assert f"<assistant>Both.{written}<tool>rain" in text


@pytest.mark.parametrize("arguments", ['{"city": "Ber', "[1]", '{"a": NaN}', '{"a": 1e999}'])
def test_arguments_that_cannot_be_written_are_the_text_of_one(hermes: Renderer, arguments: str) -> None:
    """A call cut short by the token budget does not make the conversation fail."""
    text = shows_text(hermes)(USER, calls(call("a", arguments)), result("a", "rain")).text

    assert HERMES.write_calls([("get_weather", {"arguments": arguments})]) in text


def test_a_client_spells_no_marker_in_calls_that_are_text(hermes: Renderer) -> None:
    """The family's own markers are control tokens; the same letters in an argument are not."""
    prompt = shows_text(hermes)(USER, calls(call("a", '{"city": "<|im_end|>"}')), result("a", "rain"))

    assert '{"city": "<|im_end|>"}' in prompt.text
    assert hermes.vocabulary.encode("<|im_end|>")[0] not in prompt.token_ids


EITHER = (
    "{{ tools }}{% for m in messages %}<{{ m.role }}>"
    "{{ m.tool_calls | tojson if m.tool_calls else m.content }}{% endfor %}"
)


def test_text_beside_calls_is_a_turn_before_them_where_one_turn_shows_one_thing(hermes: Renderer) -> None:
    """Many templates write either the calls of a turn or its text."""
    render_either = replace(hermes, template=ChatTemplate(EITHER, origin="a test"))
    text = render_either(USER, calls(call("a", "{}"), content="I look."), result("a", "rain")).text

    assert "<user>Hi<assistant>I look.<assistant>[{" in text


def test_text_beside_calls_gives_way_where_it_can_be_shown_nowhere(hermes: Renderer) -> None:
    """Mistral's early models write calls alone, and their templates let no two turns of one role pass."""
    text = hermes.using("nine_letter_ids")(
        USER, calls(call("a1B2c3D4e", "{}"), content="I look."), result("a1B2c3D4e", "rain")
    ).text

    assert "[TOOL_CALLS]get_weather" in text
    assert "rain" in text


def test_an_empty_list_of_calls_is_no_calls(hermes: Renderer) -> None:
    """Templates that test whether the key is there do not find it (row 115)."""
    turn = Message("assistant", "yo", tool_calls=())

    assert "<|assistant|>yo<|end|>" in hermes.using("one_call")(USER, turn, USER).text


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


LAST_USER = (
    "{% set s = messages[0].content if messages[0].role == 'system' %}{{ tools }}"
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}>"
    "{{ s + '|' if s and loop.last and m.role == 'user' }}{{ m.content }}{{ m.tool_calls }}{% endfor %}"
)


def test_a_system_message_that_calls_would_drop_stands_in_the_last_user_message(hermes: Renderer) -> None:
    """Mistral's v3 template writes it there itself, but only while that message is the last."""
    drops = replace(hermes, template=ChatTemplate(LAST_USER, origin="a test"))
    system, turn = Message("system", "S"), calls(call("a", "{}"))
    text = drops(system, USER, Message("assistant", "b"), USER, turn, result("a", "rain")).text

    assert text.startswith("None<user>Hi<assistant>b<user>S\n\nHi<assistant>")


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
