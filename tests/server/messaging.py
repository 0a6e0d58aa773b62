"""The Messages API of a scripted server, as Anthropic's SDK speaks to it.

answer = await message(server, max_tokens=20)
assert await streamed(server, max_tokens=20) == answer
"""

from typing import Any

import httpx2
from anthropic import AsyncAnthropic

from server.app import create_app
from tests.message_events import fold_message, message_events
from tests.server.scripted import MODEL, QUESTION, Server
from tests.server.shell import client_of


def sdk_of(server: Server) -> AsyncAnthropic:
    """Anthropic's SDK, which speaks to the application without a socket."""
    return AsyncAnthropic(
        base_url="http://strictcall.test",
        api_key="x",
        http_client=client_of(create_app(server.context)),
        max_retries=0,
    )


async def post(server: Server, path: str = "/v1/messages", **body: Any) -> httpx2.Response:
    """Send a message with a model, a budget and a question unless `body` has its own."""
    return await server.http.post(
        path, json={"model": MODEL, "max_tokens": 500, "messages": QUESTION, **body}
    )


async def message(server: Server, **body: Any) -> dict[str, Any]:
    """The body of a good answer."""
    response = await post(server, **body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def stream(server: Server, **body: Any) -> list[dict[str, Any]]:
    """The events of a streamed answer, errors included."""
    response = await post(server, stream=True, **body)
    assert response.status_code == 200, response.text
    return message_events(response.text)


async def answers(server: Server, **body: Any) -> dict[str, Any]:
    """The answer to a request that is sent twice; it must be the same when streamed, but for ids."""
    whole, folded = await message(server, **body), fold_message(await stream(server, **body))
    assert anonymous(folded) == anonymous(whole)
    return whole


def anonymous(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what differs from one to the next of the same."""
    blocks = [
        {key: value for key, value in block.items() if key not in ("id", "signature")}
        for block in answer["content"]
    ]
    said = ("role", "stop_reason", "stop_sequence", "usage", "type", "model")
    return {**{key: answer[key] for key in said}, "content": blocks}
