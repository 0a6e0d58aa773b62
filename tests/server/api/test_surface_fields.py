"""The table of fields is what the server does: what it says of a field is tried."""

from typing import Any

import pytest
from fastapi.routing import APIRoute

from scripts.surface_fields import IGNORED, SURFACES, field_table
from server.app import create_app
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import MODEL, QUESTION, always, serving
from tests.server.shell import make_context

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "completions": "/v1/completions",
}
LEAST: dict[str, dict[str, Any]] = {
    "chat": {"messages": QUESTION, "max_tokens": 5},
    "responses": {"input": "Hi", "max_output_tokens": 5},
    "messages": {"messages": QUESTION, "max_tokens": 5},
    "completions": {"prompt": "Hi", "max_tokens": 5},
}
"""The least that each API asks for."""

SAMPLES: dict[str, Any] = {
    "cache_control": {"type": "ephemeral"},
    "context_management": {"edits": []},
    "diagnostics": {"previous_message_id": "msg_1"},
    "inference_geo": "us",
    "max_tool_calls": 3,
    "metadata": {"a": "b"},
    "modalities": ["text"],
    "prediction": {"type": "content", "content": "Hello"},
    "prompt_cache_key": "k",
    "prompt_cache_options": {},
    "prompt_cache_retention": "24h",
    "safety_identifier": "s",
    "service_tier": "auto",
    "speed": "fast",
    "store": True,
    "truncation": "auto",
    "user": "u",
    "user_profile_id": "u",
    "verbosity": "low",
    "workspace_id": "w",
}
"""A value for each field that changes nothing."""

CELLS = [
    (api, path, cell)
    for path, *cells in field_table()
    for api, cell in zip(SURFACES, cells, strict=True)
    if "." not in path and "[]" not in path
]


def test_every_body_is_in_the_table() -> None:
    """An API that is added is a column; smaller bodies have fields of the large ones."""
    known = {name for body in SURFACES.values() for name in body.model_fields}
    routes = create_app(make_context()).routes
    bodies = [
        route.body_field.field_info.annotation
        for route in routes
        if isinstance(route, APIRoute) and route.path.startswith("/v1/") and route.body_field is not None
    ]

    assert set(SURFACES.values()) <= set(bodies)
    assert {name for body in bodies for name in getattr(body, "model_fields", ())} <= known


@pytest.mark.parametrize(
    ("api", "field"),
    [(api, path) for api, path, cell in CELLS if cell.startswith("`unsupported_parameter`")],
)
async def test_what_is_refused_is_refused(vocabulary: Vocabulary, api: str, field: str) -> None:
    """With the code that the table has, or its status where the API's errors have no codes."""
    async with serving(vocabulary, []) as server:
        response = await server.http.post(PATHS[api], json={"model": MODEL, **LEAST[api], field: "x"})

    assert response.status_code == 400
    assert response.json()["error"].get("code", "unsupported_parameter") == "unsupported_parameter"
    assert field in response.json()["error"]["message"]


@pytest.mark.parametrize("api", SURFACES)
async def test_what_is_ignored_changes_nothing(vocabulary: Vocabulary, api: str) -> None:
    """The engine is asked the same with all of these fields as without any."""
    ignored = {path: SAMPLES[path] for each, path, cell in CELLS if each == api and cell.startswith(IGNORED)}
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        for more in ({}, ignored):
            response = await server.http.post(PATHS[api], json={"model": MODEL, **LEAST[api], **more})
            assert response.status_code == 200, response.text
        one, other = server.engine.asked

    assert ignored
    assert (one.prompt, one.sampling, one.structural_tag) == (
        other.prompt,
        other.sampling,
        other.structural_tag,
    )
