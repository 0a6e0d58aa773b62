"""Rules of the errors about a body: OpenAI's codes and words, the client's paths, and bounded size."""

import json
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from server.api.body_errors import body_error, client_path, read_body
from server.api.chat.request import ChatRequestBody
from server.api.chat.tools import FunctionTool
from server.errors import ApiError

USER = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f"}}


def refused(**fields: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        read_body(ChatRequestBody, {"model": "m", "messages": [USER], **fields})
    assert caught.value.status == 400
    return caught.value


SENTENCES = {
    "missing": (
        {"tools": [{}]},
        "missing_required_parameter",
        "tools[0].type",
        "Missing required parameter: 'tools[0].type'.",
    ),
    "missing_member_of_a_union": (
        {"messages": [{"content": "Hi"}]},
        "missing_required_parameter",
        "messages[0].role",
        "Missing required parameter: 'messages[0].role'.",
    ),
    "wrong_type": (
        {"temperature": "1"},
        "invalid_type",
        "temperature",
        "Invalid type for 'temperature': expected a number, but got a string instead.",
    ),
    "wrong_kind_of_a_union": (
        {"messages": [{"role": "user", "content": 5}]},
        "invalid_type",
        "messages[0].content",
        (
            "Invalid type for 'messages[0].content': expected a string or an array of objects, "
            "but got an integer instead."
        ),
    ),
    "not_an_object": (
        {"response_format": "json"},
        "invalid_type",
        "response_format",
        "Invalid type for 'response_format': expected an object, but got a string instead.",
    ),
    "a_literal_of_the_wrong_type": (
        {"verbosity": 3},
        "invalid_type",
        "verbosity",
        "Invalid type for 'verbosity': expected 'low', 'medium', or 'high', but got an integer instead.",
    ),
    "null_in_a_list": (
        {"stop": [None]},
        "invalid_type",
        "stop[0]",
        "Invalid type for 'stop[0]': expected a string, but got null instead.",
    ),
    "unknown_value": (
        {"tool_choice": "any"},
        "invalid_value",
        "tool_choice",
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
    ),
    "unknown_member_of_a_union": (
        {"response_format": {"type": "xml"}},
        "invalid_value",
        "response_format.type",
        "Invalid value: 'xml'. Supported values are: 'text', 'json_object', and 'json_schema'.",
    ),
    "only_one_value": (
        {"prediction": {"type": "diff", "content": "a"}},
        "invalid_value",
        "prediction.type",
        "Invalid value: 'diff'. Supported values are: 'content'.",
    ),
    "integer_too_small": (
        {"max_tokens": 0},
        "integer_below_min_value",
        "max_tokens",
        "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ),
    "integer_too_large": (
        {"seed": 2**63},
        "integer_above_max_value",
        "seed",
        (
            "Invalid 'seed': integer above maximum value. "
            "Expected a value <= 9223372036854775807, but got 9223372036854775808 instead."
        ),
    ),
    "decimal_too_small": (
        {"frequency_penalty": -2.5},
        "decimal_below_min_value",
        "frequency_penalty",
        (
            "Invalid 'frequency_penalty': decimal below minimum value. "
            "Expected a value >= -2, but got -2.5 instead."
        ),
    ),
    "decimal_too_large": (
        {"temperature": 3},
        "decimal_above_max_value",
        "temperature",
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ),
    "string_too_long": (
        {"safety_identifier": "x" * 129},
        "string_above_max_length",
        "safety_identifier",
        (
            "Invalid 'safety_identifier': string too long. "
            "Expected a string with maximum length 128, but got a string with length 129 instead."
        ),
    ),
    "string_too_short": (
        {"model": ""},
        "string_below_min_length",
        "model",
        (
            "Invalid 'model': empty string. "
            "Expected a string with minimum length 1, but got an empty string instead."
        ),
    ),
    "pattern": (
        {"tools": [TOOL, {"type": "function", "function": {"name": "a.b"}}]},
        "invalid_value",
        "tools[1].function.name",
        (
            "Invalid 'tools[1].function.name': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$', but got 'a.b' instead."
        ),
    ),
    "array_too_long": (
        {"stop": ["x"] * 5},
        "array_above_max_length",
        "stop",
        (
            "Invalid 'stop': array too long. "
            "Expected an array with maximum length 4, but got an array with length 5 instead."
        ),
    ),
    "array_empty": (
        {"messages": []},
        "empty_array",
        "messages",
        (
            "Invalid 'messages': empty array. "
            "Expected an array with minimum length 1, but got an empty array instead."
        ),
    ),
    "object_too_large": (
        {"metadata": {str(i): "" for i in range(17)}},
        "invalid_value",
        "metadata",
        (
            "Invalid 'metadata': too many properties. "
            "Expected an object with at most 16 properties, but got one with 17 instead."
        ),
    ),
    "unsupported_value": (
        {"modalities": ["text", "audio"]},
        "unsupported_value",
        "modalities[1]",
        (
            "Unsupported value: 'modalities[1]' does not support 'audio'. "
            "This server answers in text only. Leave it out, or ask for ['text']."
        ),
    ),
    "unsupported_parameter": (
        {"web_search_options": {}},
        "unsupported_parameter",
        "web_search_options",
        (
            "Unsupported parameter: 'web_search_options'. "
            "This server cannot search. Give the model a tool that does."
        ),
    ),
    "half_a_character": (
        {"user": "\ud83d"},
        "invalid_value",
        "user",
        (
            "Invalid 'user': half of a surrogate pair (such as \\ud83d alone) is not text. "
            "Send whole characters."
        ),
    ),
    "not_a_number": (
        {"chat_template_kwargs": {"a": [float("nan")]}},
        "invalid_value",
        "chat_template_kwargs.a[0]",
        "Invalid 'chat_template_kwargs.a[0]': NaN and Infinity are not numbers of JSON.",
    ),
}


@pytest.mark.parametrize(("fields", "code", "param", "message"), SENTENCES.values(), ids=SENTENCES)
def test_a_fault_is_told_in_openais_words(
    fields: dict[str, Any], code: str, param: str, message: str
) -> None:
    """Each fault has OpenAI's code, the client's path to it, and a sentence that says what was expected."""
    error = refused(**fields)

    assert (error.kind.code, error.param, error.message) == (code, param, message)


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ((), ""),
        (("model",), "model"),
        (("messages", 0, "|user", "content", "|array", 1, "text"), "messages[0].content[1].text"),
        (("logit_bias", "x", "[key]"), "logit_bias.x"),
    ],
)
def test_a_path_is_free_of_what_the_client_did_not_write(place: tuple[str | int, ...], path: str) -> None:
    """Union tags and pydantic's mark of a key are left out of the path."""
    assert client_path(place) == path


@pytest.mark.parametrize(
    ("body", "kind"),
    [(None, "null"), (3, "an integer"), ([], "an array"), ("x", "a string"), (True, "a boolean")],
)
def test_a_body_must_be_an_object(body: Any, kind: str) -> None:
    """A body that is another JSON value is refused, with no param, as there is none."""
    with pytest.raises(ApiError) as caught:
        read_body(ChatRequestBody, body)

    message = f"Invalid type for the request body: expected an object, but got {kind} instead."
    assert (caught.value.kind.code, caught.value.param, caught.value.message) == (
        "invalid_type",
        None,
        message,
    )


def test_the_first_of_many_faults_is_told() -> None:
    """Among several faults the one in the first field is reported."""
    assert refused(user=5, n="y", temperature="x").param == "temperature"


def test_an_error_stays_small_for_a_large_body() -> None:
    """A body with thousands of faults, or one huge value, makes a short error."""
    many = refused(messages=[{"role": "x" * 100_000}] * 1000)
    huge = refused(seed=10**4999)
    key = refused(metadata={"k" * 100_000: ""})

    assert [len(json.dumps(error.body())) < 1500 for error in (many, huge, key)] == [True, True, True]
    assert many.param == "messages[0].role"
    assert "a number of more than 80 digits" in huge.message


@pytest.mark.parametrize("field", ["tools", "chat_template_kwargs", "unknown", "messages"])
def test_a_body_nested_too_deeply_is_refused(field: str) -> None:
    """Endless nesting is a fault of the body wherever it stands, found without recursion (B244)."""
    deep: Any = {}
    for _ in range(20_000):
        deep = {"n": [deep]}
    error = refused(**{field: deep})

    assert error.kind.code == "invalid_value"
    assert error.message.endswith("nested deeper than 200 levels.")
    assert error.param is not None
    assert error.param.startswith(field)


def test_nesting_that_schemas_need_is_taken() -> None:
    """Schemas of dozens of levels are no fault of the body."""
    deep: Any = {}
    for _ in range(90):
        deep = {"properties": {"n": deep}}
    tool = {"type": "function", "function": {"name": "f", "parameters": deep}}
    body = read_body(ChatRequestBody, {"model": "m", "messages": [USER], "tools": [tool]})

    assert body.tools is not None
    [read] = body.tools
    assert isinstance(read, FunctionTool)
    assert read.function.parameters == deep


def test_an_error_can_always_be_encoded() -> None:
    """A key that is half a character is named by a placeholder, so that the error is text."""
    error = refused(**{"\ud83d": 1})

    assert (error.param, json.dumps(error.body(), ensure_ascii=False).encode()[:1]) == ("?", b"{")


def test_an_unforeseen_fault_still_names_its_place() -> None:
    """A fault that we have no sentence for is told in pydantic's words."""
    error = body_error([{"type": "url_parsing", "loc": ("body", "a", 0), "msg": "Not a URL", "input": "x"}])

    assert (error.kind.code, error.param, error.message) == (
        "invalid_value",
        "a[0]",
        "Invalid 'a[0]': Not a URL.",
    )


async def post(content: bytes) -> dict[str, Any]:
    """What FastAPI makes of a body, told by `body_error`."""
    app = FastAPI()

    @app.exception_handler(RequestValidationError)
    async def refuse(_request: HttpRequest, exc: Exception) -> Response:
        assert isinstance(exc, RequestValidationError)
        return JSONResponse(body_error(exc.errors()).body()["error"])

    @app.post("/")
    async def chat(body: ChatRequestBody) -> dict[str, str]:
        return {"model": body.model}

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        answer = await client.post("/", content=content, headers={"content-type": "application/json"})
    decoded: dict[str, Any] = answer.json()
    return decoded


@pytest.mark.parametrize(
    ("content", "code", "param"),
    [
        (b"{", None, None),
        (b'{"model": NaN', None, None),
        (b"", "missing_required_parameter", None),
        (b"[]", "invalid_type", None),
        (b"{}", "missing_required_parameter", "model"),
        (
            b'{"model": "m", "messages": [{"role": "user"}]}',
            "missing_required_parameter",
            "messages[0].content",
        ),
        (b'{"model": "m", "messages": [], "user": "\\ud83d"}', "invalid_value", "user"),
    ],
)
async def test_faults_that_fastapi_reports_are_told_the_same_way(
    content: bytes, code: str | None, param: str | None
) -> None:
    """Behind FastAPI a path does not begin with `body`; bytes that are not JSON have OpenAI's null code."""
    error = await post(content)

    assert (error["code"], error["param"], error["type"]) == (code, param, "invalid_request_error")
