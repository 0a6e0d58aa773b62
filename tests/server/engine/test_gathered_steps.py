"""Steps that are told together: what nobody waits for waits for the others, and nothing else does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from vllm.v1.metrics.stats import SchedulerStats

from server.engine.gathered_steps import GatheredSteps, Message

Step = dict[int, EngineCoreOutputs]
WROTE = "wrote"
"""A request that gathers four tokens, and has had its first."""
OTHER = "other"
"""Another one, that gathers eight."""
SEEN = "seen"
"""One whose every token is seen."""
BEGINS = "begins"
"""One that gathers, and gets its first token."""


@dataclass(frozen=True, slots=True)
class Sampling:
    stream_interval: int | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What the scheduler knows of a request."""

    sampling_params: Sampling
    num_output_tokens: int = 100


class Scheduled:
    """A scheduler that says what it is told to."""

    def __init__(self, steps: Iterator[Step]) -> None:
        self.requests = {
            WROTE: Asked(Sampling(4)),
            OTHER: Asked(Sampling(8)),
            SEEN: Asked(Sampling(None)),
            BEGINS: Asked(Sampling(4), num_output_tokens=1),
        }
        self._steps = steps

    def update_from_output(self) -> Step:
        return next(self._steps)


class Gathering(GatheredSteps, Scheduled):
    """What is tested."""


def wrote(*requests: str, tokens: int = 1, **more: Any) -> EngineCoreOutputs:
    """A message that tells so many tokens of each request."""
    outputs = [EngineCoreOutput(each, [28] * tokens, **more) for each in requests]
    return EngineCoreOutputs(outputs=outputs, scheduler_stats=SchedulerStats())


def sent(*messages: EngineCoreOutputs) -> list[list[EngineCoreOutputs]]:
    """The messages that go out with each step, where these are what there is to tell the one client."""
    return [[message for _, message in due] for due in sent_to_all([{0: message} for message in messages])]


def sent_to_all(steps: Sequence[Step]) -> list[list[Message]]:
    scheduler = Gathering(iter(steps))
    return [list(scheduler.update_from_output().items()) for _ in steps]


def test_tokens_that_nobody_waits_for_go_together() -> None:
    """As many as the request says, in the order of their steps, each message as it was."""
    steps = [wrote(WROTE) for _ in range(8)]

    assert sent(*steps) == [[], [], [], steps[:4], [], [], [], steps[4:]]


def test_the_shortest_interval_counts() -> None:
    """Of all that is told in a step."""
    steps = [wrote(OTHER, WROTE) for _ in range(4)]

    assert sent(*steps) == [[], [], [], steps]


def test_steps_of_many_tokens_fill_an_interval_sooner() -> None:
    """Accepted drafts are tokens like others."""
    steps = [wrote(WROTE, tokens=2), wrote(WROTE, tokens=3)]

    assert sent(*steps) == [[], steps]


def test_what_is_waited_for_takes_along_what_was_kept() -> None:
    """A token that a client sees, the first of an answer, and the last."""
    for urgent in (
        wrote(WROTE, SEEN),
        wrote(WROTE, BEGINS),
        wrote(OTHER, finish_reason=FinishReason.STOP),
        wrote("gone"),
    ):
        kept = wrote(WROTE)

        assert sent(kept, urgent) == [[], [kept, urgent]]


def test_a_message_without_tokens_is_never_kept() -> None:
    """It says what has changed: that a request was aborted, and nothing runs any more."""
    kept, idle = wrote(WROTE), EngineCoreOutputs(scheduler_stats=SchedulerStats())
    over = wrote(WROTE)
    over.finished_requests = {"other"}

    assert sent(idle) == [[idle]]
    assert sent(kept, idle) == [[], [kept, idle]]
    assert sent(kept, over) == [[], [kept, over]]


def test_clients_get_what_is_theirs() -> None:
    """Where several processes serve HTTP, one that waits for nothing may get several messages."""
    first = {0: wrote(WROTE), 1: wrote(OTHER)}
    second = {0: wrote(WROTE), 1: wrote(OTHER, finish_reason=FinishReason.STOP)}

    assert sent_to_all([first, second]) == [[], [*first.items(), *second.items()]]


def test_what_vllm_adds_to_a_step_is_in_its_message() -> None:
    """It attaches the version of the weights to what it reads by client."""
    scheduler = Gathering(iter([{0: wrote(WROTE)}, {0: wrote(SEEN)}]))
    steps = [scheduler.update_from_output() for _ in range(2)]
    for number, step in enumerate(steps):
        for message in step.values():
            message.weight_version = str(number)

    assert [message.weight_version for _, message in steps[1].items()] == ["0", "1"]


def test_nothing_to_tell_keeps_what_is_kept() -> None:
    """Where no figures are wanted, a step may say nothing."""
    kept, last = {0: wrote(WROTE)}, {0: wrote(SEEN)}

    assert sent_to_all([kept, {}, last]) == [[], [], [*kept.items(), *last.items()]]
