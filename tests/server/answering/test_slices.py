"""Large outputs in slices: nothing is lost."""

from server.answering.slices import SLICE, in_slices
from server.engine.protocol import Finish, Output, TokenLogprob


def test_an_output_of_ordinary_size_is_not_touched() -> None:
    """It is the same object, up to the largest size."""
    for output in (Output((1, 2)), Output(tuple(range(SLICE)), Finish.STOP)):
        [part] = in_slices(output)

        assert part is output


def test_a_large_output_comes_in_parts_that_join_to_it() -> None:
    """Tokens and their log probabilities stay together, and only the last part says the finish."""
    ids = tuple(range(2 * SLICE + 1))
    logprobs = tuple(TokenLogprob(token_id, -1.0) for token_id in ids)

    parts = in_slices(Output(ids, Finish.LENGTH, logprobs, 7))

    assert [len(part.token_ids) for part in parts] == [SLICE, SLICE, 1]
    assert sum((part.token_ids for part in parts), ()) == ids
    assert sum((part.logprobs for part in parts), ()) == logprobs
    assert [part.finish for part in parts] == [None, None, Finish.LENGTH]
    assert {part.cached_tokens for part in parts} == {7}


def test_a_whole_number_of_parts_ends_with_the_finish() -> None:
    """No empty part comes behind."""
    parts = in_slices(Output(tuple(range(2 * SLICE)), Finish.STOP))

    assert [(len(part.token_ids), part.finish) for part in parts] == [(SLICE, None), (SLICE, Finish.STOP)]
