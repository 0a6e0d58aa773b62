"""A bounded store of what was made before."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier

import pytest

from server.schema.recent import Recent


def test_what_was_made_is_not_made_again() -> None:
    """The second who asks gets the value of the first."""
    made = count()
    recent = Recent[str, int](size=2)

    assert [recent.get("a", made.__next__) for _ in range(3)] == [0, 0, 0]


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    """Asking keeps a value alive, so what every request needs is never made anew (B309)."""
    made = count()
    recent = Recent[str, int](size=2)
    for key in "abac":
        recent.get(key, made.__next__)

    assert [recent.get(key, made.__next__) for key in "acb"] == [0, 2, 3]


def test_a_failure_is_passed_on_and_not_remembered() -> None:
    """What could not be made is tried again by the next."""
    recent = Recent[str, int](size=2)

    with pytest.raises(ZeroDivisionError):
        recent.get("a", lambda: 1 // 0)
    assert recent.get("a", lambda: 7) == 7


def test_no_thread_waits_for_the_value_of_another() -> None:
    """Two values are made side by side: each maker here waits for the other one."""
    recent = Recent[str, str](size=2)
    together = Barrier(2, timeout=10)

    def make(key: str) -> str:
        def made() -> str:
            together.wait()
            return key.upper()

        return recent.get(key, made)

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(make, "ab")) == ["A", "B"]
