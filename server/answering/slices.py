"""Large outputs of an engine in slices, so that one stream does not keep the event loop from the others.

    for part in in_slices(output):
        …                              # at most `SLICE` tokens; the others have their turn before the next

An engine gathers what its reader was too slow for. A client that did not read for a minute makes thousands
of tokens come at once, and all of them would be read in one go.
"""

from collections.abc import Sequence

from server.engine.protocol import Output

SLICE = 256
"""Tokens that are read in a few milliseconds."""


def in_slices(output: Output) -> Sequence[Output]:
    """The parts of an output: itself, if it is not large."""
    if len(output.token_ids) <= SLICE:
        return (output,)
    return [_part(output, at) for at in range(0, len(output.token_ids), SLICE)]


def _part(output: Output, at: int) -> Output:
    """The tokens from `at` on; only the last part says how the output finishes."""
    end = at + SLICE
    return Output(
        output.token_ids[at:end],
        output.finish if end >= len(output.token_ids) else None,
        output.logprobs[at:end],
        output.cached_tokens,
    )
