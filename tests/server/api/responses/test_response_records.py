"""What is kept of responses, over HTTP: to go on from, to look at, to delete; each for its own key."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from server.config.settings import Settings
from server.tokens.vocabulary import Vocabulary
from tests.server.api.responses.test_responses import LOOK, answer, post, streamed
from tests.server.scripted import Server, always, call, serving

CALL = call("look", {"city": "Lima"})
KEYS = Settings(compile_seconds=120, api_key=("one", "two"))


def key(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}"}


async def prompt_of(server: Server) -> str:
    """The latest prompt."""
    return server.context.vocabulary.decode(server.engine.asked[-1].prompt)


@pytest.mark.parametrize("way", [answer, streamed], ids=["whole", "streamed"])
async def test_a_response_can_be_asked_for_again(vocabulary: Vocabulary, way: Any) -> None:
    """As it was told, from the moment on at which its end is told."""
    async with serving(vocabulary, always(vocabulary, f"<think>Hm.</think>\n\n{CALL}")) as server:
        told = await way(server, tools=[LOOK], metadata={"a": "b"})
        again = await server.http.get(f"/v1/responses/{told['id']}")

    assert again.json() == told


async def test_a_response_goes_on_from_another(vocabulary: Vocabulary) -> None:
    """Its input and output come first, its instructions do not; a chain is one conversation."""
    async with serving(vocabulary, [CALL, "It is 21.", "Yes."]) as server:
        first = await answer(server, tools=[LOOK], instructions="Look.")
        result = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "21 °C"}
        second = await answer(server, input=[result], previous_response_id=first["id"], tools=[LOOK])
        await server.http.delete(f"/v1/responses/{first['id']}")
        third = await answer(server, input="Sure?", previous_response_id=second["id"])

        prompt = await prompt_of(server)
    assert third["previous_response_id"] == second["id"]
    places = [prompt.index(text) for text in ("Hi", '"Lima"', "21 °C", "It is 21.", "Sure?")]
    assert places == sorted(places)
    assert "Look." not in prompt


async def test_items_are_found_by_their_ids(vocabulary: Vocabulary) -> None:
    """As the AI SDK sends them back: references in place of what the server has."""
    async with serving(vocabulary, [f"<think>Hm.</think>\n\nSure.\n{CALL}", "It is 21."]) as server:
        first = await answer(server, tools=[LOOK])
        asked = (await server.http.get(f"/v1/responses/{first['id']}/input_items")).json()["data"]
        items = [{"type": "item_reference", "id": item["id"]} for item in [*asked, *first["output"]]]
        result = {"type": "function_call_output", "call_id": first["output"][2]["call_id"], "output": "21 °C"}
        await answer(server, input=[*items, result], tools=[LOOK])

        prompt = await prompt_of(server)
    assert [prompt.count(text) for text in ("Hi", "Sure.", '"Lima"', "21 °C")] == [1, 1, 1, 1]


async def test_references_cannot_make_much_of_little(vocabulary: Vocabulary) -> None:
    """One item cannot come many times, and not all responses can be looked through for one request."""
    strangers = [{"type": "item_reference", "id": f"msg_{number:032x}00"} for number in range(300)]
    async with serving(vocabulary, ["Hi."]) as server:
        told = await answer(server)
        item = {"type": "item_reference", "id": told["output"][0]["id"]}
        twice = await post(server, input=[item, item])
        many = await post(server, input=strangers)

    assert (twice.status_code, twice.json()["error"]["param"]) == (400, "input[1].id")
    assert (many.status_code, many.json()["error"]["param"]) == (400, "input")


async def test_the_input_is_listed_page_by_page(vocabulary: Vocabulary) -> None:
    """Newest first, unless it is asked otherwise; each item has an id, a type, and parts."""
    items = [{"role": "user", "content": str(number)} for number in range(5)]
    async with serving(vocabulary, ["Hi."]) as server:
        told = await answer(server, input=items)
        url = f"/v1/responses/{told['id']}/input_items"
        newest = (await server.http.get(url, params={"limit": 2})).json()
        rest = (await server.http.get(url, params={"after": newest["last_id"]})).json()
        oldest = (await server.http.get(url, params={"limit": 1, "order": "asc"})).json()
        lost = await server.http.get(url, params={"after": "msg_1"})
        wrong = [await server.http.get(url, params={"limit": limit}) for limit in (0, 101, "x", 10**90)]

    def texts(page: dict[str, Any]) -> list[str]:
        return [item["content"][0]["text"] for item in page["data"]]

    assert (texts(newest), newest["has_more"]) == (["4", "3"], True)
    assert (texts(rest), rest["has_more"]) == (["2", "1", "0"], False)
    assert texts(oldest) == ["0"]
    assert oldest["first_id"] == oldest["data"][0]["id"]
    assert (lost.status_code, lost.json()["error"]["param"]) == (400, "after")
    assert [(each.status_code, each.json()["error"]["param"]) for each in wrong] == [(400, "limit")] * 4


async def test_deleted_responses_are_gone(vocabulary: Vocabulary) -> None:
    """For everything that could be asked of them."""
    async with serving(vocabulary, ["Hi."]) as server:
        told = await answer(server)
        url = f"/v1/responses/{told['id']}"
        deleted = await server.http.delete(url)
        after = [
            await server.http.get(url),
            await server.http.delete(url),
            await server.http.get(f"{url}/input_items"),
            await server.http.post(f"{url}/cancel"),
        ]
        refused = await post(server, previous_response_id=told["id"])

    assert deleted.json() == {"id": told["id"], "object": "response", "deleted": True}
    assert {(each.status_code, each.json()["error"]["code"]) for each in after} == {
        (404, "response_not_found")
    }
    assert refused.json()["error"]["code"] == "previous_response_not_found"


async def test_nothing_can_be_cancelled(vocabulary: Vocabulary) -> None:
    """Nothing runs in the background, and the error says so."""
    async with serving(vocabulary, ["Hi."]) as server:
        told = await answer(server)
        refused = await server.http.post(f"/v1/responses/{told['id']}/cancel")

    assert refused.status_code == 400
    assert "background" in refused.json()["error"]["message"]


async def test_what_shall_not_be_stored_is_not(vocabulary: Vocabulary) -> None:
    """`store: false`."""
    async with serving(vocabulary, ["Hi."]) as server:
        told = await answer(server, store=False)
        gone = await server.http.get(f"/v1/responses/{told['id']}")

    assert gone.status_code == 404


async def test_a_response_belongs_to_its_key(vocabulary: Vocabulary) -> None:
    """For another key of the same server it is not there, in whatever way it is asked for."""
    async with serving(vocabulary, always(vocabulary, "Hi."), KEYS) as server:
        body: dict[str, Any] = {"model": "smol", "input": "Hi"}
        told = (await server.http.post("/v1/responses", json=body, headers=key("one"))).json()
        url = f"/v1/responses/{told['id']}"
        own = await server.http.get(url, headers=key("one"))
        others = [
            await server.http.get(url, headers=key("two")),
            await server.http.delete(url, headers=key("two")),
            await server.http.get(f"{url}/input_items", headers=key("two")),
        ]
        onward = await server.http.post(
            "/v1/responses", json={**body, "previous_response_id": told["id"]}, headers=key("two")
        )
        item = {"type": "item_reference", "id": told["output"][0]["id"]}
        referred = await server.http.post("/v1/responses", json={**body, "input": [item]}, headers=key("two"))

    assert own.status_code == 200
    assert [each.status_code for each in others] == [404, 404, 404]
    assert onward.json()["error"]["code"] == "previous_response_not_found"
    assert referred.json()["error"]["param"] == "input[0].id"


async def test_the_oldest_of_many_is_gone_with_a_clear_error(vocabulary: Vocabulary) -> None:
    """One more than the limit, and the first is not there any more."""
    settings = Settings(compile_seconds=120, response_store_limit=2)
    async with serving(vocabulary, always(vocabulary, "Hi."), settings) as server:
        ids = [(await answer(server))["id"] for _ in range(3)]
        found = [await server.http.get(f"/v1/responses/{each}") for each in ids]

    assert [each.status_code for each in found] == [404, 200, 200]
    assert "made room for newer ones" in found[0].json()["error"]["message"]


async def test_two_servers_share_a_file(vocabulary: Vocabulary, tmp_path: Path) -> None:
    """A conversation may go on at the other one."""
    settings = Settings(compile_seconds=120, response_store=str(tmp_path / "responses.sqlite"))
    async with (
        serving(vocabulary, [CALL], settings) as one,
        serving(vocabulary, ["It is 21."], settings) as other,
    ):
        first = await answer(one, tools=[LOOK])
        result = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "21 °C"}
        await answer(other, input=[result], previous_response_id=first["id"])

        prompt = await prompt_of(other)
    assert '"Lima"' in prompt
    assert "21 °C" in prompt


@pytest.mark.parametrize("stream", [False, True])
async def test_a_store_that_fails_is_told(vocabulary: Vocabulary, tmp_path: Path, *, stream: bool) -> None:
    """The promise to keep it is part of the answer; without it, the answer is as good as ever."""
    path = tmp_path / "responses.sqlite"
    settings = Settings(compile_seconds=120, response_store=str(path))
    async with serving(vocabulary, always(vocabulary, "Hi."), settings) as server:
        with sqlite3.connect(path) as other:
            other.execute("DROP TABLE responses")
        told = await post(server, stream=stream)
        unstored = await answer(server, store=False)

    assert "response_store_error" in told.text
    assert "'store': false" in told.text
    assert told.status_code == (200 if stream else 500)
    assert unstored["status"] == "completed"
