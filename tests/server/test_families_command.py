"""The table of families, as the command and the documentation show it."""

import pytest

from parsers.registry import FAMILIES
from server.commands.families import HEAD, row, rows, run
from server.main import main


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_says_which_models_write_what(family: object) -> None:
    """The first line of a family's module fills its row."""
    [found] = [each for each in rows() if each == row(family)]  # type: ignore[arg-type]

    assert found.models
    assert found.writes
    assert "get_weather" in found.call


def test_the_command_prints_one_line_for_each_family(capsys: pytest.CaptureFixture[str]) -> None:
    """Line breaks in a call do not break the table."""
    assert main(["families"]) == 0

    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == HEAD[0]
    assert [line.split()[0] for line in lines] == sorted(family.name for family in FAMILIES)


def test_a_call_is_shown_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    """The example is the writer's, so that it cannot be out of date."""
    run([])

    assert '<tool_call>␤{"name": "get_weather", "arguments": {"city": "Paris"}}␤</tool_call>' in (
        capsys.readouterr().out
    )
