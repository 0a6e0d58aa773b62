"""The server is what its own description says: random requests by `/openapi.json`, right ones and wrong ones.

Schemathesis makes the requests and checks each answer: no 5xx, only statuses, content types and bodies that
are described. What a right chat request may cost is bounded, and nothing else about it is changed.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import pytest_asyncio
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation, BaseSchema
from schemathesis.specs.openapi import checks as openapi_checks

from tests.engine.conftest import MODEL, RunningEngine, RunningServer

pytestmark = pytest.mark.engine

OPERATIONS = {
    "GET /health": 1,
    "GET /ready": 1,
    "GET /metrics": 1,
    "GET /version": 1,
    "GET /v1/models": 1,
    "GET /v1/models/{model}": 30,
    "POST /v1/chat/completions": 60,
    "POST /v1/completions": 60,
    "POST /v1/messages": 60,
    "POST /v1/messages/count_tokens": 30,
    "POST /v1/responses": 60,
    "GET /v1/responses/{response_id}": 10,
    "DELETE /v1/responses/{response_id}": 10,
    "POST /v1/responses/{response_id}/cancel": 10,
    "GET /v1/responses/{response_id}/input_items": 20,
    "POST /v1/responses/input_tokens": 100,
    "POST /tokenize": 30,
    "POST /detokenize": 30,
}
"""Each operation, and how many requests it gets: one where all are the same."""

NEVER_RIGHT = {"POST /v1/responses/{response_id}/cancel"}
"""What is always refused: nothing runs in the background."""

WITHOUT_BODY = {label for label in OPERATIONS if label.startswith(("GET", "DELETE"))} | NEVER_RIGHT
"""No wrong request can be made of these: they take nothing, or any text."""

ROWS = [
    pytest.param(label, mode, id=f"{label.replace(' ', '-')}-{mode.value}")
    for label in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or label not in WITHOUT_BODY
]

FEW = 3
"""Tokens that one answer may have here."""

COSTS: dict[str, dict[str, Callable[[dict[str, Any]], int]]] = {
    "/v1/chat/completions": {
        "max_tokens": lambda _: FEW,
        "max_completion_tokens": lambda _: FEW,
        "n": lambda body: 1 + len(body) % 2,
    },
    "/v1/completions": {"max_tokens": lambda _: FEW, "n": lambda body: 1 + len(body) % 2},
    "/v1/responses/input_tokens": {},
    "/v1/responses": {"max_output_tokens": lambda _: FEW},
    "/v1/messages": {"max_tokens": lambda _: FEW},
    "/v1/messages/count_tokens": {},
}
"""What bounds the cost of a request to the model, by path."""


@pytest_asyncio.fixture(name="description", scope="module")
async def _description(server: RunningServer) -> BaseSchema:
    url = server.base_url.removesuffix("/v1") + "/openapi.json"
    return await asyncio.to_thread(schemathesis.openapi.from_url, url)


CHECKS = [
    not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.allow_header_conformance,
]


def bounded(case: Case[Any], known: Mapping[str, str]) -> Case[Any]:
    """Let a request reach the model, and cost little there; a wrong one stays wrong in every other way."""
    body = case.body
    for name, value in known.items():
        if case.path_parameters and len(case.path_parameters.get(name, "")) % 2:
            case.path_parameters[name] = value
    if case.path in COSTS and isinstance(body, dict) and isinstance(body.get("model"), str):
        few = {name: cost(body) for name, cost in COSTS[case.path].items()}
        # What is no number stays what it is, or no wrong budget would be sent.
        right = {key: value for key, value in few.items() if isinstance(body.get(key, 1), int | None)}
        case.body = {**body, "model": MODEL, **right}
    return case


def fuzz(
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
    examples: int,
    known: Mapping[str, str],
) -> list[int]:
    """Send random requests, check each answer, and return the statuses."""
    statuses: list[int] = []

    @seed(1)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Case[Any]) -> None:
        response = bounded(case, known).call_and_validate(checks=CHECKS, timeout=60)
        statuses.append(response.status_code)

    send()
    return statuses


async def test_every_operation_is_sent_requests(description: BaseSchema) -> None:
    """An endpoint that is added to the server is added here."""
    assert {
        found.ok().label for found in description.get_all_operations() if isinstance(found, Ok)
    } == OPERATIONS.keys()


@pytest.mark.parametrize(("label", "mode"), ROWS)
async def test_answers_are_what_the_description_says(
    description: BaseSchema,
    running: RunningEngine,
    server: RunningServer,
    label: str,
    mode: GenerationMode,
) -> None:
    """Right requests and wrong ones get a described status, type and body; none breaks the server."""
    operation = description.find_operation_by_label(label)
    assert operation is not None
    stored = await server.sdk.responses.create(model=MODEL, input="Hi", max_output_tokens=FEW)
    known = {"model": MODEL, "response_id": stored.id}
    statuses = await asyncio.to_thread(fuzz, operation, mode, OPERATIONS[label], known)

    right = mode is GenerationMode.POSITIVE and label not in NEVER_RIGHT
    assert (200 in statuses) if right else (400 in statuses)
    await running.engine.check()
