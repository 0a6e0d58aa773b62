"""What we extend in vLLM is asked for by name, so that another version fails with a sentence."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from server.engine.core import (
    COMPILER_NICENESS,
    check_seams,
    make_way,
    scheduler_name,
)

pytestmark = pytest.mark.engine


def test_the_installed_vllm_has_every_name_we_need() -> None:
    """The versions that are pinned are versions that work."""
    check_seams()


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

    assert compiling == min(usual + COMPILER_NICENESS, 19)
    assert niceness_after_making_way() == usual
