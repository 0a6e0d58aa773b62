"""What users, models and keys say reaches no log line, however a request ends."""

import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from server.config.settings import Settings
from server.engine.protocol import EngineError
from server.engine.scripted import Asked, Script
from server.telemetry.logs import REQUEST_ID, JsonFormatter, TextFormatter
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import Server, call, script, serving, tool

SECRET = "xyzzy-7731-plugh"
KEY = "sk-0f3b-secret-key"
WRONG_KEY = "sk-wrong-secret-key"
HERE = {"authorization": f"Bearer {KEY}"}
USER = [{"role": "user", "content": f"My password is {SECRET}."}]
TAGS = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
    "additionalProperties": False,
}
HISTORY = [
    *USER,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "look", "arguments": f'{{"a": "{SECRET}"'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": f"it says {SECRET}"},
]


@pytest.fixture(name="lines", params=[TextFormatter, JsonFormatter])
def _lines(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """All that a server writes at `info` and above, of every logger, in either form."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(request.param())
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    # Clients run in this process too, and are no part of the server.
    quiet = [logging.getLogger(name) for name in ("httpx2", "openai")]
    for each in quiet:
        each.setLevel(logging.WARNING)
    yield written
    root.setLevel(before)
    root.removeHandler(handler)
    for each in quiet:
        each.setLevel(logging.NOTSET)


@asynccontextmanager
async def secretive(vocabulary: Vocabulary, answer: Any, **options: Any) -> AsyncIterator[Server]:
    async with serving(
        vocabulary, answer, Settings(api_key=(KEY,), compile_seconds=120), **options
    ) as server:
        yield server


async def ask(server: Server, **body: Any) -> httpx2.Response:
    """One request as a stream and one as a whole; the response to the latter."""

    async def once(*, stream: bool) -> httpx2.Response:
        asked = {"model": "smol", "messages": USER, "stream": stream, **body}
        return await server.http.post("/v1/chat/completions", json=asked, headers=HERE)

    await once(stream=True)
    return await once(stream=False)


def says(vocabulary: Vocabulary, text: str) -> Any:
    def answer(_: Asked) -> Script:
        return script(vocabulary, text)

    return answer


def safe(lines: io.StringIO) -> bool:
    written = lines.getvalue()
    assert "POST /v1/" in written, "nothing was logged at all"
    return not any(each in written for each in (SECRET, KEY, WRONG_KEY))


REFUSED: dict[str, dict[str, Any]] = {
    "a value": {"temperature": SECRET},
    "a model": {"model": SECRET},
    "a role": {"messages": [{"role": SECRET, "content": SECRET}]},
    "a schema": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": SECRET}}}
    },
    "a reference": {"tools": [tool("look", {"type": "object", "$ref": f"#/$defs/{SECRET}"}, strict=True)]},
    "a pattern": {"structured_outputs": {"regex": f"({SECRET}"}},
    "a grammar": {"structured_outputs": {"grammar": f"root ::= {SECRET}"}},
    "a tool": {"tools": [tool("look")], "tool_choice": {"type": "function", "function": {"name": SECRET}}},
    "a template": {"chat_template": SECRET},
    "too much": {"messages": [{"role": "user", "content": f"{SECRET} " * 4000}]},
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
async def test_what_is_refused_is_not_logged(
    vocabulary: Vocabulary, lines: io.StringIO, body: dict[str, Any]
) -> None:
    """The client is told what was wrong, with its own words; the log has a code."""
    async with secretive(vocabulary, says(vocabulary, "Hi")) as server:
        assert 400 <= (await ask(server, **body)).status_code < 500

    assert safe(lines)


ANSWERS: dict[str, tuple[str, dict[str, Any]]] = {
    "text": (f"You said {SECRET}.", {}),
    "a call": (call("look", {"a": SECRET}), {"tools": [tool("look")]}),
    "an unreadable call": (
        f'<tool_call>\n{{"name": "look", "arguments": {{{SECRET}}}}}\n</tool_call>',
        {"tools": [tool("look")]},
    ),
    "an unknown tool": (call(SECRET, {}), {"tools": [tool("look")]}),
    "a broken schema": (
        call("tag", {"tags": [SECRET, SECRET]}),
        {"tools": [tool("tag", TAGS, strict=True)], "strictcall": {"on_violation": "error"}},
    ),
    "what is written again": (
        call("tag", {"tags": [SECRET, SECRET]}),
        {"tools": [tool("tag", TAGS, strict=True)]},
    ),
    "a history": ("Hi", {"messages": HISTORY, "tools": [tool("look")]}),
    "no JSON": (f"{SECRET} {{", {"response_format": {"type": "json_object"}}),
}


@pytest.mark.parametrize(("text", "body"), ANSWERS.values(), ids=ANSWERS)
async def test_what_models_write_is_not_logged(
    vocabulary: Vocabulary, lines: io.StringIO, text: str, body: dict[str, Any]
) -> None:
    """Right or wrong, read or unreadable: counts and kinds are told, and no text."""
    async with secretive(vocabulary, says(vocabulary, text)) as server:
        await ask(server, **body)

    assert safe(lines)


def fails(error: Exception, vocabulary: Vocabulary, *, after: str = "") -> Any:
    def answer(_: Asked) -> Script:
        if isinstance(error, EngineError):
            return Script([[each] for each in vocabulary.encode(after)], error=error)
        raise error

    return answer


FAILURES = (
    EngineError(f"grammar does not accept {SECRET}"),
    KeyError(SECRET),
    ExceptionGroup(SECRET, [ValueError(SECRET)]),
)


@pytest.mark.parametrize("after", ["", SECRET])
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
async def test_an_exception_is_logged_without_its_message(
    vocabulary: Vocabulary, lines: io.StringIO, error: Exception, after: str
) -> None:
    """Its kind, where it was raised, and what caused it: a message may quote what it failed on."""
    error.__cause__ = ValueError(SECRET)
    async with secretive(vocabulary, fails(error, vocabulary, after=after)) as server:
        await ask(server)

    written = lines.getvalue()
    assert safe(lines)
    assert type(error).__name__ in written
    assert "ValueError" in written
    assert "scripted.py" in written


async def test_a_template_that_fails_is_not_quoted(vocabulary: Vocabulary, lines: io.StringIO) -> None:
    """Templates refuse conversations with words that may be the user's; the client reads them alone."""
    template = (
        "{% if messages[0].content | length > 20 %}{{ raise_exception(messages[0].content) }}{% endif %}Hi"
    )
    async with secretive(vocabulary, says(vocabulary, "Hi"), template=template) as server:
        response = await ask(server)

    assert response.status_code == 400
    assert SECRET in response.text
    assert safe(lines)


async def test_keys_and_queries_are_not_logged(vocabulary: Vocabulary, lines: io.StringIO) -> None:
    """Right or wrong, in a header or where no key belongs."""
    async with secretive(vocabulary, says(vocabulary, "Hi")) as server:
        await ask(server)
        for headers in ({"authorization": f"Bearer {WRONG_KEY}"}, {"x-api-key": WRONG_KEY}, {}):
            refused = await server.http.post(
                f"/v1/chat/completions?api_key={WRONG_KEY}", json={}, headers=headers
            )
            assert refused.status_code == 401
        await server.http.post("/v1/messages", json={"model": SECRET, "messages": USER}, headers=HERE)
        await server.http.post("/v1/responses", json={"model": SECRET, "input": SECRET}, headers=HERE)
        await server.http.post("/v1/completions", json={"model": SECRET, "prompt": SECRET}, headers=HERE)
        await server.http.post("/tokenize", json={"model": "smol", "prompt": SECRET}, headers=HERE)
        await server.http.post("/v1/chat/completions", content=SECRET.encode(), headers=HERE)

    assert safe(lines)


def test_for_debugging_messages_are_shown() -> None:
    """Who asks for them has them, and the other lines stay as they are."""
    failure = (KeyError, KeyError(SECRET), None)
    record = logging.LogRecord("server.http.boundary", logging.ERROR, __file__, 1, "INTERNAL", None, failure)
    token = REQUEST_ID.set("req_1")
    try:
        shown, hidden = (JsonFormatter(quotes=quotes).format(record) for quotes in (True, False))
    finally:
        REQUEST_ID.reset(token)

    assert SECRET in json.loads(shown)["exception"]
    assert SECRET not in hidden
    assert json.loads(hidden)["exception"].startswith("Traceback")
