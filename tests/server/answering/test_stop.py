"""Stop sequences cut the text for the user, however it arrives."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from server.answering.stop import StopSequences


def run(stop: StopSequences, pieces: list[str]) -> str:
    return "".join([stop.feed(piece) for piece in pieces]) + stop.finish()


def test_text_ends_before_the_stop_sequence_that_completes_first() -> None:
    """The sequence that is complete first wins, whatever their order in the request."""
    stop = StopSequences(("three", "two"))

    assert run(stop, ["one two three"]) == "one "
    assert stop.matched


def test_a_beginning_that_does_not_complete_is_released() -> None:
    """Held-back text is part of the answer when it turns out to be no stop sequence."""
    stop = StopSequences(("END",))

    assert stop.feed("the E") == "the "
    assert stop.feed("N") == ""
    assert stop.feed("T") == "ENT"
    assert stop.feed("EN") == ""
    assert stop.finish() == "EN"
    assert not stop.matched


def test_nothing_passes_after_a_match() -> None:
    """What the model writes after a stop sequence is not part of the answer."""
    stop = StopSequences(("\n",))

    assert stop.feed("a\nb") == "a"
    assert stop.feed("c") == ""
    assert stop.finish() == ""


def test_without_sequences_everything_passes_at_once() -> None:
    """No stop sequences, nothing held."""
    stop = StopSequences(())

    assert stop.feed("abc") == "abc"


@given(
    text=st.text("ab", max_size=30),
    sequences=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 30), max_size=8),
)
def test_any_cut_of_the_text_gives_the_same_answer(text: str, sequences: list[str], cuts: list[int]) -> None:
    """Streaming deltas of any size end the answer at the same place as the whole text does."""
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    ends = [at + len(sequence) for sequence in sequences if (at := text.find(sequence)) >= 0]
    stop = StopSequences(sequences)

    got = run(stop, pieces)

    assert (stop.matched is not None) == bool(ends)
    assert got == run(StopSequences(sequences), [text])
    if ends:
        complete = text[: min(ends)]
        assert complete.removeprefix(got) in sequences
    else:
        assert got == text
