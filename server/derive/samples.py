r"""A call of known words as a template writes it, cut at those words.

sample(probe, ONE, "find_wombat", '{"burrow": "potoroo", "depth": 7531}')
# Sample(("<call>", "\n", "</call>"), between="</call><call>")
"""

from dataclasses import dataclass

from server.derive.probe import Call, Probe

ONE: Call = ("find_wombat", {"burrow": "potoroo", "depth": 7531})
TEXTS: Call = ("find_wombat", {"burrow": "potoroo", "depth": "bilby"})
TWO: Call = ("feed_numbat", {"meal": "bettong"})


@dataclass(frozen=True, slots=True)
class Sample:
    """What stands before, between and after the words.

    `between` stands between the last of them and the next call's name; None if the template shows one call.
    """

    pieces: tuple[str, ...]
    between: str | None


def sample(probe: Probe, call: Call, *words: str) -> Sample | None:
    """The sample of a call, None if its words do not come in this order."""
    alone = pieces(probe.written(call), *words)
    if alone is None:
        return None
    if not probe.parallel:
        return Sample(alone, None)
    pair = pieces(probe.written(call, TWO), *words, TWO[0])
    return None if pair is None else Sample(alone, pair[-2])


def pieces(text: str, *words: str) -> tuple[str, ...] | None:
    """What stands around the words, None if they do not come in this order."""
    found = []
    for word in words:
        piece, mark, text = text.partition(word)
        if not mark:
            return None
        found.append(piece)
    return *found, text
