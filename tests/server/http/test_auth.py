"""The API key: what needs it, how it is read, and what is said without it."""

from collections.abc import AsyncIterator

import httpx2
import openai
import pytest
from starlette.routing import Route

from server.app import create_app
from server.config.settings import Settings
from server.http.auth import OPEN_PATHS, RequireKey
from tests.server.shell import client_of, make_context

APP = create_app(make_context(Settings(api_key=("k-7f", "k-8é"))))


@pytest.fixture(name="client")
async def _client() -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(APP) as client:
        yield client


async def test_every_route_but_the_open_ones_needs_the_key(client: httpx2.AsyncClient) -> None:
    """The application's own routes are walked: a new one is closed unless it is listed (B321, B322)."""
    answered = {}
    for route in APP.routes:
        assert isinstance(route, Route)
        for method in route.methods or ():
            answered[route.path] = (await client.request(method, route.path)).status_code

    assert {path for path, status in answered.items() if status != 401} == OPEN_PATHS
    assert {"/v1/models", "/tokenize", "/detokenize", "/openapi.json"} <= set(answered)


SPELLINGS = [
    "/v1//models",
    "/V1/models",
    "/v1/models/",
    "/%76%31/models",
    "/health/../v1/models",
    "//health/v1/models",
    "/health%2f..%2fv1/models",
    "/health/",
    "/nowhere",
    "/invocations",
]


@pytest.mark.parametrize("path", SPELLINGS)
async def test_no_spelling_of_a_path_goes_around_the_key(path: str, client: httpx2.AsyncClient) -> None:
    """Open paths are compared as a whole, and all else is closed, whether or not it exists (B320)."""
    response = await client.get(path)

    assert response.status_code == 401


@pytest.mark.parametrize("header", ["Bearer k-7f", "bearer k-7f", "BEARER  k-7f ", "Bearer k-8é"])
async def test_any_of_the_keys_opens(header: str, client: httpx2.AsyncClient) -> None:
    """Keys can be rotated: old and new work side by side. The scheme's case does not matter."""
    response = await client.get("/v1/models", headers={b"authorization": header.encode()})

    assert response.status_code == 200


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic azc6Zg==", "k-7f"])
async def test_no_key_is_told_from_a_wrong_one(header: str | None, client: httpx2.AsyncClient) -> None:
    """Without a bearer key the message says how to send one, and the code is null as OpenAI's is."""
    headers = {} if header is None else {"authorization": header}
    response = await client.get("/v1/models", headers=headers)

    error = response.json()["error"]
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert error["code"] is None
    assert error["type"] == "invalid_request_error"
    assert "Authorization: Bearer YOUR_KEY" in error["message"]


@pytest.mark.parametrize("key", ["k-7", "k-7f0", "K-7F", "none", "kéy"])
async def test_a_wrong_key_is_refused_and_not_repeated(key: str, client: httpx2.AsyncClient) -> None:
    """The answer names the code of OpenAI, and does not echo what was sent."""
    response = await client.get("/v1/models", headers={b"authorization": f"Bearer {key}".encode()})

    assert response.status_code == 401
    assert response.json()["error"]["code"] == "invalid_api_key"
    assert key not in response.text


SCOPES = [
    ("/v1/models", "user", 200),
    ("/v1/models", "ops", 401),
    ("/metrics", "ops", 200),
    ("/metrics", "user", 401),
    ("/metrics", None, 401),
    ("/version", "ops", 200),
    ("/version", None, 401),
    ("/health", None, 200),
    ("/ready", None, 200),
]


@pytest.mark.parametrize(("path", "key", "status"), SCOPES)
async def test_operators_have_keys_of_their_own(path: str, key: str | None, status: int) -> None:
    """Neither key opens what is the other's; probes need none."""
    settings = Settings(api_key=("user",), ops_api_key=("ops",))
    async with client_of(create_app(make_context(settings))) as client:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        response = await client.get(path, headers=headers)

    assert response.status_code == status


def test_no_key_is_kept_where_requests_pass() -> None:
    """What compares keys has digests, all of one length."""
    layer = RequireKey(APP, keys=("k-7f", "k" * 100), ops_keys=("ops",))

    assert {len(each) for each in (*layer._known, *layer._known_for_ops)} == {32}
    assert not [value for value in vars(layer).values() if "k-7f" in repr(value)]


async def test_the_sdk_meets_a_wrong_key_as_its_authentication_error() -> None:
    """The official client raises its own class, with the code."""
    async with client_of(APP) as http:
        sdk = openai.AsyncOpenAI(base_url="http://strictcall.test/v1", api_key="no", http_client=http)
        with pytest.raises(openai.AuthenticationError) as failure:
            await sdk.models.list()

    assert failure.value.code == "invalid_api_key"


async def test_without_keys_a_server_is_open() -> None:
    """SDKs always send some key; a server that has none takes any, and none."""
    async with client_of(create_app(make_context())) as client:
        bare = await client.get("/v1/models")
        keyed = await client.get("/v1/models", headers={"authorization": "Bearer whatever"})

    assert (bare.status_code, keyed.status_code) == (200, 200)
