"""Several generators read as one, and all of them closed whatever happens."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from server.answering.merge import merge


class Source:
    """Yields its items, then waits for ever or fails; remembers whether it was closed."""

    def __init__(self, *items: int, error: Exception | None = None, endless: bool = False) -> None:
        self.items = items
        self.error = error
        self.endless = endless
        self.closed = False

    async def read(self) -> AsyncGenerator[int, None]:
        try:
            for item in self.items:
                await asyncio.sleep(0)
                yield item
            if self.endless:
                await asyncio.Event().wait()
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True


@pytest.mark.parametrize("sources", [[Source(1, 2, 3)], [Source(1, 3), Source(), Source(2)]])
async def test_all_items_of_all_sources_come_and_then_the_end(sources: list[Source]) -> None:
    """Nothing is lost, and the merged generator ends when the last source has."""
    items = [item async for item in merge([source.read() for source in sources])]

    assert sorted(items) == [1, 2, 3]
    assert all(source.closed for source in sources)


@pytest.mark.parametrize("others", [[], [Source(endless=True)]])
async def test_the_first_error_is_raised_and_closes_the_others(others: list[Source]) -> None:
    """One failing source fails the whole, and leaves no other running."""
    failing = Source(1, error=KeyError("gone"))

    with pytest.raises(KeyError, match="gone"):
        async for _ in merge([source.read() for source in [failing, *others]]):
            pass

    assert all(source.closed for source in [failing, *others])


@pytest.mark.parametrize("count", [1, 3])
async def test_closing_early_closes_every_source(count: int) -> None:
    """A reader that goes away leaves nothing running."""
    sources = [Source(1, endless=True) for _ in range(count)]

    async with aclosing(merge([source.read() for source in sources])) as items:
        assert await anext(items) == 1

    assert all(source.closed for source in sources)


async def test_a_slow_reader_holds_the_sources_back() -> None:
    """Memory is bounded: a source is never far ahead of the reader."""
    read = [0, 0]

    async def endless(which: int) -> AsyncGenerator[int, None]:
        while True:
            read[which] += 1
            yield which
            await asyncio.sleep(0)

    async with aclosing(merge([endless(0), endless(1)])) as items:
        await anext(items)
        for _ in range(1000):
            await asyncio.sleep(0)

        assert sum(read) <= 12
