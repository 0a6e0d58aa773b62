"""What a chat request is guaranteed, whichever API asks: policy, repair, failures, aborts, limits, errors."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from server.config.settings import Settings, ToolMask
from server.engine.protocol import EngineError
from server.engine.scripted import Ending, Script
from server.http.exchange import CLIENT_LEFT
from server.tokens.vocabulary import Vocabulary
from tests.server.http.test_bounded import on_demand, small
from tests.server.http.test_disconnect import asking, endings, in_flight, listening, slow, until
from tests.server.scripted import MODEL, Server, always, call, serving
from tests.surfaces import MESSAGES, SURFACES, Surface, Tool

TAGS = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
    "additionalProperties": False,
}
TOOL = Tool("tag", TAGS, strict=True)
WRONG = call("tag", {"tags": ["a", "a"]})
RIGHT = call("tag", {"tags": ["a", "b"]})

every_surface = pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.name)


async def post(server: Server, surface: Surface, **more: Any) -> httpx2.Response:
    """Ask for a call of the tool, which may but need not be made."""
    body = {**surface.body([TOOL], "auto"), **more}
    return await server.http.post(surface.path, json={"model": MODEL, **body})


def last_event(stream: httpx2.Response) -> dict[str, Any]:
    """The last event of a stream that is JSON."""
    data = [line.removeprefix("data: ") for line in stream.text.splitlines() if line.startswith("data: {")]
    event: dict[str, Any] = json.loads(data[-1])
    return event


def said(surface: Surface, body: dict[str, Any]) -> str:
    """The message of an error, which must be in the API's own form."""
    error = body["error"]
    if surface is MESSAGES:
        assert body.keys() == {"type", "error", "request_id"}
        assert error.keys() == {"type", "message"}
    else:
        assert error.keys() == {"message", "type", "param", "code"}
    return str(error["message"])


@every_surface
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_wrong_call_is_written_again(
    vocabulary: Vocabulary, surface: Surface, *, streamed: bool
) -> None:
    """The client sees the right one only; the metrics see both."""
    async with serving(vocabulary, [WRONG, RIGHT]) as server:
        response = await post(server, surface, stream=streamed)
        answer = surface.folded(response.text) if streamed else response.json()

        assert server.metric("strictcall_schema_retries_total", keyword="uniqueItems") == 1
        assert server.metric("strictcall_schema_repairs_total", outcome="repaired") == 1
    assert surface.told(answer).calls == (("tag", '{"tags": ["a", "b"]}'),)


@every_surface
async def test_a_call_that_may_not_pass_is_an_error_in_the_apis_form(
    vocabulary: Vocabulary, surface: Surface
) -> None:
    """A status where nothing was sent yet, and else the end of the stream."""
    policy = {"strictcall": {"on_violation": "error"}}
    async with serving(vocabulary, always(vocabulary, f"So.{WRONG}")) as server:
        whole = await post(server, surface, **policy)
        stream = await post(server, surface, **policy, stream=True)

        assert server.metric("strictcall_requests_total", api=surface.name, status="500") == 2
    assert (whole.status_code, stream.status_code) == (500, 200)
    assert "'tag'" in said(surface, whole.json())
    assert "'tag'" in json.dumps(last_event(stream))


@every_surface
async def test_what_no_mask_holds_can_be_refused(vocabulary: Vocabulary, surface: Surface) -> None:
    """Before any model time, by the keyword's name and place."""
    async with serving(vocabulary, []) as server:
        response = await post(server, surface, strictcall={"unsupported_keywords": "reject"})

        assert server.engine.asked == []
    assert response.status_code == 400
    assert "'uniqueItems' at '#/properties/tags'" in said(surface, response.json())


@every_surface
async def test_a_report_says_what_was_checked(vocabulary: Vocabulary, surface: Surface) -> None:
    """`strictcall` is somewhere in the answer, as it is in a chat's message."""
    async with serving(vocabulary, [WRONG, RIGHT]) as server:
        response = await post(server, surface, strictcall={"report": True})

    assert '"attempts":2' in response.text
    assert "uniqueItems" in response.text


@every_surface
async def test_an_unreadable_call_is_text_and_counted(vocabulary: Vocabulary, surface: Surface) -> None:
    """Nothing that the model wrote is lost, and nothing is called that is not there."""
    raw = '<tool_call>\n{"name": "gone", "arguments": {}}\n</tool_call>'
    loose = Settings(tool_mask=ToolMask.STRICT, compile_seconds=120)
    async with serving(vocabulary, always(vocabulary, raw), loose) as server:
        body = surface.body([Tool("tag", TAGS)], "auto")
        response = await server.http.post(surface.path, json={"model": MODEL, **body})

        failures = server.metric("strictcall_parse_failures_total", family="hermes", reason="unknown_tool")
    told = surface.told(response.json())
    assert (told.content, told.calls, told.finish) == (raw, (), "stop")
    assert failures == 1


@every_surface
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_client_that_leaves_ends_its_generation(
    vocabulary: Vocabulary, surface: Surface, *, streamed: bool
) -> None:
    """It counts as an abort, and as 499 of its API."""
    async with (
        serving(vocabulary, slow(vocabulary, "Once upon a time", steps=2)) as server,
        listening(server) as port,
    ):
        async with asking(port, surface.path, **surface.body([TOOL], "auto"), stream=streamed):
            await until(lambda: len(server.engine.asked) == 1)
        await until(lambda: endings(server) == {Ending.CLOSED} and in_flight(server) == 0)

        assert server.metric("strictcall_aborts_total", cause="disconnect") == 1
        assert server.metric("strictcall_requests_total", api=surface.name, status=str(CLIENT_LEFT)) == 1


@every_surface
async def test_a_full_queue_refuses_in_the_apis_form(vocabulary: Vocabulary, surface: Surface) -> None:
    """429 with the time to come back, before the body is looked at."""
    gate, scripts = on_demand(vocabulary)
    async with serving(vocabulary, scripts, small()) as server:
        taken = [asyncio.create_task(post(server, surface)) for _ in range(2)]
        await until(lambda: server.metric("strictcall_requests_waiting") == len(server.engine.asked) == 1)
        refused = await post(server, surface)
        gate.set()
        answers = await asyncio.gather(*taken)

    assert [each.status_code for each in answers] == [200, 200]
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert said(surface, refused.json())


@every_surface
@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"temperature": -1}, 400, "temperature"),
        ({"model": "gone"}, 404, "gone"),
        ({"tools": 5}, 400, "tools"),
        ({"tool_choice": "sometimes"}, 400, "tool_choice"),
    ],
    ids=["bound", "model", "type", "choice"],
)
async def test_refusals_are_in_the_apis_form(
    vocabulary: Vocabulary, surface: Surface, more: dict[str, Any], status: int, words: str
) -> None:
    """They name what is wrong, cost no model time, and are counted by API."""
    async with serving(vocabulary, []) as server:
        response = await post(server, surface, **more)

        assert server.engine.asked == []
        assert server.metric("strictcall_requests_total", api=surface.name, status=str(status)) == 1
    assert response.status_code == status
    assert said(surface, response.json())
    assert words in response.text


@every_surface
async def test_a_prompt_that_does_not_fit_is_refused(vocabulary: Vocabulary, surface: Surface) -> None:
    """In the words that clients look for."""
    async with serving(vocabulary, []) as server:
        body = surface.body([TOOL], "auto", question="word " * 20_000)
        response = await server.http.post(surface.path, json={"model": MODEL, **body})

    assert response.status_code == 400
    assert "maximum context length is" in said(surface, response.json())


@every_surface
async def test_a_body_that_is_too_large_is_refused(vocabulary: Vocabulary, surface: Surface) -> None:
    """And one that is no JSON."""
    async with serving(vocabulary, [], Settings(max_body_bytes=2000)) as server:
        large = await post(server, surface, padding="x" * 3000)
        broken = await server.http.post(surface.path, content=b"{")

    assert (large.status_code, broken.status_code) == (413, 400)
    assert said(surface, large.json())
    assert said(surface, broken.json())


@every_surface
async def test_an_engine_that_fails_is_told_in_the_apis_form(
    vocabulary: Vocabulary, surface: Surface
) -> None:
    """Before the first token it is a status."""
    async with serving(vocabulary, lambda _: Script([], error=EngineError("lost"))) as server:
        for streamed in (False, True):
            response = await post(server, surface, stream=streamed)
            assert response.status_code == 500
            assert "engine failed" in said(surface, response.json())
