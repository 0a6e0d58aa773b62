"""What runs the checks of deployment files."""

import sys

import pytest

from scripts.deploy.files import ROOT, Instruction, instructions, stages, variables
from scripts.deploy.tools import HOW_TO_GET, lost, run, said


def test_a_tool_that_is_missing_is_a_fault_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing passes because nothing checked it."""
    monkeypatch.setenv("PATH", "")

    assert run("promtool", "--version") == [f"promtool is missing: {HOW_TO_GET['promtool']}"]
    assert run("no-such-program") == [
        "no-such-program is missing: run make deploy-check, which installs requirements/deploy.txt"
    ]


def test_what_a_tool_complains_of_is_told() -> None:
    """Both of its outputs, and its status where it says nothing."""
    assert run(sys.executable, "-c", "print(1); raise SystemExit(2)") == ["1"]
    assert run(sys.executable, "-c", "raise SystemExit(3)") == [f"{sys.executable} ended with 3"]
    assert run(sys.executable, "-c", "print('fine')") == []


def test_a_tool_whose_status_tells_nothing_is_judged_by_what_it_says() -> None:
    """Silence is well, words are not."""
    assert said(sys.executable, "-c", "print(1)") == ["1"]
    assert said(sys.executable, "-c", "raise SystemExit(3)") == [f"{sys.executable} ended with 3"]
    assert said(sys.executable, "-c", "pass") == []


def test_what_a_reader_drops_or_changes_is_found() -> None:
    """Unknown keys, lists of another length and other values."""
    written = {"a": 1, "b": {"c": [1, 2], "typo": 3}, "d": [1]}

    assert list(lost(written, {"a": 1, "b": {"c": [1, 3]}, "d": []})) == [
        ".b.c[1]: 2 is read as 3",
        ".b.typo: unknown",
        ".d: [1] is read as []",
    ]
    assert list(lost(written, {**written, "more": 1})) == []


def test_a_dockerfile_is_read_by_stages() -> None:
    """Lines that go on are joined, and comments between them are none of it."""
    text = "ARG A=1\nFROM x AS one\n# note\nRUN a \\\n    # why\n    && b\nfrom one AS two\nUSER 1\n"

    assert list(instructions("RUN a \\\n  b\n")) == [Instruction("RUN", "a b")]
    assert stages(text)["one"].values("RUN") == ["a && b"]
    assert (stages(text)["two"].base, stages(text)["two"].values("USER")) == ("one", ["1"])


def test_variables_are_found_in_any_text() -> None:
    """Names that only begin like ours are found too, and then are no settings."""
    assert variables("-e STRICTCALL_PORT=1 $STRICTCALL_X_Y ${STRICTCALL_MODEL:-a} STRICTCALL_…") == {
        "STRICTCALL_PORT",
        "STRICTCALL_X_Y",
        "STRICTCALL_MODEL",
    }


def test_the_lock_of_the_tools_is_exact_and_named_once() -> None:
    """It is installed without resolving anything."""
    lines = (ROOT / "requirements/deploy.txt").read_text("utf-8").splitlines()
    names = [line.partition("==")[0] for line in lines if line and not line.startswith("#")]

    assert all("==" in line for line in lines if line and not line.startswith("#"))
    assert len(set(names)) == len(names)
