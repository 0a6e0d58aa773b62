"""What the official SDKs rely on in a stream, and that a stream and a whole answer say the same."""

import json
from typing import Any

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Reasoning
from server.answering.observe import Usage
from server.answering.sequence import FinishReason, Step
from server.api.chat.encode import ChatResponse, ChatShape, ChatStream
from server.errors import ApiError, Code
from server.tokens.vocabulary import Vocabulary

USAGE = Usage(prompt=7, completion=5, reasoning=2, cached=3)
TWO_CALLS = [
    Step(0, (Content("Hi"), Content("."))),
    Step(0, (CallBegin(0, "f", "call_1"), CallArguments(0, '{"a": '))),
    Step(
        0,
        (CallArguments(0, "1}"), CallEnd(0), CallBegin(1, "g", "call_2"), CallArguments(1, "{}"), CallEnd(1)),
    ),
    Step(0, (), finish=FinishReason.TOOL_CALLS),
]


def shape(**changes: Any) -> ChatShape:
    return ChatShape(**{"id": "chatcmpl-1", "model": "m", "created": 5, **changes})


def stream(steps: list[Step], vocabulary: Vocabulary, *, n: int = 1, **changes: Any) -> list[dict[str, Any]]:
    encoder = ChatStream(shape(**changes), vocabulary, n=n)
    raw = encoder.open() + b"".join(map(encoder.encode, steps)) + encoder.close(USAGE)
    events = raw.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]


def whole(steps: list[Step], vocabulary: Vocabulary, *, n: int = 1, **changes: Any) -> dict[str, Any]:
    encoder = ChatResponse(shape(**changes), vocabulary, n=n)
    for step in steps:
        encoder.add(step)
    return encoder.body(USAGE)


def deltas(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]


def test_the_role_is_said_once_by_the_first_chunk_of_each_choice_in_order(vocabulary: Vocabulary) -> None:
    """The accumulators concatenate a repeated role, and index choices by arrival (rules 1 and 2)."""
    chunks = stream([Step(1, (Content("b"),)), Step(0, (Content("a"),))], vocabulary, n=2)

    assert [chunk["choices"][0]["index"] for chunk in chunks[:2]] == [0, 1]
    assert [delta.get("role") for delta in deltas(chunks)] == ["assistant", "assistant", None, None]


def test_a_call_begins_with_all_that_identifies_it(vocabulary: Vocabulary) -> None:
    """id, type, whole name and an empty arguments string come first and once (rules 3 to 6)."""
    calls = [
        delta["tool_calls"][0] for delta in deltas(stream(TWO_CALLS, vocabulary)) if "tool_calls" in delta
    ]
    first, second = calls[0], calls[3]

    assert first.pop("id") == "call_1"
    assert first == {"index": 0, "type": "function", "function": {"name": "f", "arguments": ""}}
    assert second["index"] == 1
    assert calls[1:3] == [
        {"index": 0, "function": {"arguments": '{"a": '}},
        {"index": 0, "function": {"arguments": "1}"}},
    ]


def test_one_chunk_per_choice_has_a_finish_reason_after_all_deltas(vocabulary: Vocabulary) -> None:
    """The end of a choice is a chunk of its own with an empty delta (rule 10)."""
    choices = [chunk["choices"][0] for chunk in stream(TWO_CALLS, vocabulary)]

    assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + ["tool_calls"]
    assert choices[-1]["delta"] == {}


def test_usage_is_the_last_chunk_and_only_when_asked_for(vocabulary: Vocabulary) -> None:
    """A chunk without choices surprises clients that did not ask for it (rules 11 and 12)."""
    asked = stream(TWO_CALLS, vocabulary, include_usage=True)
    unasked = stream(TWO_CALLS, vocabulary)

    assert asked[-1]["choices"] == []
    assert asked[-1]["usage"]["total_tokens"] == 12
    assert asked[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 3
    assert asked[-1]["usage"]["completion_tokens_details"]["reasoning_tokens"] == 2
    assert all(chunk["usage"] is None for chunk in asked[:-1])
    assert all(chunk["choices"] and "usage" not in chunk for chunk in unasked)


def test_every_chunk_names_the_same_answer(vocabulary: Vocabulary) -> None:
    """id, object, created and model never change within a stream."""
    heads = {
        tuple(chunk[key] for key in ("id", "object", "created", "model"))
        for chunk in stream(TWO_CALLS, vocabulary, include_usage=True)
    }

    assert heads == {("chatcmpl-1", "chat.completion.chunk", 5, "m")}


def test_a_whole_answer_folds_the_same_steps(vocabulary: Vocabulary) -> None:
    """Joined deltas are the message."""
    body = whole(TWO_CALLS, vocabulary)
    message = body["choices"][0]["message"]
    calls = message["tool_calls"]

    assert body["object"] == "chat.completion"
    assert body["choices"][0]["finish_reason"] == "tool_calls"
    assert message["content"] == "Hi."
    assert [call["function"] for call in calls] == [
        {"name": "f", "arguments": '{"a": 1}'},
        {"name": "g", "arguments": "{}"},
    ]
    assert [call["id"] for call in calls] == ["call_1", "call_2"]


@pytest.mark.parametrize(
    ("events", "content"), [((CallBegin(0, "f"), CallEnd(0)), None), ((), ""), ((Content("x"),), "x")]
)
def test_content_is_null_only_beside_calls(
    vocabulary: Vocabulary, events: tuple[Event, ...], content: str | None
) -> None:
    """An answer of calls alone has null content, an empty answer has an empty string."""
    message = whole([Step(0, events)], vocabulary)["choices"][0]["message"]

    assert message["content"] == content
    assert ("tool_calls" in message) == (content is None)


def test_reasoning_is_told_apart_and_can_be_left_out(vocabulary: Vocabulary) -> None:
    """Reasoning is never content, and `include_reasoning: false` drops it."""
    steps = [Step(0, (Reasoning("hm"), Content("x")))]

    assert whole(steps, vocabulary)["choices"][0]["message"]["reasoning_content"] == "hm"
    assert (
        "reasoning_content" not in whole(steps, vocabulary, include_reasoning=False)["choices"][0]["message"]
    )
    assert {"reasoning_content": "hm"} in deltas(stream(steps, vocabulary))
    assert {"reasoning_content": "hm"} not in deltas(stream(steps, vocabulary, include_reasoning=False))


def test_legacy_functions_are_answered_in_their_own_words(vocabulary: Vocabulary) -> None:
    """A request with `functions` gets `function_call`, and its own finish reason."""
    steps = [Step(0, (CallBegin(0, "f"), CallArguments(0, "{}"), CallEnd(0)), finish=FinishReason.TOOL_CALLS)]
    choice = whole(steps, vocabulary, legacy_functions=True)["choices"][0]

    assert choice["message"]["function_call"] == {"name": "f", "arguments": "{}"}
    assert choice["finish_reason"] == "function_call"
    assert deltas(stream(steps, vocabulary, legacy_functions=True))[1:3] == [
        {"function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": "{}"}},
    ]


def test_an_error_in_a_stream_is_an_event_that_the_sdks_raise() -> None:
    """The error object is nested under `error`, and the stream ends as any other."""
    raw = ChatStream.fail(ApiError(Code.ENGINE_DEAD, "gone")).decode()

    assert json.loads(raw.split("\n\n")[0].removeprefix("data: "))["error"] == {
        "message": "gone",
        "type": "server_error",
        "param": None,
        "code": "engine_dead",
    }
    assert raw.endswith("data: [DONE]\n\n")


def test_pieces_of_one_step_become_one_delta(vocabulary: Vocabulary) -> None:
    """A step of several tokens costs one chunk a kind."""
    step = Step(
        0, (Content("a"), Content("b"), CallBegin(0, "f"), CallArguments(0, "{"), CallArguments(0, "}"))
    )

    found = deltas(stream([step], vocabulary))

    assert found[1] == {"content": "ab"}
    assert found[3:] == [{"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}]


HARD = 'a "quote", a \\, \n\r\t\x00\x1f\x7f, é, \u2028, 😀, </script>'


@pytest.mark.parametrize(
    ("event", "legacy", "delta"),
    [
        (Content(HARD), False, {"content": HARD}),
        (Reasoning(HARD), False, {"reasoning_content": HARD}),
        (CallArguments(3, HARD), False, {"tool_calls": [{"index": 3, "function": {"arguments": HARD}}]}),
        (CallArguments(3, HARD), True, {"function_call": {"arguments": HARD}}),
    ],
)
def test_any_text_of_a_token_can_be_told(
    vocabulary: Vocabulary, event: Event, legacy: bool, delta: dict[str, Any]
) -> None:
    """The chunks that come with every token are put together by hand; JSON must read the same of them."""
    chunks = stream([Step(0, (event,))], vocabulary, legacy_functions=legacy)

    assert deltas(chunks)[1] == delta
    assert {key: value for key, value in chunks[1]["choices"][0].items() if key != "delta"} == {
        "index": 0,
        "logprobs": None,
        "finish_reason": None,
    }
