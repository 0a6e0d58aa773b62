"""Known faults of other servers, each as its reproducer: what a client sends, a model writes, and must come.

The numbers are those of our collection of faults.
"""

import json
from typing import Any

import pytest

from server.config.settings import Settings, ToolMask
from server.engine.protocol import Finish
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import QUESTION, Told, always, call, serving, told, tool

SKU = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
ADD = tool("add_stock", SKU)
B7 = ("add_stock", '{"sku": "b7"}')
CALL = call("add_stock", {"sku": "b7"})
NAMED = {"type": "function", "function": {"name": "add_stock"}}
CHOICES: list[Any] = ["auto", "required", NAMED]

THINKS = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "
    "{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}"
)
"""A chat template that opens the reasoning span, unless it is told not to."""


def turn(id: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    """An assistant's turn with one call."""
    function = {"name": "add_stock", "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}], **more}


def result(id: str | None, content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


ACCEPTED: dict[str, dict[str, Any]] = {
    "B004": {"tool_choice": "none"},
    "B006": {
        "functions": [{"name": "add_stock", "parameters": {"type": "object", "properties": {}}}],
        "store": False,
        "metadata": {"a": "b"},
        "service_tier": "auto",
        "user": "u1",
        "something_new": 1,
    },
    "B008": {"messages": [*QUESTION, turn(None, "{}", content=None), result(None, "pong")]},
    "B009": {"messages": [*QUESTION, turn("call_1", B7[1]), result("call_1")]},
    "B010": {"messages": [*QUESTION, turn("call_1", B7[1]), result("call_1", "done")]},
    "B019": {"messages": [*QUESTION, turn("c", B7[1]), result("c", [{"type": "text", "text": "10525"}])]},
    "B183": {"messages": [*QUESTION, turn("call_0123456789abcdef", B7[1]), result("call_0123456789abcdef")]},
    "B187": {"messages": [*QUESTION, turn("call_1", '{"t": "say "hi" now"}', content=None), *QUESTION]},
    "B191": {"messages": [*QUESTION, {"role": "assistant", "content": "yo", "tool_calls": []}, *QUESTION]},
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
async def test_what_clients_send_is_answered(vocabulary: Vocabulary, body: dict[str, Any]) -> None:
    """Each of these was a 4xx or a 5xx elsewhere (B004, B006, B008 to B010, B019, B183, B187, B191)."""
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        assert await server.answers(**body) == [Told("Hi.")]


async def test_null_is_absent_and_an_empty_list_of_tools_is_refused(vocabulary: Vocabulary) -> None:
    """As OpenAI does it, and never a 5xx (B002)."""
    async with serving(vocabulary, ["Hi."]) as server:
        assert told(await server.chat(tool_choice=None, tools=None)) == [Told("Hi.")]
        refused = await server.post(tool_choice=None, tools=[])

    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tools")


async def test_a_template_that_refuses_an_effort_is_a_400_in_its_words(vocabulary: Vocabulary) -> None:
    """It was a 500 (B012)."""
    template = "{% if reasoning_effort %}{{ raise_exception('bad effort') }}{% endif %}Hi"
    async with serving(vocabulary, [], template=template) as server:
        response = await server.post(reasoning_effort="high")

        assert response.status_code == 400
        assert "bad effort" in response.json()["error"]["message"]
        assert server.engine.asked == []


async def test_a_choice_is_held_whatever_the_prompt_says(vocabulary: Vocabulary) -> None:
    """The mask of a forced choice has no text, and that of `none` no call (B034, B035, B036)."""
    masks = []
    for choice in [*CHOICES, "none"]:
        messages = [{"role": "user", "content": "Answer in words only, use no tool. Call add_stock now!"}]
        async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
            await server.chat(messages=messages, tools=[ADD], tool_choice=choice)
            masks.append(server.engine.asked[0].structural_tag)

    auto, required, named, none = masks
    assert "any_text" in str(auto)
    for forced in (required, named):
        # Text has its place inside the reasoning span only, which comes first.
        assert str(forced).count("any_text") == 1
        assert str(forced).index("any_text") < str(forced).index("</think>") < str(forced).index("add_stock")
    assert none is None


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("thinking", [True, False])
async def test_every_choice_works_with_and_without_thinking(
    vocabulary: Vocabulary, choice: Any, *, thinking: bool
) -> None:
    """In all cells of choice, stream and thinking, however the boundary falls (B038, B046, B175, B177)."""
    text = f"hm.</think>{CALL}" if thinking else CALL
    kwargs = {"enable_thinking": thinking}
    for size in (1, 4, 100):
        async with serving(vocabulary, always(vocabulary, text, size=size), template=THINKS) as server:
            [answer] = await server.answers(tools=[ADD], tool_choice=choice, chat_template_kwargs=kwargs)

            assert answer == Told(reasoning="hm." if thinking else "", calls=(B7,), finish="tool_calls")
            tag = json.loads(server.engine.asked[0].structural_tag or "")["format"]
            assert (tag["elements"][0]["type"] == "optional") is not thinking


@pytest.mark.parametrize("thinking", [True, False])
async def test_a_format_and_thinking_go_together(vocabulary: Vocabulary, *, thinking: bool) -> None:
    """The answer is content, the reasoning stays, and the mask begins behind it (B172, B173)."""
    wanted = {"type": "json_schema", "json_schema": {"name": "out", "schema": SKU, "strict": True}}
    text = ("hm.</think>\n\n" if thinking else "") + B7[1]
    async with serving(vocabulary, always(vocabulary, text), template=THINKS) as server:
        kwargs = {"enable_thinking": thinking}
        [answer] = await server.answers(response_format=wanted, chat_template_kwargs=kwargs)

        assert answer == Told(B7[1], "hm." if thinking else "")
        assert "</think>" in (server.engine.asked[0].structural_tag or "")


async def test_reasoning_that_the_prompt_opened_is_counted(vocabulary: Vocabulary) -> None:
    """`reasoning_tokens` was 0 where no opening marker was generated (B199)."""
    async with serving(vocabulary, ["a b c</think>d"], template=THINKS) as server:
        answer = await server.chat()

    assert told(answer) == [Told("d", "a b c")]
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] >= 3


async def test_a_text_about_calls_in_the_reasoning_is_no_call(vocabulary: Vocabulary) -> None:
    """Prose that names the markers is prose, and no failure (B169)."""
    prose = "Some models write <tool_call>{...}</tool_call> or <function=x>."
    async with serving(vocabulary, always(vocabulary, f"<think>{prose}</think>No tool needed.")) as server:
        assert await server.answers(tools=[ADD]) == [Told("No tool needed.", prose)]
        assert server.metric("strictcall_parse_failures_total", family="hermes", reason="bad_json") == 0


async def test_a_call_at_the_end_of_open_reasoning_is_a_call(vocabulary: Vocabulary) -> None:
    """The model has stopped to be answered; it was swallowed, and the content null (B170)."""
    async with serving(vocabulary, always(vocabulary, f"<think>I should look.{CALL}")) as server:
        [answer] = await server.answers(tools=[ADD])

    assert answer == Told(reasoning="I should look.", calls=(B7,), finish="tool_calls")


async def test_stop_sequences_are_about_the_answer_only(vocabulary: Vocabulary) -> None:
    """Not about reasoning, markers or arguments; there is never half a marker in the text (B139, B178)."""
    async with serving(vocabulary, always(vocabulary, "<think>Is 9.8 more?</think>Yes.")) as server:
        assert await server.answers(stop=["9.8"]) == [Told("Yes.", "Is 9.8 more?")]
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        [answer] = await server.answers(stop=["</end>", "sku", "</tool_call>"], tools=[ADD])

    assert answer == Told(calls=(B7,), finish="tool_calls")


async def test_a_forced_call_that_runs_into_its_budget_is_not_called_done(vocabulary: Vocabulary) -> None:
    """`length`, and the arguments as far as they go (B041)."""
    jobs = {"type": "object", "properties": {"tasks": {"type": "array", "items": {"type": "string"}}}}
    text = call("post_job", {"tasks": ["a"] * 50})
    choice = {"type": "function", "function": {"name": "post_job"}}
    async with serving(vocabulary, always(vocabulary, text)) as server:
        [answer] = await server.answers(tools=[tool("post_job", jobs)], tool_choice=choice, max_tokens=60)

        assert answer.finish == "length"
        assert answer.calls[0][1].startswith('{"tasks": ["a", "a"')
        assert server.metric("strictcall_parse_failures_total", family="hermes", reason="truncated") == 2


async def test_a_forced_call_is_read_where_loose_masks_are_off(vocabulary: Vocabulary) -> None:
    """`required` is still masked, and the family's own form is what is read (B043)."""
    text = '<tool_call>{"name":"add_stock","arguments":{"sku":"a"}}</tool_call>'
    off = Settings(tool_mask=ToolMask.STRICT)
    async with serving(vocabulary, always(vocabulary, text), off) as server:
        [answer] = await server.answers(tools=[ADD], tool_choice="required")

        assert answer == Told(calls=(("add_stock", '{"sku":"a"}'),), finish="tool_calls")
        assert server.engine.asked[0].structural_tag


async def test_strict_is_not_ignored_in_auto(vocabulary: Vocabulary) -> None:
    """The schema is in the mask; a call outside it, which no mask would let through, is an error (B055)."""
    schema = {"type": "object", "properties": {"qty": {"type": "integer"}}, "required": ["qty"]}
    async with serving(vocabulary, always(vocabulary, call("add_stock", {"qty": "many"}))) as server:
        response = await server.post(tools=[tool("add_stock", schema, strict=True)])
        *_, last = await server.stream(tools=[tool("add_stock", schema, strict=True)])

        assert response.json()["error"]["code"] == last["error"]["code"] == "schema_violation"
        assert "qty" in (server.engine.asked[0].structural_tag or "")


@pytest.mark.parametrize("choice", CHOICES, ids=str)
async def test_ids_are_made_alike_and_taken_back(vocabulary: Vocabulary, choice: Any) -> None:
    """The server's own ids, from every choice, do on the next turn (B184, B186)."""
    async with serving(vocabulary, [CALL, "Done."]) as server:
        message = (await server.chat(tools=[ADD], tool_choice=choice))["choices"][0]["message"]
        [made] = message["tool_calls"]
        history = [*QUESTION, message, result(made["id"])]

        assert made["id"].startswith("call_")
        assert told(await server.chat(tools=[ADD], messages=history)) == [Told("Done.")]


async def test_escapes_in_the_history_are_not_shown_to_the_model(vocabulary: Vocabulary) -> None:
    """It would imitate them (B196)."""
    async with serving(vocabulary, ["Hi."]) as server:
        await server.chat(messages=[*QUESTION, turn("c", '{"n": "\\u4f60\\u597d"}'), result("c")])

        prompt = vocabulary.decode(server.engine.asked[0].prompt)
        assert "你好" in prompt
        assert "\\u4f60" not in prompt


async def test_a_history_of_calls_does_not_change_how_the_answer_is_read(vocabulary: Vocabulary) -> None:
    """Streamed and not streamed were different (B159)."""
    history = [*QUESTION, turn("aB3dE5fG7", B7[1], content=None), result("aB3dE5fG7", "no"), *QUESTION]
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        [answer] = await server.answers(messages=history, tools=[ADD])

    assert answer == Told(calls=(B7,), finish="tool_calls")


@pytest.mark.parametrize("finish", Finish)
async def test_a_call_that_never_begins_ends_cleanly(vocabulary: Vocabulary, finish: Finish) -> None:
    """The output ends right after the marker; that was an IndexError (B154).

    If the model ended it there, the marker is text; if the budget did, it is the opening of a call.
    """
    async with serving(vocabulary, always(vocabulary, "<tool_call>", finish=finish)) as server:
        text = "<tool_call>" if finish is Finish.STOP else ""
        assert await server.answers(tools=[ADD]) == [Told(text, finish=finish.value)]
