"""Where responses are kept for `previous_response_id`: bounded, for a time, each for the key that made it.

    store = MemoryStore(StoreBounds(count=1000, seconds=86400, size=2**28))
    await store.put("resp_1", "owner", b"…")
    await store.get("resp_1", "owner")       # b"…"; None for anybody else, and when it is too old
    await store.delete("resp_1", "owner")    # True

A record is one text, so that its size is known; what is in it is the surface's own.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Clock = Callable[[], float]


class StoreError(Exception):
    """A record could not be read or written, as on a full disk. The message says why."""


@dataclass(frozen=True, slots=True)
class StoreBounds:
    """The most records, how long each is kept, and the most bytes of all of them; the oldest go first."""

    count: int
    seconds: int
    size: int


class ResponseStore(Protocol):
    """Keeps records by id. Only their owner finds them. All raise `StoreError`."""

    async def put(self, id: str, owner: str, record: bytes) -> None:
        """Keep a new record, and let the oldest go for it. One that is larger than all bounds is not kept."""
        ...

    async def get(self, id: str, owner: str) -> bytes | None: ...

    async def delete(self, id: str, owner: str) -> bool:
        """Whether there was one to delete."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Kept:
    owner: str
    record: bytes
    until: float


class MemoryStore:
    """Keeps records as long as the process lives. Each costs its bytes and little more."""

    def __init__(self, bounds: StoreBounds, *, clock: Clock = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0

    async def put(self, id: str, owner: str, record: bytes) -> None:
        if len(record) > self._bounds.size:
            return
        self._drop(id)
        self._kept[id] = _Kept(owner, record, self._clock() + self._bounds.seconds)
        self._size += len(record)
        self._make_room()

    async def get(self, id: str, owner: str) -> bytes | None:
        kept = self._kept.get(id)
        if kept is None or kept.owner != owner or kept.until <= self._clock():
            return None
        return kept.record

    async def delete(self, id: str, owner: str) -> bool:
        if await self.get(id, owner) is None:
            return False
        self._drop(id)
        return True

    async def close(self) -> None:
        self._kept.clear()
        self._size = 0

    def _make_room(self) -> None:
        """Let go of what is too old, too many or too much. Records stand in the order of their age."""
        now = self._clock()
        while self._kept:
            oldest = next(iter(self._kept))
            within = len(self._kept) <= self._bounds.count and self._size <= self._bounds.size
            if within and self._kept[oldest].until > now:
                return
            self._drop(oldest)

    def _drop(self, id: str) -> None:
        kept = self._kept.pop(id, None)
        if kept is not None:
            self._size -= len(kept.record)
