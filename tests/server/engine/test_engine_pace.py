"""What steps read of prompts follows the time that they take."""

import pytest

from server.engine.pace import LEAST, READING_SECONDS, Pace, share

WRITING = 0.04


def fresh(tokens: int = 0) -> Pace:
    pace = Pace(128, tokens)
    pace.wrote(WRITING, 1)
    return pace


def seconds(piece: int, *, before: int) -> float:
    """What a step takes that reads a piece, roughly as measured on two cores."""
    return WRITING + piece * (0.0009 + 1.1e-6 * before)


def test_the_first_prompt_begins_with_a_short_piece() -> None:
    """How fast the machine is nobody knows, and on a slow one all would wait for a long piece."""
    pace, pieces = fresh(), []
    for _ in range(4):
        pieces.append(pace.tokens)
        pace.read(seconds(pace.tokens, before=0), 1)

    assert pieces == [32, 64, 128, 128]


def test_pieces_shrink_as_the_prompt_grows_and_steps_stay_short() -> None:
    """Who waits for a token does not wait longer because somebody's prompt is long."""
    pace, before, pieces = fresh(), 0, []
    while before < 8_000:
        took = seconds(pace.tokens, before=before)
        assert took <= WRITING + 1.3 * READING_SECONDS
        pieces.append(pace.tokens)
        before += pace.tokens
        pace.read(took, 1)

    assert max(pieces) == 128 > 4 * pieces[-1]
    assert sorted(pieces[3:], reverse=True) == pieces[3:]


@pytest.mark.parametrize(
    ("took", "piece"),
    [
        pytest.param(1_000.0, 32, id="a stall of another cause quarters the piece at most"),
        pytest.param(WRITING + 2 * READING_SECONDS, 64, id="twice too long is twice too much"),
        pytest.param(0.0, 128, id="never more than the longest"),
    ],
)
def test_the_next_piece_follows_the_last_step(took: float, piece: int) -> None:
    """In proportion, within bounds."""
    pace = fresh(tokens=128)
    pace.read(took, 1)

    assert pace.tokens == piece


@pytest.mark.parametrize(("prompts", "each"), [(0, 128), (1, 128), (3, 42), (100, LEAST)])
def test_prompts_share_what_a_step_reads(prompts: int, each: int) -> None:
    """So a short prompt does not wait until a long one is read, and none stands still."""
    assert share(128, prompts) == each


def test_pieces_grow_again_step_by_step() -> None:
    """A long prompt does not slow down the next one for good."""
    pace = Pace(128)
    for _ in range(10):
        pace.read(100.0, 1)
    shortest = pace.tokens
    pace.read(0.001, 1)

    assert (shortest, pace.tokens) == (LEAST, 2 * LEAST)


@pytest.mark.parametrize("most", [0, 1, 8])
def test_a_user_may_want_shorter_pieces_or_none(most: int) -> None:
    """0 is vLLM's word for prompts that are read whole."""
    pace = Pace(most)
    pace.read(100.0, 1)

    assert pace.tokens == most


def test_who_waits_long_anyway_may_wait_in_proportion() -> None:
    """Or many prompts would take for ever beside many that write."""
    pace = Pace(128, tokens=128)
    pace.wrote(0.3, 1)
    pace.read(0.74, 1)

    assert pace.tokens == 128


def test_a_step_that_others_made_slow_says_little_of_writing() -> None:
    """Or prompts were read as if the machine were slow: in longer pieces."""
    pace = Pace(128)
    pace.wrote(0.1, 1)
    pace.wrote(1.0, 1)
    assert pace.writing[1] == pytest.approx(0.105)

    pace.wrote(0.05, 1)
    assert pace.writing[1] == 0.05


def test_many_that_write_are_not_taken_for_slow_reading() -> None:
    """A step that writes for many takes longer by itself."""
    pace = Pace(128, tokens=64)
    for writers, took in ((1, 0.08), (20, 0.24)):
        pace.wrote(took, writers)
    pace.read(0.24 + 0.36, 30)

    assert pace.tokens in (63, 64)
