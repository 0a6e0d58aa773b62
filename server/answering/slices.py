"""Large outputs of an engine in slices, so that one stream does not keep the event loop from the others.

    async for output in in_slices(engine.generate(…)):
        …                                  # at most `SLICE` tokens; the rest comes after the others' turn

An engine gathers what its reader was too slow for. A client that did not read for a minute makes thousands
of tokens come at once, and all of them would be read in one go.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from server.engine.protocol import Output

SLICE = 256
"""Tokens that are read in a few milliseconds."""


async def in_slices(outputs: AsyncGenerator[Output, None]) -> AsyncGenerator[Output, None]:
    """Yield the outputs, large ones in parts; closing it closes `outputs`."""
    async with aclosing(outputs):
        async for output in outputs:
            if len(output.token_ids) <= SLICE:
                yield output
                continue
            for at in range(0, len(output.token_ids), SLICE):
                yield _part(output, at)
                await asyncio.sleep(0)


def _part(output: Output, at: int) -> Output:
    """The tokens from `at` on; only the last part says how the output finishes."""
    end = at + SLICE
    return Output(
        output.token_ids[at:end],
        output.finish if end >= len(output.token_ids) else None,
        output.logprobs[at:end],
        output.cached_tokens,
    )
