"""What a command tells while it works."""

import io
import re
import threading

import pytest

from server.console import terminal
from server.console.terminal import progress, say


def test_progress_tells_begin_waiting_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that takes long is heard of meanwhile, even if it keeps its thread busy."""
    monkeypatch.setattr(terminal, "STEP_SECONDS", 0.01)
    lines: list[str] = []
    heard = threading.Event()

    def report(line: str) -> None:
        lines.append(line)
        if len(lines) > 1:
            heard.set()

    with progress("Loading", report):
        assert heard.wait(10)

    assert lines[0] == "Loading …"
    assert re.fullmatch(r"Loading … \d+ s", lines[1])
    assert re.fullmatch(r"Loading: done in \d+\.\d s", lines[-1])


def test_a_step_that_fails_is_not_called_done() -> None:
    """The error that follows says what happened; the ticking has ended."""
    lines: list[str] = []

    with pytest.raises(KeyError), progress("Loading", lines.append):
        raise KeyError

    assert lines == ["Loading …"]
    assert not [thread for thread in threading.enumerate() if "tick" in thread.name]


def test_lines_are_written_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever pipes the output sees each line when it is said."""
    say("one")

    assert capsys.readouterr().out == "one\n"


@pytest.mark.parametrize(("encoding", "written"), [("utf-8", "␤ \\ud800\n"), ("ascii", "\\u2424 \\ud800\n")])
def test_what_the_output_cannot_encode_is_escaped(
    monkeypatch: pytest.MonkeyPatch, encoding: str, written: str
) -> None:
    """A locale costs no more than how some characters look."""
    output = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(output, encoding))
    say("␤ \ud800")

    assert output.getvalue().decode() == written
