"""Responses in one SQLite file, so that several front ends share them and they outlive a restart.

    store = FileStore.open(Path("responses.sqlite"), StoreBounds(count=1000, seconds=86400, size=2**28))

The file is in WAL mode: readers do not wait for a writer. Every call runs in the one thread of the store, so
that nothing else waits where another process keeps the file locked.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from server.store.responses import Clock, StoreBounds, StoreError

T = TypeVar("T")

WAIT_SECONDS = 10
"""How long to wait for another process that writes."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    until REAL NOT NULL,
    size INTEGER NOT NULL,
    record BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS total (count INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS by_until ON responses (until);
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON responses
    BEGIN UPDATE total SET count = count + 1, size = size + NEW.size; END;
CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON responses
    BEGIN UPDATE total SET count = count - 1, size = size - OLD.size; END;
INSERT INTO total SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM total);
"""
"""The totals are kept by triggers, so that room is made without counting everything again."""


class FileStore:
    """Keeps records in a file. `time.time` is its clock, which all processes of a machine share."""

    def __init__(self, connection: sqlite3.Connection, bounds: StoreBounds, clock: Clock) -> None:
        self._connection = connection
        self._bounds = bounds
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="responses")

    @classmethod
    def open(cls, path: Path, bounds: StoreBounds, *, clock: Clock = time.time) -> "FileStore":
        """Open the file, or make it. Raises `StoreError` if that is not possible."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)  # it has what users wrote; the files beside it follow
            connection = sqlite3.connect(
                path, timeout=WAIT_SECONDS, check_same_thread=False, isolation_level=None
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path} cannot be used: {error}") from error
        return cls(connection, bounds, clock)

    async def put(self, id: str, owner: str, record: bytes) -> None:
        if len(record) <= self._bounds.size:
            await self._run(lambda: self._put(id, owner, record))

    async def get(self, id: str, owner: str) -> bytes | None:
        return await self._run(lambda: self._get(id, owner))

    async def delete(self, id: str, owner: str) -> bool:
        return await self._run(lambda: self._delete(id, owner))

    async def close(self) -> None:
        await self._run(self._connection.close)
        self._thread.shutdown()

    def _put(self, id: str, owner: str, record: bytes) -> None:
        with self._connection as transaction:
            transaction.execute("BEGIN IMMEDIATE")
            transaction.execute("DELETE FROM responses WHERE id = ?", (id,))
            transaction.execute(
                "INSERT INTO responses (id, owner, until, size, record) VALUES (?, ?, ?, ?, ?)",
                (id, owner, self._clock() + self._bounds.seconds, len(record), record),
            )
            transaction.execute("DELETE FROM responses WHERE until <= ?", (self._clock(),))
            while not self._within():
                transaction.execute(
                    "DELETE FROM responses WHERE number = (SELECT MIN(number) FROM responses)"
                )

    def _within(self) -> bool:
        count: int
        size: int
        count, size = self._connection.execute("SELECT count, size FROM total").fetchone()
        return count <= self._bounds.count and size <= self._bounds.size

    def _get(self, id: str, owner: str) -> bytes | None:
        row = self._connection.execute(
            "SELECT record FROM responses WHERE id = ? AND owner = ? AND until > ?",
            (id, owner, self._clock()),
        ).fetchone()
        return None if row is None else bytes(row[0])

    def _delete(self, id: str, owner: str) -> bool:
        deleted = self._connection.execute(
            "DELETE FROM responses WHERE id = ? AND owner = ? AND until > ?", (id, owner, self._clock())
        )
        return deleted.rowcount > 0

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.Error as error:
            raise StoreError(f"the file of stored responses: {error}") from error
