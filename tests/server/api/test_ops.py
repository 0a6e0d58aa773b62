"""What probes, collectors and operators ask for, and the list of models."""

import re
from collections.abc import AsyncIterator, Callable

import httpx2
import openai
import pytest
from fastapi import FastAPI

from server.app import create_app, create_ops_app
from server.config.settings import Settings
from server.context import Context
from tests.server.shell import IdleEngine, client_of, make_context


@pytest.fixture(name="engine")
async def _engine() -> IdleEngine:
    return IdleEngine()


@pytest.fixture(name="client")
async def _client(engine: IdleEngine) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(create_app(make_context(engine=engine))) as client:
        yield client


@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_a_probe_passes_while_the_engine_is_alive(path: str, client: httpx2.AsyncClient) -> None:
    """200 with a body that says so."""
    response = await client.get(path)

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_a_probe_fails_when_the_engine_is_dead(
    path: str, client: httpx2.AsyncClient, engine: IdleEngine
) -> None:
    """503 with a reason, so that the server is restarted and gets no more requests (fault B285)."""
    engine.dead = True

    response = await client.get(path)

    assert response.status_code == 503
    assert response.json()["error"]["code"] == "engine_dead"


async def test_metrics_are_in_prometheus_text(client: httpx2.AsyncClient) -> None:
    """Our own metrics and those of the process, in the format that collectors expect."""
    response = await client.get("/metrics")

    assert response.headers["content-type"].startswith("text/plain; version=")
    assert "# TYPE strictcall_requests_total counter" in response.text
    assert "process_resident_memory_bytes" in response.text


async def test_version_names_server_and_engine(client: httpx2.AsyncClient) -> None:
    """Both stand in a bug report."""
    answer = (await client.get("/version")).json()

    assert answer["engine"] == "idle 1.0"
    assert re.fullmatch(r"[0-9]+\.[0-9]+.*|unknown", answer["version"])


OPS_PORT = [
    (create_app, "/health", 200),
    (create_app, "/ready", 200),
    (create_app, "/metrics", 404),
    (create_app, "/version", 404),
    (create_app, "/v1/models", 200),
    (create_ops_app, "/health", 200),
    (create_ops_app, "/ready", 200),
    (create_ops_app, "/metrics", 200),
    (create_ops_app, "/version", 200),
    (create_ops_app, "/v1/models", 404),
    (create_ops_app, "/openapi.json", 404),
    (create_ops_app, "/docs", 404),
]


@pytest.mark.parametrize(("create", "path", "status"), OPS_PORT)
async def test_a_port_for_operators_takes_over_what_is_theirs(
    create: Callable[[Context], FastAPI], path: str, status: int
) -> None:
    """Both ports answer probes; neither answers what the other is for, and both say so in one form."""
    async with client_of(create(make_context(Settings(ops_port=0)))) as client:
        response = await client.get(path)

    assert response.status_code == status
    assert status == 200 or response.json()["error"]["code"] == "unknown_url"


async def test_the_port_for_operators_takes_their_key() -> None:
    """Whatever the path, probes aside."""
    settings = Settings(ops_port=0, ops_api_key=("ops",), api_key=("user",))
    async with client_of(create_ops_app(make_context(settings))) as client:
        answers = [
            (await client.get(path, headers={"authorization": f"Bearer {key}"})).status_code
            for path in ("/metrics", "/nowhere", "/health")
            for key in ("ops", "user")
        ]

    assert answers == [200, 401, 404, 401, 200, 200]


async def test_models_are_listed_under_each_name(client: httpx2.AsyncClient) -> None:
    """Every name that requests may use, with the length that vLLM's clients look for."""
    answer = (await client.get("/v1/models")).json()

    assert answer["object"] == "list"
    assert answer["data"][0] == {
        "id": "small",
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "strictcall",
        "root": "small",
        "max_model_len": 2048,
    }
    assert [card["id"] for card in answer["data"]] == ["small", "org/alias"]


@pytest.mark.parametrize("path", ["/v1/models/org/alias", "/v1/models/org%2Falias"])
async def test_a_model_whose_name_has_a_slash_is_found(path: str, client: httpx2.AsyncClient) -> None:
    """Hub names have slashes, which clients escape or not."""
    response = await client.get(path)

    assert response.status_code == 200
    assert (response.json()["id"], response.json()["root"]) == ("org/alias", "small")


async def test_an_unknown_model_is_told_with_those_there_are(client: httpx2.AsyncClient) -> None:
    """The message is the way out."""
    response = await client.get("/v1/models/gpt-4o")

    error = response.json()["error"]
    assert response.status_code == 404
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    assert error["message"] == "The model 'gpt-4o' does not exist. This server has 'small', 'org/alias'."


async def test_the_sdk_lists_and_retrieves_models(client: httpx2.AsyncClient) -> None:
    """The official client reads both answers."""
    sdk = openai.AsyncOpenAI(base_url="http://strictcall.test/v1", api_key="none", http_client=client)

    listed = [model.id async for model in sdk.models.list()]
    model = await sdk.models.retrieve("org/alias")

    assert listed == ["small", "org/alias"]
    assert (model.id, model.created, model.owned_by) == ("org/alias", 1_700_000_000, "strictcall")
