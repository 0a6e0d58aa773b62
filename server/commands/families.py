"""`strictcall families`: the model families that are built in, and how a call of each looks.

    $ strictcall families
    family  models                       writes             one call, as the model writes it
    hermes  Hermes 2 Pro, Qwen3, …       JSON in tags       <tool_call>␤{"name": "get_weather", …

A line break in a call is shown as ␤.
"""

import argparse
import importlib
from collections.abc import Sequence
from dataclasses import dataclass

from parsers.family import Family, write_call
from parsers.registry import FAMILIES
from server.terminal import say

HEAD = ("family", "models", "writes", "one call, as the model writes it")
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


def run(argv: Sequence[str]) -> int:
    description = "Print the model families that are built in, and how a call of each looks."
    argparse.ArgumentParser(prog="strictcall families", description=description).parse_args(argv)
    lines = [HEAD, *(each.cells for each in rows())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0
