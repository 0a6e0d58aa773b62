"""What we extend in vLLM is asked for by name, so that another version fails with a sentence."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from server.engine.core import PacedPrompts, SeamError, check_seams, make_way, require, scheduler_name

pytestmark = pytest.mark.engine


def test_the_installed_vllm_has_every_name_we_need() -> None:
    """The versions that are pinned are versions that work."""
    check_seams()


def test_a_missing_name_is_an_error_that_names_the_tested_versions() -> None:
    """Who installs another vLLM reads what is missing and what to install."""
    with pytest.raises(
        SeamError, match=r"types\.SimpleNamespace has no 'fill'.*vllm 0\.32\.0 and xgrammar 0\.2\.8"
    ):
        require(SimpleNamespace(), "fill")


@pytest.mark.parametrize(
    ("asynchronous", "name"),
    [
        pytest.param(False, "server.engine.core.TimedScheduler", id="cpu"),
        pytest.param(True, "server.engine.core.TimedAsyncScheduler", id="gpu"),
    ],
)
def test_the_scheduler_fits_the_engines_way_of_stepping(asynchronous: bool, name: str) -> None:
    """On a GPU our scheduler must not switch off scheduling beside the running step."""
    config = SimpleNamespace(scheduler_config=SimpleNamespace(async_scheduling=asynchronous))

    assert scheduler_name(config) == name


def niceness_after_making_way() -> int:
    make_way()
    make_way()
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no niceness of their own")
def test_threads_that_compile_are_nicer_than_the_one_that_steps() -> None:
    """Once, however much they compile."""
    usual = os.getpriority(os.PRIO_PROCESS, os.getpid())
    with ThreadPoolExecutor(1) as pool:
        compiling = pool.submit(niceness_after_making_way).result()

    assert compiling == min(usual + 10, 19)
    assert niceness_after_making_way() == usual


def sequence(prompt: int, *, computed: int, drafts: int = 0) -> SimpleNamespace:
    """A request whose prompt has so many tokens, of which so many were read."""
    return SimpleNamespace(
        num_tokens=prompt, num_tokens_with_spec=prompt + drafts, num_computed_tokens=computed
    )


class Steps:
    """A scheduler of vLLM, as far as `PacedPrompts` is concerned: a step has all that it may."""

    def __init__(self, running: list[SimpleNamespace], waiting: int) -> None:
        self.scheduler_config = SimpleNamespace(long_prefill_token_threshold=128)
        self.max_num_scheduled_tokens = 4096
        self.running, self.waiting = running, waiting

    def get_request_counts(self) -> tuple[int, int]:
        return len(self.running), self.waiting

    def schedule(self) -> SimpleNamespace:
        return SimpleNamespace(total_num_scheduled_tokens=self.max_num_scheduled_tokens)

    def update_from_output(self) -> str:
        return "outputs"


class PacedSteps(PacedPrompts, Steps):
    pass


WRITER = sequence(40, computed=39)
READER = sequence(5_000, computed=2_000)
BEGINNER = sequence(5_000, computed=600)


@pytest.mark.parametrize(
    ("running", "waiting", "step", "each"),
    [
        pytest.param([WRITER], 0, 4096, 128, id="alone"),
        pytest.param([WRITER], 7, 1 + 128, 128, id="seven come while one writes"),
        pytest.param([WRITER, READER], 0, 1 + 128, 128, id="a long prompt beside a stream"),
        pytest.param([READER, READER, WRITER], 0, 1 + 128, 64, id="two long prompts before a stream"),
        pytest.param(
            [sequence(40, computed=39, drafts=9), *[READER] * 16], 0, 10 + 256, 16, id="many long prompts"
        ),
    ],
)
def test_a_step_has_room_for_all_who_write_and_some_of_the_prompts(
    running: list[SimpleNamespace], waiting: int, step: int, each: int
) -> None:
    """However much is to be read, every stream has its token in every step."""
    steps = PacedSteps(running, waiting)
    steps.schedule()

    assert (steps.max_num_scheduled_tokens, steps.scheduler_config.long_prefill_token_threshold) == (
        step,
        each,
    )


@pytest.mark.parametrize(
    ("running", "room"),
    [
        pytest.param([WRITER], 4096, id="alone"),
        pytest.param([WRITER, BEGINNER], 129, id="a prompt's beginning"),
        pytest.param([WRITER, READER], 33, id="far in a long prompt"),
    ],
)
def test_only_steps_that_read_all_they_may_tell_how_much_that_is(
    running: list[SimpleNamespace], room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that took 900 seconds makes the next one shorter, if it read on far in a prompt."""
    clock = iter([100.0, 1_000.0, 1_001.0])
    monkeypatch.setattr("server.engine.core.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    steps = PacedSteps(running, 0)
    steps.schedule()
    assert steps.update_from_output() == "outputs"
    monkeypatch.undo()
    steps.schedule()

    assert steps.max_num_scheduled_tokens == room
