"""Reads the files that deploy strictcall, for those who check or write them.

stages(DOCKERFILE.read_text())["cpu"].values("USER")     # ["10001"]
variables("STRICTCALL_PORT: 8000")                       # {"STRICTCALL_PORT"}
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # its types are in a package of their own

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "Dockerfile"
COMPOSE = ROOT / "docker-compose.yml"
CHART = ROOT / "deploy/helm/strictcall"
RULES = CHART / "files/rules.yml"
DASHBOARD = CHART / "files/dashboard.json"

_VARIABLE = re.compile(r"\bSTRICTCALL_[A-Z][A-Z_]*[A-Z]\b")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a Dockerfile, its lines joined: `Instruction("USER", "10001")`."""

    keyword: str
    value: str


@dataclass(frozen=True, slots=True)
class Stage:
    """What stands between one FROM and the next."""

    base: str
    instructions: tuple[Instruction, ...]

    def values(self, keyword: str) -> list[str]:
        """What stands after each `keyword` of the stage."""
        return [each.value for each in self.instructions if each.keyword == keyword]


def instructions(text: str) -> Iterator[Instruction]:
    """Yield the instructions of a Dockerfile, comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        keyword, _, value = line.strip().partition(" ")
        if keyword:
            yield Instruction(keyword.upper(), value.strip())


def stages(text: str) -> dict[str, Stage]:
    """Return the stages of a Dockerfile by their names, in its order."""
    found: dict[str, Stage] = {}
    name = ""
    for each in instructions(text):
        if each.keyword == "FROM":
            base, _, name = each.value.partition(" AS ")
            found[name] = Stage(base, ())
        elif name:
            found[name] = Stage(found[name].base, (*found[name].instructions, each))
    return found


def variables(text: str) -> set[str]:
    """Return the names of our variables in a text."""
    return set(_VARIABLE.findall(text))


def read_yaml(path: Path) -> Any:
    """Return the one document of a YAML file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))
