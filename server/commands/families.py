"""`strictcall families`: the model families that are built in, and how a call of each looks.

    $ strictcall families
    family  models                       writes             one call, as the model writes it
    hermes  Hermes 2 Pro, Qwen3, …       JSON in tags       <tool_call>␤{"name": "get_weather", …

A line break in a call is shown as ␤. With `--templates DIR`: what becomes of each chat template there.

    $ strictcall families --templates chat_templates
    template   family  because                                 rendered by       tools  calls  results  lost
    Qwen3-8B   hermes  because the chat template writes <too…  the model's own   2/2    2/2    2/2
"""

import argparse
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from parsers.family import Family, write_call
from parsers.registry import FAMILIES
from server.console.files import read_text
from server.console.terminal import CommandError, say
from server.prompt.rehearsal import rehearse
from server.prompt.renderer import choose_renderer
from server.prompt.template import TemplateLoadError
from server.startup.families import choose

HEAD = ("family", "models", "writes", "one call, as the model writes it")
TEMPLATES_HEAD = ("template", "family", "why", "rendered by", "tools", "calls", "results", "lost")
EXAMPLE = ("get_weather", {"city": "Paris"})


@dataclass(frozen=True, slots=True)
class Row:
    """What is shown of one family."""

    name: str
    models: str
    writes: str
    call: str

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.name, self.models, self.writes, self.call


def rows() -> list[Row]:
    """One row for each family, by name."""
    return [row(family) for family in sorted(FAMILIES, key=lambda family: family.name)]


def row(family: Family) -> Row:
    """The row of one family, of whose module the first line says `MODELS: what they write`."""
    described = importlib.import_module(f"parsers.families.{family.name}").__doc__ or ""
    models, _, writes = described.partition("\n")[0].rstrip(".").partition(": ")
    name, arguments = EXAMPLE
    return Row(family.name, models, writes, write_call(family, name, arguments).strip().replace("\n", "␤"))


@dataclass(frozen=True, slots=True)
class TemplateRow:
    """What is shown of one chat template: what of two tools, two calls and two results the model reads."""

    template: str
    family: str
    why: str
    rendered_by: str
    tools: str = "0/2"
    calls: str = "0/2"
    results: str = "0/2"
    lost: str = "everything"

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))


def template_rows(directory: Path) -> list[TemplateRow]:
    """One row for each `*.jinja` in a directory, by name. Raises `CommandError` if there is none."""
    if not directory.is_dir():
        raise CommandError(f"There is no directory '{directory}'.")
    pages = sorted(directory.glob("*.jinja"), key=lambda page: page.stem.lower())
    if not pages:
        raise CommandError(f"There is no *.jinja in {directory}.")
    return [template_row(page.stem, read_text(page)) for page in pages]


def template_row(name: str, source: str) -> TemplateRow:
    """The row of one chat template, of a model about which nothing else is known."""
    choice = choose(None, template=source, control_strings=())
    why = choice.sentence.removeprefix(f"{choice.family.name}, ").rstrip(".")
    try:
        template = choose_renderer(choice.family, own=source)
    except TemplateLoadError as error:
        return TemplateRow(name, choice.family.name, why, str(error))
    rehearsal = rehearse(template, choice.family)
    tools, calls, results = (f"{rehearsal.shown(kind)}/2" for kind in ("tool", "call", "result"))
    lost = ", ".join(rehearsal.lost)
    return TemplateRow(name, choice.family.name, why, template.origin, tools, calls, results, lost)


def run(argv: Sequence[str]) -> int:
    description = "Print the model families that are built in, and how a call of each looks."
    parser = argparse.ArgumentParser(prog="strictcall families", description=description)
    parser.add_argument(
        "--templates",
        metavar="DIR",
        type=Path,
        help="print what becomes of each chat template (*.jinja) in a directory instead",
    )
    directory = parser.parse_args(argv).templates
    if directory is None:
        print_table(HEAD, [each.cells for each in rows()])
    else:
        print_table(TEMPLATES_HEAD, [each.cells for each in template_rows(directory)])
    return 0


def print_table(head: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    lines = [head, *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
