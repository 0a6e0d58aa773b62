"""The official test suite of JSON Schema: what masks and checks make of its cases.

judged({"schema": {"uniqueItems": True}, "data": [1, 1], "valid": False}, checker)     # "wrongly_accepted"
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server.commands.check import Checker, Question

ELSEWHERE = ("refRemote", "vocabulary", "format")
"""Files of cases that ask for other documents, for other vocabularies, or for formats not to be checked."""

RIGHT = "right"


def cases(directory: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """All cases of a draft, each with the name of its file."""
    for path in sorted(directory.glob("*.json")):
        if path.stem not in ELSEWHERE:
            for group in json.loads(path.read_text(encoding="utf-8")):
                for test in group["tests"]:
                    yield path.stem, {"schema": group["schema"], "data": test["data"], "valid": test["valid"]}


def judged(case: dict[str, Any], checker: Checker) -> str:
    """What the mask alone does with a case. The check behind it has to be right in any case."""
    finding = checker.find(Question(case["schema"], json.dumps(case["data"])))
    if finding.error is not None:
        return "refused"
    assert finding.valid == case["valid"], case
    if finding.mask_accepts == case["valid"]:
        return RIGHT
    return "wrongly_accepted" if finding.mask_accepts else "wrongly_rejected"


def figures(directory: Path, checker: Checker) -> dict[str, dict[str, int]]:
    """How many cases of each file come out how."""
    found: dict[str, Counter[str]] = {}
    for name, case in cases(directory):
        found.setdefault(name, Counter())[judged(case, checker)] += 1
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}
