"""Masks that may take long: tried in a process that is killed at the deadline, and never in the engine."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.mask.trial import byte_tokens
from server.schema.deadline import MOST_TRIED, CompileBusyError, CompileDeadline, Prepared

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


@pytest.mark.parametrize(("word", "seconds"), [("hang", 0.2), ("die", LONG), ("eat", LONG)])
def test_a_mask_that_takes_too_much_is_refused(made: Made, word: str, seconds: float) -> None:
    """Of time or memory, or ends its process: the next is tried as if nothing had been (B252, B276)."""
    deadline = made(seconds=seconds)

    fault = deadline.fault(tag(word))

    assert fault == f"takes longer than {seconds:g} s to compile, or more memory than there is"
    assert deadline.fault(tag("a")) is None
    assert deadline.fault(tag(word)) == fault


def test_a_mask_that_gets_no_processor_is_not_at_fault(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is busy, which it says, and does not remember it of the mask."""
    monkeypatch.setattr("server.schema.deadline.PATIENCE", 0.1)
    deadline = made(seconds=1)

    with pytest.raises(CompileBusyError):
        deadline.fault(tag("sleep"))
    assert deadline.fault(tag("a")) is None


def test_a_process_that_is_gone_is_started_again(made: Made) -> None:
    """Whoever ended it (B245)."""
    deadline = made()
    deadline.start()
    worker = deadline._worker
    assert worker is not None
    worker._process.kill()
    worker._process.wait()

    assert deadline.fault(tag("wrong")) == "cannot be compiled: no such rule"


def test_what_is_hopeless_is_not_even_tried() -> None:
    """By an estimate that is many times the deadline."""
    deadline = CompileDeadline(prepare, seconds=0.001, doubtful_ms=0, program=Path("/nowhere"))

    fault = deadline.fault(tag('" [^a]{1,9999} "'))

    assert "takes longer than 0.001 s" in str(fault)


def test_a_process_that_cannot_be_prepared_refuses(made: Made) -> None:
    """Rather than to let a mask through untried."""
    deadline = made(lambda: Prepared("die", tag("warm")))

    with pytest.raises(CompileBusyError):
        deadline.fault(tag("a"))


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

    threads = [threading.Thread(target=ask, args=(f"a{number}",)) for number in range(MOST_TRIED + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == ["busy"] + [None] * MOST_TRIED
