"""The rule that what the official SDK sends is a request, from `create`, `parse` and `stream`."""

import json
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
from server.api.chat.decode import decode_chat
from server.api.chat.request import ChatRequestBody
from server.request import JsonSchema


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

    assert (decoded.request.stream, decoded.include_usage) == (True, True)
