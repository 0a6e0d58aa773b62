"""Masks that may take long: tried in a process that is killed at the deadline, and never in the engine."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.schema.deadline import MOST_WAITING, CompileBusyError, CompileDeadline, Prepared
from server.schema.trial import byte_tokens

FAKE = Path(__file__).with_name("fake_compiler.py")
LONG = 60
"""Seconds in which even a busy machine answers."""

Made = Callable[..., CompileDeadline]


def tag(word: str) -> str:
    """The mask of one word, which tells the fake compiler what to do."""
    return json.dumps(
        {"type": "structural_tag", "format": {"type": "grammar", "grammar": f'root ::= "{word}"'}}
    )


def prepare() -> Prepared:
    return Prepared(byte_tokens().serialize_json(), tag("warm"))


@pytest.fixture(name="made")
def _made() -> Iterator[Made]:
    """Makes deadlines whose process is the fake compiler, and which doubt every mask."""
    all_made: list[CompileDeadline] = []

    def make(prepare: Callable[[], Prepared] = prepare, *, seconds: float = LONG) -> CompileDeadline:
        all_made.append(CompileDeadline(prepare, seconds=seconds, doubtful_ms=0, program=FAKE))
        return all_made[-1]

    yield make
    for deadline in all_made:
        deadline.close()


def test_the_real_process_compiles_what_is_right_and_says_what_is_wrong() -> None:
    """It has XGrammar and the vocabulary, and nothing of ours."""
    deadline = CompileDeadline(prepare, seconds=LONG, doubtful_ms=0)
    broken = tag("").replace('\\"\\"', "missing")

    assert deadline.fault(tag("good")) is None
    assert "missing" in str(deadline.fault(broken))
    deadline.close()


def test_a_doubtful_mask_that_compiles_in_time_passes(made: Made) -> None:
    """And the next, in the same process."""
    deadline = made()

    assert [deadline.fault(tag(word)) for word in ("a", "wrong", "b")] == [
        None,
        "cannot be compiled: no such rule",
        None,
    ]


@pytest.mark.parametrize(("word", "seconds"), [("hang", 1), ("die", LONG)])
def test_a_process_that_does_not_answer_is_replaced(made: Made, word: str, seconds: float) -> None:
    """Because it takes too long, or is gone: its mask is refused, and the next is tried anew."""
    deadline = made(seconds=seconds)

    fault = deadline.fault(tag(word))
    deadline._seconds = LONG

    assert fault == f"takes longer than {seconds} s to compile, or more memory than there is"
    assert deadline.fault(tag("a")) is None
    assert deadline.fault(tag(word)) == fault  # remembered


def test_a_process_that_cannot_be_prepared_refuses(made: Made) -> None:
    """Rather than to let a mask through untried."""
    deadline = made(lambda: Prepared("die", tag("warm")))

    assert "takes longer" in str(deadline.fault(tag("a")))


def test_a_cheap_mask_starts_no_process() -> None:
    """The vocabulary is not even asked for."""
    deadline = CompileDeadline(lambda: pytest.fail("the vocabulary was asked for"), seconds=LONG)

    assert deadline.fault(tag("a")) is None
    deadline.close()


def test_only_a_few_wait_for_their_turn(made: Made) -> None:
    """The others are told at once, or all threads that prepare requests would be waiting."""
    go_on = threading.Event()

    def slowly() -> Prepared:
        go_on.wait()
        return prepare()

    deadline = made(slowly)
    answers: list[object] = []

    def ask(word: str) -> None:
        try:
            answers.append(deadline.fault(tag(word)))
        except CompileBusyError:
            answers.append("busy")
            go_on.set()

    threads = [threading.Thread(target=ask, args=(f"a{number}",)) for number in range(MOST_WAITING + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == ["busy"] + [None] * MOST_WAITING
