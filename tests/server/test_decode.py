"""Rules of decoding: every field reaches the request, contradictions are refused, nothing is a crash."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import BadRequestError, OpenAI, pydantic_function_tool
from pydantic import BaseModel

from server.api.body_errors import read_body
from server.api.chat_request import ChatRequestBody
from server.api.decode import MAX_IGNORED, DecodedChat, decode_chat
from server.errors import ApiError
from server.request import FreeText, JsonSchema, Message, Mode, Request, SamplingParams, ToolChoice

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

    assert (decoded.stream, decoded.include_usage, decoded.include_reasoning) == (True, True, False)


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({}, {}),
        ({"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        ({"chat_template_kwargs": {"enable_thinking": False}}, {"enable_thinking": False}),
        (
            {"reasoning_effort": "low", "chat_template_kwargs": {"reasoning_effort": "high", "x": 1}},
            {"reasoning_effort": "high", "x": 1},
        ),
    ],
)
def test_template_arguments(fields: dict[str, Any], arguments: dict[str, Any]) -> None:
    """The effort is an argument of the template (B012); what the client gives the template itself wins."""
    assert decode(**fields).request.template_arguments == arguments


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
    """Unknown fields are no fault (B248, B089), and those that say something are named once for the log."""
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


def test_the_schema_of_a_tool_is_not_touched() -> None:
    """Schemas go on as the client wrote them, key order included; they are checked later."""
    schema = {"type": "strnig", "z": 1, "a": {"$ref": "#/nowhere"}}
    request = decode(tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}]).request

    assert json.dumps(request.tools[0].parameters) == json.dumps(schema)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**4000)])
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(
        ["auto", "function", "text", "json_schema", "allowed_tools", "user", "tool", "f", "\ud800"]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "function", "name", "tools", "schema", "json", "\ud800", ""]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FULL: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": "b", "name": "ann"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "c"},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "d"},
    ],
    "tools": [TOOL],
    "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}},
    "functions": None,
    "function_call": None,
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}},
    "structured_outputs": None,
    "stream": True,
    "stream_options": {"include_usage": True},
    "logprobs": True,
    "top_logprobs": 2,
    "logit_bias": {"1": 1},
    "stop": ["x"],
    "metadata": {"a": "b"},
    "chat_template_kwargs": {"a": 1},
    "prediction": {"type": "content", "content": "x"},
}


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every part of a JSON value."""
    yield place
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, (*place, key))


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A copy of the value with another part at the place."""
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy


def outcome(body: Any) -> DecodedChat | ApiError:
    try:
        return decode_chat(read_body(ChatRequestBody, body))
    except ApiError as error:
        return error


FIELDS = sorted(ChatRequestBody.model_fields.keys())
ALIASES = st.sampled_from(FIELDS) | st.text(max_size=5)


@settings(max_examples=300, deadline=None)
@given(
    places_=st.lists(st.sampled_from(sorted(places(FULL), key=str)), max_size=3),
    fields=st.dictionaries(ALIASES, JSON, max_size=3),
    values=st.lists(JSON, min_size=3, max_size=3),
)
def test_any_json_is_a_request_or_a_fault_of_the_client(
    places_: list[tuple[Any, ...]], fields: dict[str, Any], values: list[Any]
) -> None:
    """Whatever stands wherever in a body, it is decoded, or refused with a short 4xx that can be sent."""
    body: Any = FULL
    for place, value in zip(places_, values, strict=False):
        if any(place[: len(other)] == other and place != other for other in places_):
            continue
        body = replaced(body, place, value)
    body = {**body, **fields} if isinstance(body, dict) else body
    result = outcome(body)

    if isinstance(result, ApiError):
        assert 400 <= result.status < 500
        assert 0 < len(result.message) <= 1000
        json.dumps(result.body(), ensure_ascii=False).encode()
    else:
        # What later steps do with these: send them on as JSON.
        json.dumps([result.request.template_arguments, result.ignored], ensure_ascii=False).encode()


@contextmanager
def sdk(bodies: list[Any]) -> Iterator[OpenAI]:
    """The official SDK, with a server that notes each body and refuses it, so that nothing is retried."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(400, json={"error": {"message": "", "type": "", "param": None, "code": None}})

    with OpenAI(
        api_key="x",
        base_url="http://test/v1",
        http_client=httpx2.Client(transport=httpx2.MockTransport(respond)),
    ) as client:
        yield client


class Stock(BaseModel):
    """How many."""

    sku: str
    count: int | None = None


SDK_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "frequency_penalty": st.floats(-2, 2),
        "logit_bias": st.dictionaries(st.integers(0, 50_000).map(str), st.integers(-100, 100), max_size=3),
        "max_completion_tokens": st.none() | st.integers(1, 10**6),
        "max_tokens": st.integers(1, 10**6),
        "metadata": st.none() | st.dictionaries(st.text(max_size=64), st.text(max_size=512), max_size=4),
        "modalities": st.just(["text"]),
        "n": st.integers(1, 16),
        "parallel_tool_calls": st.booleans(),
        "prediction": st.just({"type": "content", "content": [{"type": "text", "text": "x"}]}),
        "presence_penalty": st.none() | st.floats(-2, 2),
        "prompt_cache_key": st.text(max_size=8),
        "reasoning_effort": st.sampled_from(
            [None, "none", "minimal", "low", "medium", "high", "xhigh", "max"]
        ),
        "response_format": st.sampled_from([{"type": "text"}, {"type": "json_object"}]),
        "safety_identifier": st.text(max_size=64),
        "seed": st.integers(-(2**63), 2**63 - 1),
        "service_tier": st.sampled_from([None, "auto", "default", "flex", "scale", "priority"]),
        "stop": st.none() | st.text(min_size=1) | st.lists(st.text(min_size=1), min_size=1, max_size=4),
        "store": st.booleans(),
        "temperature": st.none() | st.floats(0, 2),
        "tools": st.just([pydantic_function_tool(Stock), {"type": "function", "function": {"name": "f"}}]),
        "top_p": st.floats(0, 1),
        "user": st.text(max_size=8),
        "verbosity": st.sampled_from(["low", "medium", "high"]),
    },
)


@settings(max_examples=100, deadline=None)
@given(fields=SDK_FIELDS)
def test_bodies_of_the_official_sdk_decode(fields: dict[str, Any]) -> None:
    """What the official SDK sends for legal arguments is a request."""
    bodies: list[Any] = []
    with sdk(bodies) as client, pytest.raises(BadRequestError):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], **fields)
    request = decode_chat(read_body(ChatRequestBody, bodies[0])).request

    assert len(request.tools) == (2 if "tools" in fields else 0)
    assert request.sampling.seed == fields.get("seed")


def test_parse_of_the_official_sdk_decodes() -> None:
    """`.parse()` sends a strict schema and strict tools; all of it arrives."""
    bodies: list[Any] = []
    with sdk(bodies) as client, pytest.raises(BadRequestError):
        client.chat.completions.parse(
            model="m",
            messages=[{"role": "user", "content": "Hi"}],
            response_format=Stock,
            tools=[pydantic_function_tool(Stock)],
        )
    request = decode_chat(read_body(ChatRequestBody, bodies[0])).request

    assert isinstance(request.answer_format, JsonSchema)
    assert (request.answer_format.name, request.answer_format.strict) == ("Stock", True)
    assert [(tool.name, tool.strict) for tool in request.tools] == [("Stock", True)]


def test_stream_of_the_official_sdk_decodes() -> None:
    """`.stream()` sends what it needs to be told of usage."""
    bodies: list[Any] = []
    messages: list[Any] = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    with (
        sdk(bodies) as client,
        pytest.raises(BadRequestError),
        client.chat.completions.stream(model="m", messages=messages, stream_options={"include_usage": True}),
    ):
        pass
    decoded = decode_chat(read_body(ChatRequestBody, bodies[0]))

    assert (decoded.stream, decoded.include_usage) == (True, True)
