"""The application as a client meets it: errors in one form, headers on all, and a true description."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
import pytest
from fastapi import FastAPI
from starlette.responses import StreamingResponse
from starlette.types import Message

from server.app import create_app
from server.config.settings import Settings
from server.engine.protocol import EngineError, MaskTooSlowError
from server.errors import ApiError, Code
from tests.server.shell import IdleEngine, client_of, make_context

FAULTS: dict[str, Exception] = {
    "api": ApiError(Code.OVERLOADED, "Too busy.", "n", headers={"retry-after": "3"}),
    "mask": MaskTooSlowError("The mask of the request took too long."),
    "engine": EngineError("CUDA error at 0xdeadbeef"),
    "unexpected": KeyError("/etc/shadow"),
}


async def fail(body: dict[str, Any]) -> None:
    """Fail as the body says."""
    raise FAULTS[body["fault"]]


async def stream() -> StreamingResponse:
    """Fail when the response has begun."""

    async def pieces() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        raise FAULTS["unexpected"]

    return StreamingResponse(pieces(), media_type="text/event-stream")


def make_app(settings: Settings | None = None, engine: IdleEngine | None = None) -> FastAPI:
    app = create_app(make_context(settings, engine=engine))
    app.add_api_route("/v1/fail", fail, methods=["POST"])
    app.add_api_route("/v1/stream", stream)
    return app


@pytest.fixture(name="client")
async def _client() -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(make_app()) as client:
        yield client


REQUESTS: dict[str, tuple[str, str, bytes, int, str | None, str]] = {
    "unknown url": ("GET", "/nowhere", b"", 404, "unknown_url", "Unknown request URL: GET /nowhere."),
    "url without /v1": ("GET", "/models", b"", 404, "unknown_url", "Did you mean /v1/models?"),
    "url with a slash too many": ("GET", "/v1//models", b"", 404, "unknown_url", "Did you mean /v1/models?"),
    "url misspelt": ("GET", "/v1/modles", b"", 404, "unknown_url", "Did you mean /v1/models?"),
    "wrong method": ("DELETE", "/v1/models", b"", 405, "method_not_allowed", "This URL takes GET."),
    "unknown model": (
        "GET",
        "/v1/models/a/b",
        b"",
        404,
        "model_not_found",
        "The model 'a/b' does not exist.",
    ),
    "not json": ("POST", "/v1/fail", b'{"fault":', 400, None, "We could not parse the JSON body"),
    "not utf-8": ("POST", "/v1/fail", b'{"\xff": 1}', 400, None, "We could not parse the JSON body"),
    "too deep": ("POST", "/v1/fail", b"[" * 100_000, 400, None, "We could not parse the JSON body"),
    "a number too long": ("POST", "/v1/fail", b"9" * 5000, 400, None, "We could not parse the JSON body"),
    "wrong type": ("POST", "/v1/fail", b"[]", 400, "invalid_type", "expected an object"),
    "no body": ("POST", "/v1/fail", b"", 400, "missing_required_parameter", "Send a JSON object"),
    "too large": ("POST", "/v1/fail", b" " * (8 * 2**20 + 1), 413, "request_too_large", "--max-body-bytes"),
    "engine error": ("POST", "/v1/fail", b'{"fault": "engine"}', 500, "engine_error", "You can retry it."),
    "slow mask": ("POST", "/v1/fail", b'{"fault": "mask"}', 400, "mask_too_slow", "in ever more ways"),
    "own error": ("POST", "/v1/fail", b'{"fault": "api"}', 503, "server_is_overloaded", "Too busy."),
    "bug": ("POST", "/v1/fail", b'{"fault": "unexpected"}', 500, "internal_error", "under request id req_"),
}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "message"), REQUESTS.values(), ids=REQUESTS.keys()
)
async def test_every_error_has_openais_form_and_headers(
    method: str,
    path: str,
    body: bytes,
    status: int,
    code: str | None,
    message: str,
    client: httpx2.AsyncClient,
) -> None:
    """Whatever goes wrong, the body has the four keys, and the response the three headers (fault B219)."""
    response = await client.request(method, path, content=body)

    error = response.json()["error"]
    assert response.status_code == status
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == code
    assert message in error["message"]
    assert response.headers["x-request-id"].startswith("req_")
    assert response.headers["openai-processing-ms"].isdecimal()
    assert response.headers["openai-version"] == "2020-10-01"


async def test_an_errors_own_headers_and_place_are_kept(client: httpx2.AsyncClient) -> None:
    """What the raiser said of retries and of the parameter reaches the client."""
    response = await client.post("/v1/fail", json={"fault": "api"})

    assert response.headers["retry-after"] == "3"
    assert response.json()["error"]["param"] == "n"


@pytest.mark.parametrize("fault", ["engine", "unexpected"])
async def test_internals_are_logged_and_not_told(
    fault: str, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """The client gets an id, the log the stack."""
    response = await client.post("/v1/fail", json={"fault": fault})

    secret = str(FAULTS[fault]).strip("'")
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert secret not in response.text
    assert record.exc_info is not None
    assert record.exc_info[1] is FAULTS[fault]


async def test_an_error_on_purpose_leaves_no_text_in_the_log(
    client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """The message of an `ApiError` may quote the model or the user, so the log has its code only."""
    with caplog.at_level(logging.DEBUG):
        await client.post("/v1/fail", json={"fault": "api"})

    assert "Too busy." not in caplog.text
    assert "server_is_overloaded" in [getattr(record, "fields", {}).get("code") for record in caplog.records]


async def test_a_stream_that_fails_is_broken_off() -> None:
    """Once a response has begun there is no other status: it ends without its end, which clients notice."""
    sent: list[Message] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "method": "GET",
        "path": "/v1/stream",
        "query_string": b"",
        "headers": [],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await make_app()(scope, receive, send)

    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[-1]["more_body"] is True


async def test_a_dead_engine_is_a_503(client: httpx2.AsyncClient) -> None:
    """Clients may try again elsewhere; the message says what has to be done here."""
    engine = IdleEngine()
    engine.dead = True
    async with client_of(make_app(engine=engine)) as doomed:
        response = await doomed.get("/ready")

    assert response.status_code == 503
    assert response.json()["error"]["code"] == "engine_dead"


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "nonsense"])
async def test_a_body_is_json_whatever_it_is_called(content_type: str, client: httpx2.AsyncClient) -> None:
    """Curl and simple clients forget the header; there is no other kind of body here."""
    response = await client.post(
        "/v1/fail", content=b'{"fault": "api"}', headers={"content-type": content_type}
    )

    assert response.status_code == 503


async def test_the_sdk_reads_errors_as_its_own_classes() -> None:
    """The official client finds class, code, param and request id."""
    async with client_of(make_app()) as http:
        sdk = openai.AsyncOpenAI(
            base_url="http://strictcall.test/v1", api_key="none", http_client=http, max_retries=0
        )
        with pytest.raises(openai.NotFoundError) as failure:
            await sdk.models.retrieve("nope")

    assert (failure.value.code, failure.value.param) == ("model_not_found", "model")
    assert str(failure.value.request_id).startswith("req_")


async def test_the_description_tells_errors_as_they_are() -> None:
    """Every operation describes the error body of its API, and none FastAPI's 422, which is never sent."""
    async with client_of(create_app(make_context())) as client:
        description = (await client.get("/openapi.json")).json()

    operations = [(path, each) for path, methods in description["paths"].items() for each in methods.values()]
    assert len({operation["operationId"] for _, operation in operations}) == len(operations) >= 8
    for path, operation in operations:
        form = "MessagesErrorBody" if path.startswith("/v1/messages") else "ErrorBody"
        body = {"$ref": f"#/components/schemas/{form}"}
        responses = operation["responses"]
        assert "422" not in responses
        assert responses["4XX"]["content"]["application/json"]["schema"] == body
        assert responses["5XX"]["content"]["application/json"]["schema"] == body


async def test_the_description_has_both_forms_of_a_chat_answer() -> None:
    """JSON with a schema, and the stream: a client made from the description expects what comes."""
    async with client_of(create_app(make_context())) as client:
        description = (await client.get("/openapi.json")).json()

    content = description["paths"]["/v1/chat/completions"]["post"]["responses"]["200"]["content"]
    assert content["application/json"]["schema"] == {"$ref": "#/components/schemas/ChatCompletionBody"}
    assert content["text/event-stream"]["itemSchema"]["required"] == ["data"]


async def test_the_description_asks_for_a_key_where_one_is_needed() -> None:
    """With a key set, all but the open paths say so; without one, none does."""
    app = create_app(make_context(Settings(api_key=("k",))))
    async with client_of(app, headers={"authorization": "Bearer k"}) as client:
        paths = (await client.get("/openapi.json")).json()["paths"]

    secured = {path for path, item in paths.items() if any("security" in each for each in item.values())}
    assert secured == set(paths) - {"/health", "/ready", "/metrics", "/version"}


async def test_web_pages_may_not_call_by_default(client: httpx2.AsyncClient) -> None:
    """Without the setting there is no CORS header, so browsers refuse."""
    response = await client.get("/v1/models", headers={"origin": "http://page.test"})

    assert "access-control-allow-origin" not in response.headers


async def test_web_pages_of_a_named_origin_may_call() -> None:
    """With the setting, the preflight needs no key and answers, errors included, can be read."""
    settings = Settings(cors_origin=("http://page.test",), api_key=("k",))
    async with client_of(make_app(settings), headers={"origin": "http://page.test"}) as client:
        preflight = await client.options("/v1/models", headers={"access-control-request-method": "GET"})
        refused = await client.get("/v1/models")

    assert (preflight.status_code, refused.status_code) == (200, 401)
    assert refused.headers["access-control-allow-origin"] == "http://page.test"
    assert "x-request-id" in refused.headers["access-control-expose-headers"]


async def test_the_application_closes_its_engine() -> None:
    """When the server stops, the engine's processes and the metrics' files go with it."""
    engine = IdleEngine()
    app = make_app(engine=engine)
    directory = app.state.context.metrics.engine_directory

    async with app.router.lifespan_context(app):
        assert directory.exists()

    assert engine.closed
    assert not directory.exists()
