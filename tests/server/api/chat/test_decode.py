"""Rules of decoding: every field reaches the request, contradictions are refused."""

import json
import re
from typing import Any

import pytest

from server.api.body_errors import read_body
from server.api.chat.decode import MAX_IGNORED, DecodedChat, decode_chat
from server.api.chat.request import ChatRequestBody
from server.errors import ApiError
from server.request import FreeText, Message, Mode, Request, SamplingParams, ToolChoice

USER = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def decode(**fields: Any) -> DecodedChat:
    return decode_chat(read_body(ChatRequestBody, {"model": "m", "messages": [USER], **fields}))


def refused(**fields: Any) -> tuple[str | None, str | None, str]:
    with pytest.raises(ApiError) as caught:
        decode(**fields)
    assert caught.value.status == 400
    return caught.value.kind.code, caught.value.param, caught.value.message


def test_the_smallest_request_has_every_default() -> None:
    """Model and messages are enough; the rest is OpenAI's default, or the model's own."""
    decoded = decode()
    request = decoded.request

    assert decoded == DecodedChat(request)
    assert request == Request(
        id=request.id,
        api="chat",
        model="m",
        messages=(Message("user", "Hi", "messages[0]"),),
        choice=ToolChoice(Mode.NONE),
        answer_format=FreeText(),
    )


def test_ids_are_openais_and_unique() -> None:
    """A request's id is `chatcmpl-` and 32 hexadecimal digits, never the same."""
    ids = {decode().request.id for _ in range(100)}

    assert len(ids) == 100
    assert all(re.fullmatch("chatcmpl-[0-9a-f]{32}", each) for each in ids)


def test_sampling_is_decoded() -> None:
    """Each number reaches the sampler by its own name."""
    numbers: dict[str, Any] = {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.1,
        "frequency_penalty": 1.0,
        "presence_penalty": -1.0,
        "repetition_penalty": 1.1,
        "seed": 7,
        "max_tokens": 5,
    }
    request = decode(**numbers, logit_bias={"15": -100, "7": 2}, n=2, stop=["a", "b"]).request

    assert request.sampling == SamplingParams(**numbers, logit_bias={15: -100.0, 7: 2.0})
    assert (request.n, request.stop) == (2, ("a", "b"))


def test_zero_is_not_absent() -> None:
    """A zero that the client sent is a value, not a default."""
    sampling = decode(temperature=0, top_p=0, top_k=0, seed=0, min_p=0).request.sampling

    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.seed, sampling.min_p) == (
        0,
        0,
        0,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("fields", "budget"),
    [
        ({}, None),
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 6}, 6),
        ({"max_tokens": 5, "max_completion_tokens": 6}, 6),
        ({"max_tokens": 5, "max_completion_tokens": None}, 5),
    ],
)
def test_max_completion_tokens_wins(fields: dict[str, Any], budget: int | None) -> None:
    """Both names of the budget work; the newer one wins."""
    assert decode(**fields).request.sampling.max_tokens == budget


@pytest.mark.parametrize(
    ("fields", "alternatives"),
    [
        ({}, None),
        ({"logprobs": False}, None),
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": 0}, 0),
        ({"logprobs": True, "top_logprobs": 20}, 20),
    ],
)
def test_logprobs_count_their_alternatives(fields: dict[str, Any], alternatives: int | None) -> None:
    """No logprobs, logprobs alone, and logprobs with alternatives are three things."""
    assert decode(**fields).request.sampling.logprobs == alternatives


def test_one_stop_string_is_a_list_of_one() -> None:
    """A stop may be one string."""
    assert decode(stop="ab").request.stop == ("ab",)


def test_the_shape_of_the_answer_is_decoded() -> None:
    """What the encoder must know travels beside the request."""
    decoded = decode(stream=True, stream_options={"include_usage": True}, include_reasoning=False)

    assert (decoded.request.stream, decoded.include_usage, decoded.include_reasoning) == (True, True, False)


def test_the_effort_and_the_template_arguments_are_decoded() -> None:
    """What the effort means to the template is found out later; what the client gives it goes as it is."""
    request = decode(reasoning_effort="none", chat_template_kwargs={"enable_thinking": True}).request

    assert request.reasoning_effort == "none"
    assert request.template_arguments == {"enable_thinking": True}
    assert (decode().request.reasoning_effort, decode().request.template_arguments) == (None, {})


def test_the_final_message_can_be_continued() -> None:
    """The wish to continue the last message reaches the renderer."""
    messages = [USER, {"role": "assistant", "content": "Dear"}]

    assert decode(messages=messages, continue_final_message=True).request.continue_final_message


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"top_logprobs": 5}, "top_logprobs"),
        ({"top_logprobs": 0, "logprobs": False}, "top_logprobs"),
        ({"stream_options": {}}, "stream_options"),
        ({"stream_options": {"include_usage": True}, "stream": False}, "stream_options"),
    ],
)
def test_an_option_needs_what_it_is_an_option_of(fields: dict[str, Any], param: str) -> None:
    """Options of logprobs and of streams are refused without them."""
    code, named, message = refused(**fields)

    assert (code, named) == ("invalid_value", param)
    assert "it is only allowed when" in message


def test_n_is_capped_by_the_server() -> None:
    """More choices than the server's setting are refused, and the message says how many it gives (B314)."""
    body = read_body(ChatRequestBody, {"model": "m", "messages": [USER], "n": 5})

    assert decode_chat(body, max_n=5).request.n == 5
    with pytest.raises(ApiError, match="Expected a value <= 4, but got 5") as caught:
        decode_chat(body, max_n=4)
    assert (caught.value.kind.code, caught.value.param) == ("integer_above_max_value", "n")


def test_fields_without_effect_are_no_fault() -> None:
    """What SDKs send for the hosted service is accepted (B006)."""
    decoded = decode(store=False, metadata={"a": "b"}, service_tier="auto", user="u1", verbosity="low")

    assert decoded == DecodedChat(decoded.request)


def test_unknown_fields_are_ignored_and_named() -> None:
    """Unknown fields are no fault (B248, B089), and those that say something are named once for the log.

    Fault B262.
    """
    messages = [{**USER, "cache_control": {}}, {"role": "assistant", "annotations": [], "audio": None}] * 3
    decoded = decode(
        messages=messages, guided_json={}, guided_decoding_backend="x", min_tokens=64, other=None
    )

    assert decoded.ignored == (
        "guided_json",
        "guided_decoding_backend",
        "min_tokens",
        "messages[].cache_control",
        "messages[].annotations",
    )


def test_what_is_said_of_ignored_fields_is_bounded() -> None:
    """Thousands of unknown fields with long names do not fill the log."""
    ignored = decode(**{f"{number}{'x' * 10_000}": 1 for number in range(1000)}).ignored

    assert (len(ignored), max(map(len, ignored)) <= 80) == (MAX_IGNORED, True)


def test_ignored_names_fit_on_a_line() -> None:
    """A client cannot write lines of its own into the log."""
    assert decode(**{"a\nERROR: b\x1b[2J": 1}).ignored == ("a?ERROR: b?[2J",)


def test_the_schema_of_a_tool_is_not_touched() -> None:
    """Schemas go on as the client wrote them, key order included; they are checked later."""
    schema = {"type": "strnig", "z": 1, "a": {"$ref": "#/nowhere"}}
    request = decode(tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}]).request

    assert json.dumps(request.tools[0].parameters) == json.dumps(schema)
