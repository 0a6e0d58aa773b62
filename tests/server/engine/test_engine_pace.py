"""What steps read of prompts follows the time that they take."""

import pytest

from server.engine.pace import LEAST, STEP_SECONDS, Pace


def seconds(piece: int, *, before: int) -> float:
    """What a step takes that reads a piece, roughly as measured on two cores."""
    return 0.04 + piece * (0.0009 + 1.1e-6 * before)


def test_a_prompt_begins_with_the_longest_piece() -> None:
    """Nothing is known yet that speaks against it."""
    assert Pace(most=128).tokens == 128


def test_pieces_shrink_as_the_prompt_grows_and_steps_stay_short() -> None:
    """Who waits for a token does not wait longer because somebody's prompt is long."""
    pace, before, pieces = Pace(most=128), 0, []
    while before < 8_000:
        took = seconds(pace.tokens, before=before)
        assert took <= 1.3 * STEP_SECONDS
        pieces.append(pace.tokens)
        before += pace.tokens
        pace.took(took)

    assert (pieces[0], pieces[-1]) == (128, LEAST)
    assert sorted(pieces[1:], reverse=True) == pieces[1:]


@pytest.mark.parametrize(
    ("took", "piece"),
    [
        pytest.param(1_000.0, 32, id="a stall of another cause quarters the piece at most"),
        pytest.param(2 * STEP_SECONDS, 64, id="twice too long is twice too much"),
        pytest.param(0.0, 128, id="never more than the longest"),
    ],
)
def test_the_next_piece_follows_the_last_step(took: float, piece: int) -> None:
    """In proportion, within bounds."""
    pace = Pace(most=128)
    pace.took(took)

    assert pace.tokens == piece


@pytest.mark.parametrize(("prompts", "share"), [(0, 128), (1, 128), (3, 42), (100, LEAST)])
def test_prompts_share_what_a_step_reads(prompts: int, share: int) -> None:
    """So a short prompt does not wait until a long one is read, and none stands still."""
    assert Pace(most=128).share(128, prompts) == share


def test_pieces_grow_again_step_by_step() -> None:
    """A long prompt does not slow down the next one for good."""
    pace = Pace(most=128)
    for _ in range(10):
        pace.took(100.0)
    shortest = pace.tokens
    pace.took(0.001)

    assert (shortest, pace.tokens) == (LEAST, 2 * LEAST)


@pytest.mark.parametrize("most", [0, 1, 8])
def test_a_user_may_want_shorter_pieces_or_none(most: int) -> None:
    """0 is vLLM's word for prompts that are read whole."""
    pace = Pace(most=most)
    pace.took(100.0)

    assert pace.tokens == most
