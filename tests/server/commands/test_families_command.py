"""The tables of families and templates, as the command and the documentation show them."""

from pathlib import Path

import pytest

from parsers.registry import FAMILIES
from server.commands.families import HEAD, TEMPLATES_HEAD, row, rows, run
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


SHOWS_TOOLS = "{{ tools | tojson }}{% for m in messages if m.role != 'tool' %}{{ m.content }}{% endfor %}"


def test_templates_are_tried_with_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One row for each file: its family and why, what renders it, and what reaches the model."""
    (tmp_path / "whole.jinja").write_text("{# <tool_call> #}")
    (tmp_path / "half.jinja").write_text("{# <|tool_call|> <|start_of_role|> #}" + SHOWS_TOOLS)
    (tmp_path / "other.txt").write_text("no template")

    assert main(["families", "--templates", str(tmp_path)]) == 0
    head, half, whole = (" ".join(line.split()) for line in capsys.readouterr().out.splitlines())
    assert head == " ".join(TEMPLATES_HEAD)
    assert half.startswith(
        "half granite3 because the chat template writes <|tool_call|> and <|start_of_role|>"
    )
    assert half.endswith("2/2 0/2 0/2 call 1, call 2, result 1, result 2")
    assert whole.startswith(
        "whole hermes because the chat template writes <tool_call> templates/hermes.jinja"
    )
    assert whole.endswith("2/2 2/2 2/2")


@pytest.mark.parametrize("source", ["{% if %}", None])
def test_templates_that_are_none_are_told(
    source: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is no template has a row; a directory without templates is an error."""
    if source is not None:
        (tmp_path / "broken.jinja").write_text("{# <|tool_call|> <|start_of_role|> #}" + source)
    status = main(["families", "--templates", str(tmp_path)])
    out, err = capsys.readouterr()

    assert status == (1 if source is None else 0)
    assert "no *.jinja" in err if source is None else "cannot be compiled" in out


def test_a_template_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason; and so is a directory that is not there."""
    (tmp_path / "binary.jinja").write_bytes(b"\xff")

    assert main(["families", "--templates", str(tmp_path)]) == 1
    assert "binary.jinja is not UTF-8 text" in capsys.readouterr().err
    assert main(["families", "--templates", str(tmp_path / "none")]) == 1
    assert "There is no directory" in capsys.readouterr().err
