"""Items in, turns out: whatever clients echo is understood, and nothing of it is lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.api.body_errors import read_body
from server.api.responses.decode_items import decode_items, placed
from server.api.responses.items import ItemList
from server.api.responses.sealed import sealed, unsealed
from server.errors import ApiError
from server.request import Message, ToolCall

CALL = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"a": 1}'}
OTHER = {**CALL, "call_id": "call_2", "name": "ping"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "21"}
OTHER_OUTPUT = {**OUTPUT, "call_id": "call_2", "output": "22"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sure."}]}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": "Hm."}],
}


def decode(*items: dict[str, Any]) -> list[Message]:
    return list(decode_items(placed(read_body(ItemList, {"items": list(items)}).items, "input")))


def test_what_the_assistant_did_in_a_row_is_one_turn() -> None:
    """As the model wrote it: the thought, the text, the calls; and the results are turns of their own."""
    turns = decode(THOUGHT, SAID, CALL, OTHER, OTHER_OUTPUT, OUTPUT)

    calls = (ToolCall("call_1", "look", '{"a": 1}'), ToolCall("call_2", "ping", '{"a": 1}'))
    assert turns == [
        Message("assistant", "Sure.", "input[0]", reasoning="Hm.", tool_calls=calls),
        Message("tool", "22", "input[4]", tool_call_id="call_2", name="ping"),
        Message("tool", "21", "input[5]", tool_call_id="call_1", name="look"),
    ]


def test_each_result_ends_a_turn() -> None:
    """One call after the other is two turns, with thoughts where they were thought."""
    turns = decode(THOUGHT, CALL, OUTPUT, THOUGHT, OTHER, OTHER_OUTPUT)

    assert [(turn.role, turn.reasoning, len(turn.tool_calls)) for turn in turns] == [
        ("assistant", "Hm.", 1),
        ("tool", "", 0),
        ("assistant", "Hm.", 1),
        ("tool", "", 0),
    ]


@pytest.mark.parametrize(
    ("item", "role", "text"),
    [
        ({"role": "user", "content": "Hi"}, "user", "Hi"),
        ({"role": "developer", "content": "Hi"}, "system", "Hi"),
        ({"role": "system", "content": [{"type": "input_text", "text": "Hi"}]}, "system", "Hi"),
        ({"role": "user", "content": []}, "user", ""),
        (
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "text", "text": "b"}]},
            "user",
            "a\nb",
        ),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, "assistant", "No."),
        (
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "phase": "final_answer",
                "content": [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}],
            },
            "assistant",
            "Hi",
        ),
    ],
)
def test_messages_are_taken_in_every_shape(item: dict[str, Any], role: str, text: str) -> None:
    """Short ones of users, and long ones as answers have them (vllm#33089)."""
    [turn] = decode(item)

    assert (turn.role, turn.content) == (role, text)


def test_a_custom_call_is_a_call_with_one_argument() -> None:
    """What the model was shown as a function it sees again as one."""
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "sql", "input": 'a "b"\n'}
    result = {
        "type": "custom_tool_call_output",
        "call_id": "c",
        "output": [{"type": "input_text", "text": "1"}],
    }
    turn, answer = decode(item, result)

    assert turn.tool_calls == (ToolCall("c", "sql", '{"input": "a \\"b\\"\\n"}'),)
    assert (answer.content, answer.name) == ("1", "sql")


@pytest.mark.parametrize(
    ("item", "thought"),
    [
        (THOUGHT, "Hm."),
        ({**THOUGHT, "content": None, "encrypted_content": sealed("It is two…")}, "It is two…"),
        ({**THOUGHT, "content": [], "encrypted_content": "gAAAA of another server"}, ""),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "In short."}]}, "In short."),
        ({"type": "reasoning", "summary": []}, ""),
    ],
)
def test_a_thought_comes_back_by_whatever_the_client_kept_of_it(item: dict[str, Any], thought: str) -> None:
    """Codex keeps the sealed text only; what another server sealed is no text here."""
    [turn] = decode(item)

    assert turn.reasoning == thought


@given(st.text())
def test_what_is_sealed_can_be_read_again(text: str) -> None:
    """Whatever the model wrote; half of a surrogate pair is no text."""
    assert unsealed(sealed(text)) == text.encode(errors="replace").decode()


@pytest.mark.parametrize("content", ["", "x", "strictcall1.!", "strictcall1._w==", "strictcall1.a"])
def test_what_is_not_sealed_here_is_not_read(content: str) -> None:
    """Foreign, changed or cut: never an error, as the item is still a thought without text."""
    assert unsealed(content) is None


def test_a_result_needs_its_call() -> None:
    """Before it; the error says how to send it."""
    with pytest.raises(ApiError) as caught:
        decode(OUTPUT, CALL)

    assert caught.value.param == "input[0].call_id"
    assert "previous_response_id" in caught.value.message


KINDS = [
    CALL,
    OTHER,
    OUTPUT,
    OTHER_OUTPUT,
    SAID,
    THOUGHT,
    {"role": "user", "content": "Hi"},
    {"role": "developer", "content": "Be brief."},
    {"type": "item_reference", "id": "msg_1"},
    {"id": "msg_2"},
    {"type": "custom_tool_call", "call_id": "call_1", "name": "sql", "input": "x"},
    {"type": "custom_tool_call_output", "call_id": "call_1", "output": None},
]


@given(st.lists(st.sampled_from(KINDS), max_size=12))
def test_items_in_any_order_are_turns_or_a_refusal(items: list[dict[str, Any]]) -> None:
    """Nothing else is raised; and what is taken has every text and every call that was sent."""
    turns: list[Message] = []
    refused = ""
    try:
        turns = decode(*items)
    except ApiError as error:
        refused = f"{error.status} {error.param}"
    if refused:
        assert refused.startswith("400 input[")
        return

    calls = [item for item in items if "_call" in item.get("type", "") and "output" not in item["type"]]
    results = [item for item in items if "output" in item.get("type", "")]
    assert sum(len(turn.tool_calls) for turn in turns) == len(calls)
    assert sum(turn.role == "tool" for turn in turns) == len(results)
    assert sum(turn.reasoning.count("Hm.") for turn in turns) == items.count(THOUGHT)
