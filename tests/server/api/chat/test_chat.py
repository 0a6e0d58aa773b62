"""Chat Completions over HTTP, on a scripted engine: what was asked for is what is got."""

import json
from typing import Any

import pytest

from server.config.settings import NamedFinish, Settings
from server.engine.protocol import Finish
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import Told, always, call, fold, script, serving, tool

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
JSON_CITY = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY, "strict": True}}
LIMA = ("look", '{"city": "Lima"}')
CALL = call("look", {"city": "Lima"})
PING = call("ping", {})
LOOK = tool("look", CITY)
TOOLS = [LOOK, tool("ping")]


async def test_an_answer_is_text_with_its_usage(vocabulary: Vocabulary) -> None:
    """The body is the one of OpenAI: every key that its schema requires, nothing else."""
    cached = Script([vocabulary.encode("Hello."), [min(vocabulary.end_ids)]], cached_tokens=4)
    async with serving(vocabulary, [cached]) as server:
        answer = await server.chat()

        [asked] = server.engine.asked
        assert answer["id"].startswith("chatcmpl-")
        assert answer["id"] in asked.request_id
        assert (answer["object"], answer["model"]) == ("chat.completion", "smol")
        assert answer["choices"] == [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello.", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ]
        assert answer["usage"]["prompt_tokens"] == len(asked.prompt)
        assert answer["usage"]["completion_tokens"] == len(vocabulary.encode("Hello.")) + 1
        assert answer["usage"]["total_tokens"] == len(asked.prompt) + answer["usage"]["completion_tokens"]
        assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 4
        assert asked.structural_tag is None


async def test_reasoning_is_told_apart_and_its_tokens_are_counted(vocabulary: Vocabulary) -> None:
    """The span is neither content nor free: `reasoning_tokens` are among the completion's."""
    text = "<think>It must be two of them.</think>\n\nTwo."
    async with serving(vocabulary, always(vocabulary, text)) as server:
        [choice] = await server.answers()
        usage = (await server.chat())["usage"]

    inside = len(vocabulary.encode("It must be two of them."))
    assert choice == Told("Two.", "It must be two of them.")
    assert inside <= usage["completion_tokens_details"]["reasoning_tokens"] < usage["completion_tokens"]


NAMED = {"type": "function", "function": {"name": "look"}}


def allowed(mode: str) -> dict[str, Any]:
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [NAMED]}}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("choice", "label"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ("required", "required"),
        (NAMED, "named"),
        (allowed("auto"), "allowed"),
        (allowed("required"), "allowed"),
    ],
    ids=json.dumps,
)
async def test_every_choice_gives_the_call_and_is_counted(
    vocabulary: Vocabulary, choice: Any, label: str, *, strict: bool
) -> None:
    """Streamed or not, with a mask; the count says which choice and what held the call."""
    tools = [tool("look", CITY, strict=strict), tool("ping")]
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        [answer] = await server.answers(tools=tools, tool_choice=choice)

        assert answer == Told(calls=(LIMA,), finish="tool_calls")
        assert all(asked.structural_tag for asked in server.engine.asked)
        held = "schema" if strict else "envelope"
        assert (
            server.metric("strictcall_tool_calls_total", choice=label, constraint=held, family="hermes") == 2
        )


async def test_with_choice_none_a_call_is_text(vocabulary: Vocabulary) -> None:
    """No tool is shown, none can be called, and nothing is counted as a failed call."""
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        [answer] = await server.answers(tools=TOOLS, tool_choice="none")

        prompt = vocabulary.decode(server.engine.asked[0].prompt)
        assert answer == Told(CALL)
        assert "look" not in prompt
        assert server.metric("strictcall_parse_failures_total", family="hermes", reason="unknown_tool") == 0


@pytest.mark.parametrize(("setting", "finish"), [("tool_calls", "tool_calls"), ("stop", "stop")])
async def test_the_finish_reason_of_a_named_call_is_a_setting(
    vocabulary: Vocabulary, setting: str, finish: str
) -> None:
    """OpenAI says `stop`, agents want `tool_calls`; other choices are not concerned."""
    named = Settings(named_finish_reason=NamedFinish(setting))
    async with serving(vocabulary, always(vocabulary, CALL), named) as server:
        [answer] = await server.answers(tools=[LOOK], tool_choice=NAMED)
        [other] = await server.answers(tools=[LOOK], tool_choice="required")

    assert (answer.finish, other.finish) == (finish, "tool_calls")


async def test_parallel_calls_have_numbers_and_ids_of_their_own(vocabulary: Vocabulary) -> None:
    """Two calls of one tool and one of another: indices 0, 1, 2 and three ids (faults B149, B150, B308)."""
    async with serving(vocabulary, always(vocabulary, f"{CALL}\n{CALL}\n{PING}")) as server:
        [answer] = await server.answers(tools=TOOLS)
        chunks = await server.stream(tools=TOOLS)

    deltas = [chunk["choices"][0]["delta"].get("tool_calls", []) for chunk in chunks]
    begins = [each for calls in deltas for each in calls if "id" in each]
    assert answer.calls == (LIMA, LIMA, ("ping", "{}"))
    assert [each["index"] for each in begins] == [0, 1, 2]
    assert len({each["id"] for each in begins}) == 3


async def test_without_parallel_calls_the_mask_is_another(vocabulary: Vocabulary) -> None:
    """The engine is told; nothing is dropped afterwards (fault B052)."""
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        await server.chat(tools=TOOLS)
        await server.chat(tools=TOOLS, parallel_tool_calls=False)

        many, one = [json.loads(asked.structural_tag or "") for asked in server.engine.asked]
        assert '"repeat"' in json.dumps(many)
        assert '"repeat"' not in json.dumps(one)


@pytest.mark.parametrize("tools", [None, [LOOK]])
@pytest.mark.parametrize(
    "wanted",
    [
        {"response_format": {"type": "json_object"}},
        {"response_format": JSON_CITY},
        {"structured_outputs": {"json": CITY}},
        {"structured_outputs": {"regex": '\\{"city": "[A-Z][a-z]+"\\}'}},
        {"structured_outputs": {"choice": ['{"city": "Lima"}', "none"]}},
        {"structured_outputs": {"grammar": 'root ::= "{\\"city\\": \\"Lima\\"}"'}},
        {"structured_outputs": {"structural_tag": {"type": "const_string", "value": '{"city": "Lima"}'}}},
    ],
    ids=json.dumps,
)
async def test_a_format_reaches_the_mask_and_the_answer_the_client(
    vocabulary: Vocabulary, wanted: dict[str, Any], tools: Any
) -> None:
    """Alone and beside tools: the answer is content, unless it is a call (fault B053)."""
    body = wanted if tools is None else {**wanted, "tools": tools}
    async with serving(vocabulary, always(vocabulary, LIMA[1])) as server:
        assert await server.answers(**body) == [Told(LIMA[1])]
        assert all(asked.structural_tag for asked in server.engine.asked)
    if tools:
        async with serving(vocabulary, always(vocabulary, CALL)) as server:
            assert await server.answers(**body) == [Told(calls=(LIMA,), finish="tool_calls")]


async def test_response_format_text_is_no_format(vocabulary: Vocabulary) -> None:
    """It costs no mask."""
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        assert await server.answers(response_format={"type": "text"}) == [Told("Hi.")]
        assert server.engine.asked[0].structural_tag is None


@pytest.mark.parametrize("asked", [None, "auto", {"name": "look"}])
async def test_legacy_functions_are_answered_in_their_own_words(vocabulary: Vocabulary, asked: Any) -> None:
    """One `function_call`, streamed too, and the finish reason of its time (fault B006)."""
    body = {"functions": [LOOK["function"]], "function_call": asked}
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        [choice] = (await server.chat(**body))["choices"]
        [streamed] = fold(await server.stream(**body))["choices"]

    expected = {"name": "look", "arguments": LIMA[1]}
    assert choice["message"]["function_call"] == streamed["message"]["function_call"] == expected
    assert choice["finish_reason"] == streamed["finish_reason"] == "function_call"
    assert "tool_calls" not in choice["message"]


async def test_choices_are_generated_side_by_side(vocabulary: Vocabulary) -> None:
    """Each has its own seed, text and finish reason; the usage is that of all, the prompt counted once."""
    texts = [
        script(vocabulary, "One."),
        script(vocabulary, CALL, finish=Finish.LENGTH),
        script(vocabulary, CALL),
    ]
    async with serving(vocabulary, lambda asked: texts[int(asked.request_id[-1])]) as server:
        answers = await server.answers(n=3, tools=[LOOK], seed=5)
        usage = (await server.chat(n=3, tools=[LOOK]))["usage"]

        asked = server.engine.asked
        assert answers == [
            Told("One."),
            Told(calls=(LIMA,), finish="length"),
            Told(calls=(LIMA,), finish="tool_calls"),
        ]
        assert sorted(each.sampling.seed or 0 for each in asked[:3]) == [5, 6, 7]
        assert usage["prompt_tokens"] == len(asked[0].prompt)
        assert usage["completion_tokens"] == sum(len(step) for text in texts for step in text.deltas)
