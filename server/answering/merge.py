"""Several async generators as one, in the order their items come.

    async with aclosing(merge([letters(), digits()])) as items:
        async for item in items: …

Closing the merged generator closes every source; the first error of a source is raised and closes the others.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

AHEAD = 4
"""Items a source may be ahead of a slow reader; then it waits, and the engine gathers its tokens."""


@dataclass(frozen=True, slots=True)
class _Ended:
    error: Exception | None


def merge(sources: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    """Yield the items of all `sources`; ends when all have ended."""
    return sources[0] if len(sources) == 1 else _merged(sources)


async def _merged(sources: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    queue: asyncio.Queue[T | _Ended] = asyncio.Queue(AHEAD * len(sources))
    tasks = [asyncio.create_task(_pump(source, queue)) for source in sources]
    try:
        running = len(tasks)
        while running:
            got = await queue.get()
            if not isinstance(got, _Ended):
                yield got
            elif got.error is not None:
                raise got.error
            else:
                running -= 1
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(source: AsyncGenerator[T, None], queue: "asyncio.Queue[T | _Ended]") -> None:
    error: Exception | None = None
    try:
        async with aclosing(source):
            async for item in source:
                await queue.put(item)
    except Exception as raised:  # noqa: BLE001 - whatever it is, the reader's task raises it again
        error = raised
    await queue.put(_Ended(error))
