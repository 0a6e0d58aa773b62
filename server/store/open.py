"""Which store a server keeps its responses in, by its settings.

open_store(Settings(response_store="responses.sqlite"))    # a FileStore; None if it is "off"
"""

from pathlib import Path

from server.config.settings import MEMORY, OFF, Settings, SettingsError
from server.store.file import FileStore
from server.store.responses import MemoryStore, ResponseStore, StoreBounds, StoreError


def open_store(settings: Settings) -> ResponseStore | None:
    """Raises `SettingsError` for a file that cannot be used."""
    bounds = StoreBounds(
        count=settings.response_store_limit,
        seconds=settings.response_store_seconds,
        size=settings.response_store_bytes,
    )
    if settings.response_store == OFF:
        return None
    if settings.response_store == MEMORY:
        return MemoryStore(bounds)
    try:
        return FileStore.open(Path(settings.response_store).expanduser(), bounds)
    except StoreError as error:
        raise SettingsError(f"--response-store: {error}") from error
