"""The rule that no JSON value is an error of the server's: it is a request, or a fault of the client."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.body_errors import read_body
from server.api.chat.decode import DecodedChat, decode_chat
from server.api.chat.request import ChatRequestBody
from server.errors import ApiError

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
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
