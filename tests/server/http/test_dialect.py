"""Errors, keys and ids in the form of each API's own clients."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from server.app import create_app
from server.config.settings import Settings
from server.errors import ApiError, Code
from server.http.dialect import ANTHROPIC, OPENAI, dialect_of
from tests.server.shell import client_of, make_context

APP = create_app(make_context(Settings(api_key=("k-7f",))))


@pytest.fixture(name="client")
async def _client() -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(APP) as client:
        yield client


@pytest.mark.parametrize(
    ("code", "status", "type_"),
    [
        (Code.INVALID_VALUE, 400, "invalid_request_error"),
        (Code.INVALID_KEY, 401, "authentication_error"),
        (Code.MODEL_NOT_FOUND, 404, "not_found_error"),
        (Code.METHOD_NOT_ALLOWED, 405, "invalid_request_error"),
        (Code.BODY_TOO_LARGE, 413, "request_too_large"),
        (Code.SCHEMA_VIOLATION, 500, "api_error"),
        (Code.ENGINE_DEAD, 503, "api_error"),
        (Code.ENGINE_RESTARTING, 529, "overloaded_error"),
        (Code.OVERLOADED, 529, "overloaded_error"),
    ],
)
def test_anthropic_has_its_own_types(code: Code, status: int, type_: str) -> None:
    """Anthropic's clients tell errors apart by these words, and know 529 where OpenAI's know 503."""
    error = ApiError(code, "Why.", "n")

    assert ANTHROPIC.status(error) == status
    assert ANTHROPIC.error_body(error, "req_1") == {
        "type": "error",
        "error": {"type": type_, "message": "n: Why."},
        "request_id": "req_1",
    }


def test_a_field_is_named_once() -> None:
    """Anthropic's form has no `param`; most messages name their field by themselves."""
    error = ApiError(Code.INVALID_VALUE, "Invalid 'tools[0].name': no.", "tools[0].name")

    assert ANTHROPIC.error_body(error, "req_1")["error"]["message"] == error.message


def test_other_apis_speak_openai() -> None:
    """Whatever is not known to be another's is in OpenAI's form, made-up paths included."""
    assert [dialect_of(api) for api in ("chat", "other", "messages")] == [OPENAI, OPENAI, ANTHROPIC]


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/v1/messages/nowhere", {"x-api-key": "k-7f"}, 404),
        ("/v1/messages/nowhere", {"authorization": "Bearer k-7f"}, 404),
        ("/v1/messages/nowhere", {"x-api-key": "k-7f", "authorization": "Bearer wrong"}, 404),
        ("/v1/messages/nowhere", {"x-api-key": "wrong", "authorization": "Bearer k-7f"}, 401),
        ("/v1/messages/nowhere", {"x-api-key": " "}, 401),
        ("/v1/messages/nowhere", {}, 401),
        ("/v1/models", {"x-api-key": "k-7f"}, 401),
    ],
)
async def test_keys_stand_where_the_api_has_them(
    client: httpx2.AsyncClient, path: str, header: dict[str, str], status: int
) -> None:
    """Anthropic's clients send `x-api-key`; other APIs know one place for a key only."""
    response = await client.get(path, headers=header)

    assert response.status_code == status


async def test_an_error_has_the_id_that_its_clients_look_for(client: httpx2.AsyncClient) -> None:
    """Anthropic's SDK reads `request-id`; the body has the same id."""
    response = await client.get("/v1/messages/nowhere", headers={"x-request-id": "mine-7"})

    assert response.json()["error"]["type"] == "authentication_error"
    assert "x-api-key" in response.json()["error"]["message"]
    assert [response.json()["request_id"], response.headers["request-id"]] == ["mine-7", "mine-7"]
    assert response.headers["x-request-id"] == "mine-7"
