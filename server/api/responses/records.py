"""What is kept of a response: the response, and the items that its model was shown.

    records = ResponseRecords(context.responses, owner)
    await records.keep(final, items)
    await records.history("resp_6f1c…")        # items and output, as the next request's history
    await records.found("resp_6f1c…")          # Kept(response={…}, items=[…]), or `ApiError` (404)

A record has the whole conversation, so that it stays good when the ones before it have gone. Its items get
ids that name the response, as those of its output do, so that an item that is referred to is found by its id.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from server.api import refusals
from server.api.body_errors import read_body
from server.api.responses.items import InputItem, ItemList, ItemReference, dumped
from server.api.responses.output import ID_PREFIX
from server.errors import ApiError, Code
from server.store.responses import ResponseStore

STATELESS = "This server stores no responses (--response-store off). Send the whole conversation as 'input'."
MAX_LOOKED_UP = 256
"""Stored responses that the references of one request may need: more than a conversation has turns."""

ITEM_ID = re.compile(r"[a-z]+_([0-9a-f]{32})i?[0-9a-f]+")
PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "reasoning": "rs",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored response, and the items of its input."""

    response: dict[str, Any]
    items: list[dict[str, Any]]


class ResponseRecords:
    """The responses of one owner. Raises `StoreError` if the store fails."""

    def __init__(self, store: ResponseStore | None, owner: str) -> None:
        self._store = store
        self._owner = owner

    @property
    def kept(self) -> bool:
        """Whether anything is kept."""
        return self._store is not None

    async def keep(self, response: dict[str, Any], items: Sequence[InputItem]) -> None:
        """Keep a response, if it says that it is stored."""
        if self._store is None or not response["store"]:
            return
        shown = [_listed(dumped(item), index, response["id"]) for index, item in enumerate(items)]
        record = json.dumps({"response": response, "items": shown}, ensure_ascii=False)
        await self._store.put(response["id"], self._owner, record.encode())

    async def found(self, response_id: str) -> Kept:
        """Raises `ApiError` (404) where there is none, or none of this owner."""
        kept = await self._get(response_id)
        if kept is None:
            raise not_found(response_id)
        return kept

    async def delete(self, response_id: str) -> None:
        """Raises `ApiError` (404) where there is none."""
        if self._store is None or not await self._store.delete(response_id, self._owner):
            raise not_found(response_id)

    async def history(self, previous: str | None) -> list[InputItem]:
        """What went before a request that goes on from `previous`. Raises `ApiError` (400)."""
        if previous is None:
            return []
        if self._store is None:
            raise refusals.unsupported_parameter("previous_response_id", STATELESS)
        kept = await self._get(previous)
        if kept is None:
            message = (
                f"Previous response with id {refusals.quote(previous)} not found. It may have been deleted, "
                "or may be too old. Send the conversation as 'input'."
            )
            raise refusals.refusal(Code.PREVIOUS_NOT_FOUND, "previous_response_id", message)
        return _items([*kept.items, *kept.response["output"]])

    async def resolved(self, items: Sequence[InputItem]) -> list[InputItem]:
        """The items, each reference replaced by what it refers to where that is kept.

        Raises `ApiError` (400) for references that would cost more than any conversation needs.
        """
        named = _references(items)
        found: dict[str, InputItem] = {}
        for response_id in dict.fromkeys(named.values()):
            found |= await self._by_id(response_id)
        return [found.get(item.id, item) if isinstance(item, ItemReference) else item for item in items]

    async def _by_id(self, response_id: str) -> dict[str, InputItem]:
        kept = await self._get(response_id)
        if kept is None:
            return {}
        items = [*kept.items, *kept.response["output"]]
        return {item["id"]: read for item, read in zip(items, _items(items), strict=True)}

    async def _get(self, response_id: str) -> Kept | None:
        record = None if self._store is None else await self._store.get(response_id, self._owner)
        if record is None:
            return None
        read = json.loads(record)
        return Kept(read["response"], read["items"])


def not_found(response_id: str) -> ApiError:
    shown = refusals.quote(response_id)
    return ApiError(
        Code.RESPONSE_NOT_FOUND,
        f"Response with id {shown} not found. It was not stored, was deleted, or made room for newer ones.",
    )


def _references(items: Sequence[InputItem]) -> dict[str, str]:
    """The ids of the items that are referred to, with those of the responses that may have them."""
    named: dict[str, str] = {}
    for index, item in enumerate(items):
        if not isinstance(item, ItemReference) or (place := ITEM_ID.fullmatch(item.id)) is None:
            continue
        if item.id in named:
            reason = f"{refusals.quote(item.id)} was referred to before. It can stand in one place only."
            raise refusals.invalid(f"input[{index}].id", reason)
        named[item.id] = ID_PREFIX + place[1]
    if (count := len(set(named.values()))) > MAX_LOOKED_UP:
        raise refusals.invalid(
            "input",
            f"its references are to items of {count} responses, and may be to those of {MAX_LOOKED_UP}. "
            "Use 'previous_response_id', or send the items themselves.",
        )
    return named


def _items(items: Sequence[dict[str, Any]]) -> list[InputItem]:
    return read_body(ItemList, {"items": items}).items


def _listed(item: dict[str, Any], index: int, response_id: str) -> dict[str, Any]:
    """The item as lists of input have it: with type, id and status, and with parts in place of text."""
    kind = item.get("type") or "message"
    named = item.get("id") or f"{PREFIXES[kind]}_{response_id.removeprefix(ID_PREFIX)}i{index:x}"
    listed = {**item, "id": named, "type": kind, "status": item.get("status") or "completed"}
    if kind == "message" and isinstance(item["content"], str):
        part: dict[str, Any] = {"type": "input_text", "text": item["content"]}
        if item["role"] == "assistant":
            part = {**part, "type": "output_text", "annotations": []}
        listed["content"] = [part]
    return listed
