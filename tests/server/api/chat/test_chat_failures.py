"""What goes wrong in a chat answer, told to the client as it can use it, and counted as what it is."""

import json
from typing import Any

import pytest

from server.config.settings import Settings, ToolMask
from server.engine.protocol import Finish
from server.engine.scripted import Ending
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import QUESTION, Server, Told, always, call, script, serving, told, tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TAGS = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
    "additionalProperties": False,
}
TWICE = call("tag", {"tags": ["a", "a"]})
ONCE = call("tag", {"tags": ["a", "b"]})
LIMA = ("look", '{"city": "Lima"}')
CALL = call("look", {"city": "Lima"})
LOOK = tool("look", CITY)
TAG = tool("tag", TAGS, strict=True)
ERROR = {"on_violation": "error"}
UNMASKED = Settings(tool_mask=ToolMask.STRICT)


def failures(server: Server) -> dict[str, float]:
    """How often each reason was counted."""
    reasons = ("truncated", "unclosed", "bad_json", "no_name", "not_an_object", "unknown_tool")
    counts = {
        reason: server.metric("strictcall_parse_failures_total", family="hermes", reason=reason)
        for reason in reasons
    }
    return {reason: count for reason, count in counts.items() if count}


BROKEN = {
    "bad_json": '<tool_call>\n{"name": "look", "arguments": {"city": }}\n</tool_call>',
    "unknown_tool": '<tool_call>\n{"name": "gone", "arguments": {}}\n</tool_call>',
    "no_name": '<tool_call>\n{"arguments": {}}\n</tool_call>',
    "not_an_object": '<tool_call>\n{"name": "look", "arguments": [1]}\n</tool_call>',
}


@pytest.mark.parametrize(("reason", "raw"), BROKEN.items())
async def test_an_unreadable_call_is_text_and_its_siblings_are_calls(
    vocabulary: Vocabulary, reason: str, raw: str
) -> None:
    """Nothing is lost: the client reads what the model wrote, and runs the calls that are right.

    Faults B215, B266, B283.
    """
    async with serving(vocabulary, always(vocabulary, f"{CALL}\n{raw}\n{CALL}"), UNMASKED) as server:
        [answer] = await server.answers(tools=[LOOK])

        assert answer == Told(raw, calls=(LIMA, LIMA), finish="tool_calls")
        assert failures(server) == {reason: 2}


async def test_an_answer_of_nothing_but_an_unreadable_call_is_text(vocabulary: Vocabulary) -> None:
    """And its finish reason says that there is nothing to run."""
    async with serving(vocabulary, always(vocabulary, BROKEN["bad_json"]), UNMASKED) as server:
        assert await server.answers(tools=[LOOK]) == [Told(BROKEN["bad_json"])]


async def test_a_call_that_the_model_leaves_open_is_text(vocabulary: Vocabulary) -> None:
    """It stopped by itself, so nothing says that the rest is only missing."""
    text = '<tool_call>\n{"name": "look", "arguments": {"city": "Li'
    async with serving(vocabulary, always(vocabulary, text), UNMASKED) as server:
        assert await server.answers(tools=[LOOK]) == [Told(text)]
        assert failures(server) == {"unclosed": 2}


@pytest.mark.parametrize("mask", ToolMask)
async def test_a_call_cut_by_the_budget_is_given_as_far_as_it_goes(
    vocabulary: Vocabulary, mask: ToolMask
) -> None:
    """`length`, the half call and no claim of success, streamed or not; it can be sent back (fault B188)."""
    half = '<tool_call>\n{"name": "look", "arguments": {"city": "Li'
    scripts = [script(vocabulary, half, finish=Finish.LENGTH)] * 3 + [script(vocabulary, "Again.")]
    async with serving(vocabulary, scripts, Settings(tool_mask=mask)) as server:
        assert await server.answers(tools=[LOOK]) == [
            Told(calls=(("look", '{"city": "Li'),), finish="length")
        ]
        assert failures(server) == {"truncated": 2}
        assert (
            server.metric(
                "strictcall_tool_calls_total", choice="auto", constraint="envelope", family="hermes"
            )
            == 0
        )

        message = (await server.chat(tools=[LOOK]))["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "no such city"}
        replay = await server.chat(tools=[LOOK], messages=[*QUESTION, message, result])

    assert told(replay) == [Told("Again.")]


async def test_the_token_budget_of_the_request_cuts_the_call(vocabulary: Vocabulary) -> None:
    """The cap reached exactly is `length`, too (faults B203, B204)."""
    whole = len(vocabulary.encode(CALL))
    async with serving(vocabulary, always(vocabulary, CALL)) as server:
        [answer] = await server.answers(tools=[LOOK], max_tokens=whole)
        [cut] = await server.answers(tools=[LOOK], max_completion_tokens=whole - 6)

    assert answer == Told(calls=(LIMA,), finish="length")
    assert cut.finish == "length"
    assert LIMA[1].startswith(cut.calls[0][1])


async def test_a_strict_call_outside_its_schema_is_an_error_and_not_an_answer(vocabulary: Vocabulary) -> None:
    """What the mask cannot hold is checked; SDKs are told not to pay for another try unasked."""
    async with serving(vocabulary, always(vocabulary, f"Sure.\n{TWICE}")) as server:
        response = await server.post(tools=[TAG], strictcall=ERROR)
        error = response.json()["error"]

        assert response.status_code == 500
        assert response.headers["x-should-retry"] == "false"
        assert (error["code"], error["type"], error["param"]) == ("schema_violation", "server_error", None)
        assert "'tag'" in error["message"]
        assert "$.tags" in error["message"]
        assert server.metric("strictcall_schema_violations_total", keyword="uniqueItems") == 1
        assert server.metric("strictcall_unmasked_keywords_total", keyword="uniqueItems") == 1
        assert server.metric("strictcall_aborts_total", cause="failure") == 1
        assert (
            server.metric("strictcall_tool_calls_total", choice="auto", constraint="schema", family="hermes")
            == 0
        )
        assert server.metric("strictcall_requests_total", api="chat", status="500") == 1


async def test_in_a_stream_that_error_is_the_last_event(vocabulary: Vocabulary) -> None:
    """Text that was passed on stays; nothing of the call is (the status is counted as what it really was)."""
    async with serving(vocabulary, always(vocabulary, f"Sure.\n{TWICE}")) as server:
        *chunks, last = await server.stream(tools=[TAG], strictcall=ERROR)

        assert last["error"]["code"] == "schema_violation"
        assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "Sure."
        assert not [chunk for chunk in chunks if "tool_calls" in chunk["choices"][0]["delta"]]
        assert all(chunk["choices"][0]["finish_reason"] is None for chunk in chunks)
        assert server.metric("strictcall_requests_total", api="chat", status="500") == 1


async def test_a_stream_that_fails_before_its_first_event_has_a_status(vocabulary: Vocabulary) -> None:
    """The engine's first output was also its last, so nothing was sent yet."""
    async with serving(vocabulary, always(vocabulary, TWICE, size=1000)) as server:
        response = await server.post(tools=[TAG], stream=True, strictcall=ERROR)

    assert (response.status_code, response.headers["x-should-retry"]) == (500, "false")


async def test_one_wrong_choice_fails_the_others(vocabulary: Vocabulary) -> None:
    """An answer of which a part is missing is no answer; all of its generations are ended."""
    texts = [TWICE, "A long story. " * 50]
    scripts = [script(vocabulary, text) for text in texts]
    async with serving(vocabulary, lambda asked: scripts[int(asked.request_id[-1])]) as server:
        response = await server.post(tools=[TAG], n=2, strictcall=ERROR)

        assert response.json()["error"]["code"] == "schema_violation"
        assert [asked.ending for asked in server.engine.asked if asked.request_id.endswith("1")] == [
            Ending.CLOSED
        ]
        assert server.metric("strictcall_aborts_total", cause="failure") == 2
        assert server.metric("strictcall_aborts_total", cause="disconnect") == 0


async def test_a_loose_call_outside_its_schema_is_given_and_counted(vocabulary: Vocabulary) -> None:
    """Without `strict` nothing was promised."""
    async with serving(vocabulary, always(vocabulary, call("look", {"town": 1}))) as server:
        [answer] = await server.answers(tools=[LOOK])

        assert answer == Told(calls=(("look", '{"town": 1}'),), finish="tool_calls")
        assert server.metric("strictcall_schema_violations_total", keyword="required") == 2


@pytest.mark.parametrize(
    ("tools", "text", "whole"),
    [
        pytest.param([TAG], ONCE, True, id="held until it is checked"),
        pytest.param([tool("look", CITY, strict=True)], CALL, False, id="exactly masked"),
        pytest.param([LOOK], CALL, False, id="masked as an object"),
    ],
)
async def test_a_call_comes_in_pieces_if_the_mask_holds_it(
    vocabulary: Vocabulary, tools: list[Any], text: str, *, whole: bool
) -> None:
    """What still has to be checked comes whole, with its name, in one event."""
    async with serving(vocabulary, always(vocabulary, text)) as server:
        chunks = await server.stream(tools=tools)

    calls = [each for chunk in chunks for each in chunk["choices"][0]["delta"].get("tool_calls", [])]
    pieces = [each["function"]["arguments"] for each in calls]
    assert (len(pieces) == 2) is whole
    assert pieces[0] == ""
    assert all(pieces[1:])
    assert json.loads("".join(pieces)) == json.loads(
        text.split('"arguments": ')[1].removesuffix("}\n</tool_call>")
    )


async def test_an_answer_outside_its_strict_schema_is_an_error(vocabulary: Vocabulary) -> None:
    """The same promise as for calls; a loose one is given and counted."""
    for strict, status in ((True, 500), (False, 200)):
        wanted = {"type": "json_schema", "json_schema": {"name": "out", "schema": TAGS, "strict": strict}}
        async with serving(vocabulary, always(vocabulary, '{"tags": ["a", "a"]}')) as server:
            response = await server.post(response_format=wanted, strictcall=ERROR if strict else None)

            assert response.status_code == status
            assert server.metric("strictcall_schema_violations_total", keyword="uniqueItems") == 1
