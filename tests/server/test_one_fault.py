"""What goes wrong in one request is that request's alone."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from server.engine.protocol import EngineError
from server.engine.scripted import Asked, Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import chunks_of, script, serving, tool

WORDS = "Once upon a time there was a server."


@pytest.mark.parametrize("after", ["", "Half"])
async def test_a_grammar_that_fails_in_the_engine_fails_its_request_only(
    vocabulary: Vocabulary, after: str
) -> None:
    """Two streams beside it end as they should, and it is told and counted as a failure (B233, B240)."""
    gate = asyncio.Event()

    def answer(asked: Asked) -> Script:
        if asked.structural_tag is None:
            plain = script(vocabulary, WORDS)
            return Script(plain.deltas, plain.finish, gate=gate)
        error = EngineError("the grammar does not take the token")
        return Script([[each] for each in vocabulary.encode(after)], error=error)

    async with serving(vocabulary, answer) as server:
        beside = [asyncio.create_task(server.post(stream=True)) for _ in range(2)]
        while len(server.engine.asked) < 2:  # noqa: ASYNC110 - it is the scripted engine that tells
            await asyncio.sleep(0.01)

        failed = await server.post(tools=[tool("look", strict=True)], tool_choice="required")
        gate.set()
        streams = [chunks_of(response) for response in await asyncio.gather(*beside)]

        assert (failed.status_code, failed.json()["error"]["code"]) == (500, "engine_error")
        for chunks in streams:
            told = [choice for chunk in chunks for choice in chunk["choices"]]
            assert "".join(choice["delta"].get("content") or "" for choice in told) == WORDS
            assert told[-1]["finish_reason"] == "stop"
        assert server.metric("strictcall_aborts_total", cause="failure") == 1
        assert server.metric("strictcall_requests_total", api="chat", status="500") == 1


def files(below: Path) -> list[Path]:
    return [path for path in below.rglob("*") if path.is_file()]


async def test_schemas_leave_nothing_on_the_disk(
    vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many different ones come: what is kept of them is bounded, and in memory (B310)."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    async with serving(vocabulary, lambda _: script(vocabulary, "{}")) as server:
        for number in range(20):
            schema = {"type": "object", "properties": {f"field_{number}": {"type": "integer"}}}
            asked = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
            await server.chat(response_format=asked)

        assert files(tmp_path) == []
