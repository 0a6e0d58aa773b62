"""What the garbage collector leaves alone, and what is freed all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from server.engine.memory import return_memory, set_heap_aside


class Held:
    """Something that refers to itself, as a dead engine does."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _thaw() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_a_server_begins_with_is_not_collected_again() -> None:
    """A full collection of the engine's library would stop all streams for a while."""
    kept: list[list[str]] = [[]]
    set_heap_aside()

    assert gc.get_freeze_count() > 0
    assert not any(each is kept for each in gc.get_objects())


def test_what_was_set_aside_is_freed_once_it_is_of_no_use() -> None:
    """An engine that the server began with would otherwise stay for ever after its death."""
    held = Held()
    gone = weakref.ref(held)
    set_heap_aside()
    del held
    gc.collect()
    assert gone() is not None

    return_memory()

    assert gone() is None
    assert gc.get_freeze_count() > 0


def test_nothing_is_set_aside_that_was_not() -> None:
    """A program that never asked for it keeps an ordinary collector."""
    gc.unfreeze()

    return_memory()

    assert gc.get_freeze_count() == 0
