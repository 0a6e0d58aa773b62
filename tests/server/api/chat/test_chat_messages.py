"""Rules of the history: every shape that clients send is one shape behind, and each result has its call."""

from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage

from server.api.body_errors import read_body
from server.api.chat.decode_messages import decode_messages
from server.api.chat.request import ChatRequestBody
from server.errors import ApiError
from server.request import Message, ToolCall

USER = {"role": "user", "content": "go"}
PARTS = [{"type": "text", "text": "10525"}, {"type": "text", "text": "kg"}]


def history(*messages: dict[str, Any]) -> tuple[Message, ...]:
    body = read_body(ChatRequestBody, {"model": "m", "messages": list(messages)})
    return decode_messages(body.messages)


def refused(*messages: dict[str, Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        history(*messages)
    assert caught.value.status == 400
    return caught.value


def turn(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": list(calls), **fields}


def call(call_id: str | None, name: str, arguments: str | None = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str | None, content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def answers(*messages: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Id, name and text of each tool result."""
    return [
        (message.tool_call_id, message.name, message.content)
        for message in history(*messages)
        if message.role == "tool"
    ]


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_text_parts_are_joined_by_a_line_break(role: str) -> None:
    """Parts become one text, so that no template has to know of parts (B022)."""
    (message,) = history({"role": role, "content": PARTS})

    assert message.content == "10525\nkg"


def test_a_tool_result_may_be_text_parts() -> None:
    """Both parts of a result reach the prompt (B019, B020)."""
    assert answers(turn(call("call_1", "weigh")), result("call_1", PARTS)) == [
        ("call_1", "weigh", "10525\nkg")
    ]


def test_developer_is_system() -> None:
    """Models know one kind of instruction; the order of messages stays (B024)."""
    roles = [message.role for message in history({"role": "developer", "content": "Rhyme"}, USER)]

    assert roles == ["system", "user"]


def test_messages_know_where_the_client_wrote_them() -> None:
    """Later steps can name the message in their errors."""
    assert [message.param for message in history(USER, turn(), USER)] == [
        "messages[0]",
        "messages[1]",
        "messages[2]",
    ]


def test_names_of_participants_are_kept() -> None:
    """Templates may show who speaks."""
    assert history({**USER, "name": "ann"}) == (Message("user", "go", "messages[0]", name="ann"),)


@pytest.mark.parametrize("fields", [{}, {"content": None}, {"content": ""}, {"content": []}])
def test_content_absent_null_and_empty_are_the_same(fields: dict[str, Any]) -> None:
    """An assistant message with calls needs no content (B009, B010)."""
    message = history(USER, turn(call("call_1", "add_stock", '{"sku": "b7"}'), **fields), result("call_1"))[1]

    assert (message.content, message.tool_calls) == ("", (ToolCall("call_1", "add_stock", '{"sku": "b7"}'),))


@pytest.mark.parametrize("content", [None, "", []])
def test_a_result_may_be_empty(content: Any) -> None:
    """A function that returned nothing has a result all the same."""
    assert answers(turn(call("call_1", "ping")), result("call_1", content)) == [("call_1", "ping", "")]


@pytest.mark.parametrize("calls", [[], None])
def test_an_empty_list_of_calls_is_no_calls(calls: Any) -> None:
    """Some templates fail on a turn whose list of calls is there but empty (B191)."""
    message = history(USER, {"role": "assistant", "content": "yo", "tool_calls": calls}, USER)[1]

    assert (message.content, message.tool_calls) == ("yo", ())


@pytest.mark.parametrize(
    "fields",
    [
        {"content": None, "refusal": "I can't."},
        {"content": [{"type": "refusal", "refusal": "I can't."}]},
        {"content": "", "refusal": "I can't."},
    ],
)
def test_a_refusal_is_what_the_assistant_said(fields: dict[str, Any]) -> None:
    """The refusal of an earlier answer stands in the conversation as its text."""
    assert history({"role": "assistant", **fields})[0].content == "I can't."


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_that_comes_back_is_kept(field: str) -> None:
    """Templates that show earlier reasoning get it by either of its names."""
    assert history({"role": "assistant", "content": "4", field: "2+2"})[0].reasoning == "2+2"


def test_a_dumped_answer_is_a_message() -> None:
    """Clients echo `message.model_dump()`, nulls and foreign fields included."""
    answer = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{**call("call_1", "f", '{"a": 1}'), "index": 0}],
        "reasoning_content": "hm",
        "parsed": None,
    }
    dumped = ChatCompletionMessage.model_validate(answer).model_dump()
    dumped["tool_calls"][0]["function"]["parsed_arguments"] = {"a": 1}
    message = history({**dumped, "annotations": [], "audio": None})[0]

    assert message == Message(
        "assistant", "", "messages[0]", reasoning="hm", tool_calls=(ToolCall("call_1", "f", '{"a": 1}'),)
    )


@pytest.mark.parametrize("arguments", ['{"t": "say "hi" now"}', "{", "", "[1]", '{"n": "\\u4f60"}'])
def test_arguments_are_kept_as_the_client_sent_them(arguments: str) -> None:
    """Arguments that are not JSON poison no conversation: the text goes on (B187, B188, B212, B196)."""
    message = history(USER, turn(call("call_1", "put", arguments)), USER)[1]

    assert message.tool_calls == (ToolCall("call_1", "put", arguments),)


@pytest.mark.parametrize("function", [{"name": "f"}, {"name": "f", "arguments": None}])
def test_a_call_without_arguments_has_none(function: dict[str, Any]) -> None:
    """Absent and null arguments are the empty object."""
    assert history(turn({"function": function}))[0].tool_calls[0].arguments == "{}"


def test_ids_of_other_servers_are_kept() -> None:
    """The client's ids are never refused or changed here, whatever their form (B183, B184)."""
    call_id = "b0b1a6b0-8a50-4c3a-9c1e-2f5d6c7b8a90"

    assert answers(turn(call(call_id, "f")), result(call_id)) == [(call_id, "f", "ok")]


def test_the_name_of_a_result_is_that_of_its_call() -> None:
    """What a client calls the function of a result is accepted, but its id says which call it answers."""
    messages = [turn(call("a", "f"), call("b", "g")), {**result("b"), "name": "f"}]

    assert answers(*messages) == [("b", "g", "ok")]


def test_results_find_their_calls_by_id_in_any_order() -> None:
    """Results may come in another order than their calls; each is told the name of its own."""
    messages = [turn(call("a", "f"), call("b", "g")), result("b", "2"), result("a", "1")]

    assert answers(*messages) == [("b", "g", "2"), ("a", "f", "1")]


def test_a_result_may_come_turns_later() -> None:
    """An id is found in the whole history before it; the latest call of that id wins."""
    messages = [
        turn(call("a", "f")),
        USER,
        turn(call("b", "g")),
        result("a"),
        turn(call("a", "h")),
        result("a"),
    ]

    assert answers(*messages) == [("a", "f", "ok"), ("a", "h", "ok")]


def test_equal_ids_in_one_turn_are_answered_in_order() -> None:
    """Servers that give all calls one id do not confuse the history."""
    messages = [turn(call("0", "f"), call("0", "g")), result("0", "1"), result("0", "2")]

    assert answers(*messages) == [("0", "f", "1"), ("0", "g", "2")]


@pytest.mark.parametrize("absent", [None, ""])
def test_results_without_ids_are_paired_by_order(absent: str | None) -> None:
    """Null ids on both sides are given names that agree, call by call (B008)."""
    messages: list[dict[str, Any]] = [
        USER,
        turn(call(absent, "ping"), call(absent, "pong")),
        result(absent, "1"),
        result(absent, "2"),
    ]

    assert [each.id for each in history(*messages)[1].tool_calls] == ["call_1_0", "call_1_1"]
    assert answers(*messages) == [("call_1_0", "ping", "1"), ("call_1_1", "pong", "2")]


def test_a_result_without_id_skips_calls_that_have_theirs() -> None:
    """Order counts only the calls that no result has named."""
    messages: list[dict[str, Any]] = [
        turn(call("a", "f"), call("b", "g"), call("c", "h")),
        result("a"),
        result(None, "2"),
    ]

    assert answers(*messages) == [("a", "f", "ok"), ("b", "g", "2")]


def test_a_legacy_call_and_its_result_are_a_call_and_its_result() -> None:
    """`function_call` and the role `function` become a call with an id, paired by order."""
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "21"},
    ]

    assert history(*messages)[0].tool_calls == (ToolCall("call_0_0", "f", '{"a": 1}'),)
    assert answers(*messages) == [("call_0_0", "f", "21")]


def test_a_call_may_stay_without_a_result() -> None:
    """The user may speak before a call is answered."""
    assert [message.role for message in history(turn(call("a", "f")), USER)] == ["assistant", "user"]


def test_an_unknown_id_is_refused() -> None:
    """A result must not be read as that of another call."""
    error = refused(USER, turn(call("a", "f")), result("b"))

    assert (error.kind.code, error.param) == ("invalid_value", "messages[2].tool_call_id")
    assert error.message == (
        "Invalid 'messages[2].tool_call_id': no earlier message has a tool call with the id 'b'. "
        "Send the assistant message that made the call before its result."
    )


@pytest.mark.parametrize("messages", [[result(None)], [turn(call("a", "f")), result("a"), result(None)]])
def test_a_result_without_id_needs_a_call_that_waits(messages: list[dict[str, Any]]) -> None:
    """With no call to pair it with, the missing id is named (B008)."""
    error = refused(*messages)

    assert error.kind.code == "missing_required_parameter"
    assert error.param == f"messages[{len(messages) - 1}].tool_call_id"


def test_calls_of_an_earlier_turn_are_not_paired_by_order() -> None:
    """A new turn with calls closes the one before: order says nothing about its results."""
    error = refused(turn(call("a", "f")), turn(call("b", "g")), result("b"), result(None))

    assert error.param == "messages[3].tool_call_id"


def test_a_legacy_result_needs_a_legacy_call() -> None:
    """A function message that nothing has asked for is refused, and named."""
    assert refused(USER, {"role": "function", "name": "f", "content": "1"}).param == "messages[1]"


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "file"])
def test_parts_that_are_not_text_are_refused_by_name(kind: str) -> None:
    """A picture that nobody looks at would be answered wrongly: it is refused, with the way out."""
    error = refused(USER, {"role": "user", "content": [PARTS[0], {"type": kind, kind: {}}]})

    assert (error.kind.code, error.param) == ("unsupported_value", "messages[1].content[1].type")
    assert "This model takes text only." in error.message


def test_every_call_of_a_long_turn_finds_its_result() -> None:
    """Ten thousand calls of one turn, and their results by order and by id, are all paired."""
    calls = [call(str(number) if number % 2 else None, "f") for number in range(10_000)]
    results = [result(str(number) if number % 2 else None) for number in range(10_000)]
    ids = [call_id for call_id, _, _ in answers(turn(*calls), *results)]

    assert ids == [str(number) if number % 2 else f"call_0_{number}" for number in range(10_000)]
