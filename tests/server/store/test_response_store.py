"""Stores of responses: bounded, for a time, for their owners; in memory and in a file alike."""

import asyncio
import sqlite3
import tracemalloc
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from server.config.settings import Settings, SettingsError
from server.store.file import FileStore
from server.store.open import open_store
from server.store.responses import MemoryStore, ResponseStore, StoreBounds, StoreError

BOUNDS = StoreBounds(count=3, seconds=60, size=1000)

Open = Callable[[StoreBounds], ResponseStore]


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture(name="store", params=["memory", "file"])
async def _store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncIterator[ResponseStore]:
    store: ResponseStore = MemoryStore(BOUNDS, clock=clock)
    if request.param == "file":
        store = FileStore.open(tmp_path / "new" / "responses.sqlite", BOUNDS, clock=clock)
    yield store
    await store.close()


async def test_only_the_owner_finds_a_record(store: ResponseStore) -> None:
    """For others there is none, to read or to delete."""
    await store.put("a", "me", b"1")

    assert await store.get("a", "you") is None
    assert not await store.delete("a", "you")
    assert await store.get("a", "me") == b"1"
    assert await store.delete("a", "me")
    assert await store.get("a", "me") is None
    assert not await store.delete("a", "me")


async def test_the_oldest_go_first(store: ResponseStore) -> None:
    """One more than the limit costs one."""
    for name in "abcd":
        await store.put(name, "", name.encode())

    assert [await store.get(name, "") for name in "abcd"] == [None, b"b", b"c", b"d"]


async def test_bytes_are_a_limit_too(store: ResponseStore) -> None:
    """As many go as there is no room for; what is larger than all of it is not kept, at nobody's cost."""
    for name, size in (("a", 400), ("b", 400), ("c", 900), ("d", 1001)):
        await store.put(name, "", bytes(size))

    found = [await store.get(name, "") is not None for name in "abcd"]
    assert found == [False, False, True, False]


async def test_a_record_is_kept_for_its_time(store: ResponseStore, clock: Clock) -> None:
    """Then it is as if it had been deleted, and makes room for others."""
    await store.put("a", "", b"1")
    clock.now += 59

    assert await store.get("a", "") == b"1"
    clock.now += 1
    assert await store.get("a", "") is None
    assert not await store.delete("a", "")


async def test_a_record_that_comes_again_is_the_new_one(store: ResponseStore) -> None:
    """And counts once."""
    for text in (b"1", b"2", b"3", b"4"):
        await store.put("a", "", text)
    await store.put("b", "", b"5")
    await store.put("c", "", b"6")

    assert [await store.get(name, "") for name in "abc"] == [b"4", b"5", b"6"]


async def test_memory_stays_flat_under_a_limit() -> None:
    """10,000 records of 2 KB under a limit of 1,000: no more than 1,000 of them are there at any time."""
    store = MemoryStore(StoreBounds(count=1000, seconds=3600, size=2**28))
    tracemalloc.start()
    grown = []
    for number in range(10_000):
        await store.put(f"resp_{number:032x}", "", bytes(2000))
        if number >= 999 and number % 1000 == 999:
            grown.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()

    assert await store.get(f"resp_{8999:032x}", "") is None
    assert await store.get(f"resp_{9000:032x}", "") is not None
    assert max(grown) < 1.1 * grown[0]
    assert grown[0] < 3e6


async def test_a_file_stays_bounded(tmp_path: Path) -> None:
    """Room that old records leave is used again."""
    path = tmp_path / "responses.sqlite"
    store = FileStore.open(path, StoreBounds(count=50, seconds=3600, size=2**28))
    for number in range(100):
        await store.put(f"resp_{number}", "", bytes(5000))
    first = path.stat().st_size
    for number in range(100, 400):
        await store.put(f"resp_{number}", "", bytes(5000))
    await store.close()

    assert path.stat().st_size < 2 * max(first, 50 * 5000)


async def test_two_servers_agree_over_one_file(tmp_path: Path) -> None:
    """What one keeps, the other finds, deletes, and counts; at the same time, too."""
    path = tmp_path / "responses.sqlite"
    bounds = replace(BOUNDS, count=20)
    one, other = (FileStore.open(path, bounds) for _ in range(2))
    await asyncio.gather(
        *(
            store.put(f"{name}{number}", "", b"x")
            for name, store in (("a", one), ("b", other))
            for number in range(20)
        )
    )

    names = [f"{name}{number}" for name in "ab" for number in range(20)]
    by_one = [name for name in names if await one.get(name, "")]
    by_other = [name for name in names if await other.get(name, "")]
    assert len(by_one) == 20
    assert by_one == by_other
    assert await other.delete(by_one[0], "")
    assert await one.get(by_one[0], "") is None
    await one.close()
    await other.close()


def modes(folder: Path) -> dict[str, int]:
    """The files of a folder, and who may read and write them."""
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


async def test_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """It has what users wrote, and so have the files that SQLite puts beside it."""
    store = FileStore.open(tmp_path / "responses.sqlite", BOUNDS)
    await store.put("a", "", b"1")

    found = modes(tmp_path)
    await store.close()
    assert found == dict.fromkeys(("responses.sqlite", "responses.sqlite-shm", "responses.sqlite-wal"), 0o600)


async def test_a_file_outlives_its_server(tmp_path: Path) -> None:
    """A restart forgets nothing."""
    path = tmp_path / "responses.sqlite"
    store = FileStore.open(path, BOUNDS)
    await store.put("a", "", b"1")
    await store.close()
    again = FileStore.open(path, BOUNDS)

    assert await again.get("a", "") == b"1"
    await again.close()


async def test_a_broken_file_is_a_store_error(tmp_path: Path) -> None:
    """Whatever SQLite raises, callers know one error."""
    path = tmp_path / "responses.sqlite"
    store = FileStore.open(path, BOUNDS)
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE responses")

    with pytest.raises(StoreError):
        await store.get("a", "")
    with pytest.raises(StoreError):
        await store.put("a", "", b"1")
    await store.close()


def test_the_settings_choose_the_store(tmp_path: Path) -> None:
    """Memory, a file, or none; a file that is none is a setting that is wrong."""
    bad = tmp_path / "text"
    bad.write_text("This is no database, but long enough to be looked at as one." * 20)

    assert isinstance(open_store(Settings()), MemoryStore)
    assert isinstance(open_store(Settings(response_store=str(tmp_path / "a.sqlite"))), FileStore)
    assert open_store(Settings(response_store="off")) is None
    with pytest.raises(SettingsError, match="--response-store"):
        open_store(Settings(response_store=str(bad)))
