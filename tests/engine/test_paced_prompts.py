"""What steps read of prompts, by a scheduler that stands for vLLM's: it schedules what it is allowed to."""

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from server.engine import core
from server.engine.core import PacedPrompts

pytestmark = pytest.mark.engine

LONGEST = 128


@dataclass
class Sequence:
    """A request as the scheduler sees it; one that writes has read all but its last token."""

    num_tokens: int
    num_computed_tokens: int = 0
    drafts: int = 0

    @property
    def num_tokens_with_spec(self) -> int:
        return self.num_tokens + self.drafts


def writer(drafts: int = 0) -> Sequence:
    return Sequence(num_tokens=50, num_computed_tokens=49, drafts=drafts)


def reader() -> Sequence:
    return Sequence(num_tokens=5_000, num_computed_tokens=2_000)


class Scheduler:
    """Gives each sequence what the limits allow, in turn."""

    def __init__(self, running: Iterable[Sequence], waiting: Iterable[Sequence]) -> None:
        self.scheduler_config = SimpleNamespace(long_prefill_token_threshold=LONGEST)
        self.max_num_scheduled_tokens = 2_048
        self.running: Any = list(running)
        self.waiting: Any = list(waiting)

    def get_request_counts(self) -> tuple[int, int]:
        return len(self.running), len(self.waiting)

    def schedule(self) -> Any:
        left = self.max_num_scheduled_tokens
        for sequence in (*self.running, *self.waiting):
            unread = sequence.num_tokens - sequence.num_computed_tokens
            left -= min(left, unread, self.scheduler_config.long_prefill_token_threshold)
        return SimpleNamespace(total_num_scheduled_tokens=self.max_num_scheduled_tokens - left)

    def update_from_output(self) -> str:
        return "outputs"


class Paced(PacedPrompts, Scheduler):
    """The mixin and what it is mixed into."""


@pytest.mark.parametrize(
    ("running", "waiting", "read"),
    [
        pytest.param([writer()], [Sequence(1_000)], LONGEST // 4 + 1, id="a prompt begins with little"),
        pytest.param([writer()], [Sequence(20), Sequence(20)], LONGEST // 4 + 1, id="prompts share a step"),
        pytest.param([writer()], [Sequence(20)], 21, id="a short one is read at once"),
        pytest.param([], [Sequence(1_000)], LONGEST, id="nobody waits for who is alone"),
    ],
)
def test_a_step_reads_little_of_prompts_that_others_wait_for(
    running: list[Sequence], waiting: list[Sequence], read: int
) -> None:
    """How fast the machine is, is known after a step or two."""
    assert Paced(running, waiting).schedule().total_num_scheduled_tokens == read


@pytest.mark.parametrize(
    ("running", "step", "each"),
    [
        pytest.param([writer(), reader()], 1 + 32, 32, id="a long prompt beside a stream"),
        pytest.param([reader(), reader(), writer()], 1 + 32, 16, id="two long prompts before a stream"),
        pytest.param([writer(drafts=9), *[reader()] * 16], 10 + 256, 16, id="many long prompts"),
        pytest.param([reader(), reader()], LONGEST, 64, id="nobody writes yet"),
    ],
)
def test_a_step_has_room_for_all_who_write_and_some_of_each_prompt(
    running: list[Sequence], step: int, each: int
) -> None:
    """However much is to be read, every stream has its token in every step."""
    paced = Paced(running, [])
    paced.schedule()

    assert paced.max_num_scheduled_tokens == step
    assert paced.scheduler_config.long_prefill_token_threshold == each


def test_a_slow_machine_reads_less_and_a_fast_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step takes that reads nothing is not the prompts' fault."""
    now = 0.0
    monkeypatch.setattr(core, "time", SimpleNamespace(perf_counter=lambda: now))
    scheduler = Paced([writer(), writer()], [])

    def step(seconds: float) -> int:
        nonlocal now
        read: int = scheduler.schedule().total_num_scheduled_tokens
        now += seconds
        scheduler.update_from_output()
        return read

    assert step(0.1) == 2  # the two that write
    scheduler.waiting = [Sequence(1_000)]
    assert [step(0.1 + took) - 2 for took in (0.05, 0.4, 0.19, 0.2)] == [32, 64, 32, 33]


@pytest.mark.parametrize(
    ("running", "waiting"),
    [
        pytest.param([writer()], [Sequence(20)], id="a short prompt"),
        pytest.param([], [Sequence(1_000)], id="alone"),
        pytest.param([], [], id="nothing to do"),
    ],
)
def test_a_step_that_does_not_read_all_it_may_tells_nothing(
    running: list[Sequence], waiting: list[Sequence], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it took, the next long prompt beside a stream begins as the first would."""
    clock = iter([100.0, 1_000.0, 1_001.0])
    monkeypatch.setattr(core, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    paced = Paced(running, waiting)
    paced.schedule()
    assert paced.update_from_output() == "outputs"
    paced.running, paced.waiting = [writer()], [Sequence(1_000)]

    assert paced.schedule().total_num_scheduled_tokens == 33
