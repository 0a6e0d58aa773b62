"""The books of one exchange: id, headers, log line and metrics."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request

from server.app import create_app
from server.http.exchange import CLIENT_LEFT, api_of, exchange_of
from server.telemetry.logs import REQUEST_ID
from tests.server.shell import client_of, make_context


async def count(request: Request) -> dict[str, str | None]:
    """Do what an endpoint does that generates: tell the tokens."""
    exchange = exchange_of(request)
    exchange.prompt_tokens, exchange.completion_tokens = 211, 57
    return {"id": REQUEST_ID.get()}


@pytest.fixture(name="app")
def _app() -> FastAPI:
    app = create_app(make_context())
    app.add_api_route("/v1/count", count)
    return app


@pytest.fixture(name="client")
async def _client(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(app) as client:
        yield client


def series(app: FastAPI, name: str) -> list[str]:
    """The lines of one metric."""
    lines: list[str] = app.state.context.metrics.render().decode().splitlines()
    return [line for line in lines if line.startswith(name) and "_created" not in line]


@pytest.mark.parametrize("own", ["my-id-7", "req_1.2:3", "a" * 128])
async def test_a_harmless_request_id_of_the_client_is_kept(own: str, client: httpx2.AsyncClient) -> None:
    """Clients can find their request in our log by their own id, which our code sees as well."""
    response = await client.get("/v1/count", headers={"x-request-id": own})

    assert response.headers["x-request-id"] == own
    assert response.json() == {"id": own}


@pytest.mark.parametrize("own", ["", "a b", "a\tb", "é", "a" * 129, "<script>", "a=1", "a\\nb"])
async def test_any_other_request_id_is_replaced(own: str, client: httpx2.AsyncClient) -> None:
    """An id that could break a log line, or a page that shows one, is not taken over."""
    response = await client.get("/v1/count", headers={b"x-request-id": own.encode()})

    assert response.headers["x-request-id"] != own
    assert response.headers["x-request-id"].startswith("req_")


async def test_every_exchange_has_an_id_of_its_own(client: httpx2.AsyncClient) -> None:
    """Made ids differ, and are gone from the context when the exchange is over."""
    answers = await asyncio.gather(*(client.get("/v1/count") for _ in range(20)))

    assert len({answer.headers["x-request-id"] for answer in answers}) == 20
    assert REQUEST_ID.get() is None


async def test_the_log_line_has_what_operators_ask_for(
    client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Method, path, status, duration and tokens; not query or headers, which may hold secrets."""
    with caplog.at_level(logging.INFO):
        await client.get("/v1/count?key=sk-secret", headers={"authorization": "Bearer sk-secret"})

    [record] = [record for record in caplog.records if record.name == "server.http.exchange"]
    fields: dict[str, Any] = record.__dict__["fields"]
    assert record.getMessage() == "GET /v1/count 200"
    assert (fields["prompt_tokens"], fields["completion_tokens"]) == (211, 57)
    assert fields["duration_ms"] >= 0
    assert "sk-secret" not in str(record.__dict__)


async def test_a_path_cannot_write_lines_of_its_own(
    client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """A path is logged as it was sent, escaped, and not to any length."""
    with caplog.at_level(logging.INFO):
        await client.get("/x%0aFAKE%20LINE" + "a" * 5000)

    [record] = [record for record in caplog.records if record.name == "server.http.exchange"]
    assert record.getMessage().startswith("GET /x%0aFAKE%20LINE")
    assert len(record.getMessage()) < 300


async def test_probes_do_not_fill_the_log(
    client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """What is asked every second is logged only when it fails, or for debugging."""
    with caplog.at_level(logging.INFO):
        await client.get("/health")

    assert not [record for record in caplog.records if record.name.startswith("server")]


async def test_refused_requests_are_counted_as_well(app: FastAPI, client: httpx2.AsyncClient) -> None:
    """Failures before any endpoint runs show in the metrics (fault B281)."""
    await client.post("/tokenize", content=b"{")
    await client.delete("/v1/models")
    await client.get("/v1/models")

    assert set(series(app, "strictcall_requests_total")) == {
        'strictcall_requests_total{api="tokenize",status="400"} 1.0',
        'strictcall_requests_total{api="models",status="405"} 1.0',
        'strictcall_requests_total{api="models",status="200"} 1.0',
    }


async def test_clients_cannot_make_up_series(app: FastAPI, client: httpx2.AsyncClient) -> None:
    """However many paths and models are tried, the number of series stays the same (fault B291)."""
    for number in range(50):
        await client.get(f"/random/{number}")
        await client.get(f"/v1/models/random-{number}")

    assert set(series(app, "strictcall_requests_total")) == {
        'strictcall_requests_total{api="other",status="404"} 50.0',
        'strictcall_requests_total{api="models",status="404"} 50.0',
    }


async def test_probes_are_not_counted(app: FastAPI, client: httpx2.AsyncClient) -> None:
    """A scrape that counted itself would always find one request in flight."""
    scraped = (await client.get("/metrics")).text

    assert "strictcall_requests_in_flight 0.0" in scraped
    assert not series(app, "strictcall_requests_total")


async def test_a_client_that_leaves_is_counted_so_and_leaves_nothing(app: FastAPI) -> None:
    """An exchange without its end counts as 499, in all metrics alike (faults B277, B278, B279)."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "method": "POST",
        "path": "/tokenize",
        "query_string": b"",
        "headers": [],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        raise AssertionError(message)

    await app(scope, receive, send)

    expected = f'strictcall_requests_total{{api="tokenize",status="{CLIENT_LEFT}"}} 1.0'
    assert series(app, "strictcall_requests_total") == [expected]
    assert series(app, "strictcall_request_seconds_count") == [
        'strictcall_request_seconds_count{api="tokenize"} 1.0'
    ]
    assert series(app, "strictcall_requests_in_flight") == ["strictcall_requests_in_flight 0.0"]


def test_every_path_of_the_application_has_its_label(app: FastAPI) -> None:
    """An endpoint that is added without one would vanish among what clients make up."""
    paths = {getattr(route, "path", "") for route in app.routes} - {"/v1/count"}

    assert {path for path in paths if api_of(path) == "other"} == set()
