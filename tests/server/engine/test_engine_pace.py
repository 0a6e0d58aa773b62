"""What steps read of prompts follows the time that they take."""

import pytest

from server.engine.pace import LEAST, PROMPTS, READING_SECONDS, Pace

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
        pieces.append(pace.share(pace.tokens, 1))
        pace.read(pieces[-1], seconds(pieces[-1], before=0), 1)

    assert pieces == [32, 64, 128, 128]


def test_pieces_shrink_as_the_prompt_grows_and_steps_stay_short() -> None:
    """Who waits for a token does not wait longer because somebody's prompt is long."""
    pace, before, pieces = fresh(), 0, []
    while before < 8_000:
        pieces.append(pace.share(pace.tokens, 1))
        took = seconds(pieces[-1], before=before)
        assert took <= WRITING + 1.3 * READING_SECONDS
        before += pieces[-1]
        pace.read(pieces[-1], took, 1)

    assert max(pieces) == 128 > 4 * pieces[-1]
    assert sorted(pieces[3:], reverse=True) == pieces[3:]


@pytest.mark.parametrize(
    ("took", "piece"),
    [
        pytest.param(1_000.0, 32, id="a stall of another cause quarters the piece at most"),
        pytest.param(WRITING + 2 * READING_SECONDS, 64, id="twice too long is twice too much"),
        pytest.param(0.0, 256, id="twice as much at most"),
    ],
)
def test_the_next_piece_follows_the_last_step(took: float, piece: int) -> None:
    """In proportion, within bounds."""
    pace = fresh(tokens=128)
    pace.read(128, took, 1)

    assert pace.tokens == piece


def test_short_prompts_that_come_together_are_read_together() -> None:
    """Where the machine has time for it: of one prompt a step reads no more than it may."""
    pace = fresh()
    for _ in range(10):
        pace.read(pace.tokens, WRITING + 0.01, 32)

    assert (pace.tokens, pace.share(pace.tokens, 1)) == (PROMPTS * 128, 128)


@pytest.mark.parametrize(("read", "tokens"), [(20, 512), (128, 128)])
def test_one_prompt_tells_that_less_fits_and_a_few_tokens_tell_nothing(read: int, tokens: int) -> None:
    """Many short prompts are quick to read together, and then a long one comes."""
    pace = fresh(tokens=512)
    pace.read(read, WRITING + 0.4, 1)

    assert pace.tokens == tokens


def test_only_what_was_read_tells_what_may_be_read() -> None:
    """A prompt that was shorter than it might have been was quick for that."""
    pace = fresh(tokens=256)
    pace.read(200, WRITING + 0.01, 1)

    assert pace.tokens == 256


@pytest.mark.parametrize(("prompts", "each"), [(0, 128), (1, 128), (3, 42), (100, LEAST)])
def test_prompts_share_what_a_step_reads(prompts: int, each: int) -> None:
    """So a short prompt does not wait until a long one is read, and none stands still."""
    assert Pace(128).share(128, prompts) == each


def test_pieces_grow_again_step_by_step() -> None:
    """A long prompt does not slow down the next one for good."""
    pace = Pace(128)
    for _ in range(10):
        pace.read(128, 100.0, 1)
    shortest = pace.tokens
    pace.read(shortest, 0.001, 1)

    assert (shortest, pace.tokens) == (LEAST, 2 * LEAST)


@pytest.mark.parametrize("most", [0, 1, 8])
def test_a_user_may_want_shorter_pieces_or_none(most: int) -> None:
    """0 is vLLM's word for prompts that are read whole."""
    pace = Pace(most)
    pace.read(most, 100.0, 1)

    assert (pace.tokens, pace.share(pace.tokens, 3)) == (most, most)


def test_who_waits_long_anyway_may_wait_in_proportion() -> None:
    """Or many prompts would take for ever beside many that write."""
    pace = Pace(128, tokens=128)
    pace.wrote(0.3, 1)
    pace.read(128, 0.745, 1)

    assert pace.tokens == 129


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
    pace.read(64, 0.24 + 0.36, 30)

    assert pace.tokens in (63, 64)
