"""The catalogue of edge cases: each is read by its rule, and none is left out."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.parsers.catalogue import Written, answers, lines
from tests.parsers.reading import cut, feed, fold

ROOT = Path(__file__).parents[2]
ROWS = {*map(str, range(1, 116)), "52b"}

ANSWERS = [
    pytest.param(answer, id=f"row {line['row']}, line {number}: {answer.family.name}{answer.form}")
    for number, line in enumerate(lines(), start=1)
    if "test" not in line
    for answer in answers(line)
]


def said(answer: Written, pieces: list[str]) -> dict[str, Any]:
    """What is read of an answer that comes in these pieces, as far as there is any of it."""
    read = fold(feed(pieces, answer.tools, truncated=answer.cut_off, family=answer.family))
    # No UTF-8 response could carry half a surrogate pair.
    "".join((read.content, read.reasoning, *(arguments for _, arguments in read.calls))).encode()
    parts = {
        "content": read.content,
        "reasoning": read.reasoning,
        "calls": [[name, json.loads(arguments)] for name, arguments in read.calls],
        "failures": [each.reason.value for each in read.malformed],
    }
    return {name: part for name, part in parts.items() if part}


@pytest.mark.parametrize("answer", ANSWERS)
def test_edge_case_is_read_by_its_rule(answer: Written) -> None:
    """Whole, character by character and in any pieces, an answer is read as its row says."""
    rng = random.Random(len(answer.raw))
    for pieces in ([answer.raw], list(answer.raw), *(cut(answer.raw, rng) for _ in range(5))):
        assert said(answer, pieces) == answer.expect, answer.raw


def test_every_row_is_tested_or_listed_with_a_reason() -> None:
    """A row has lines in the catalogue, or stands among those that are not tested."""
    docs = (ROOT / "docs" / "families.md").read_text("utf-8")
    _, untested = docs.split("## Edge cases that are not tested")
    listed = re.findall(r"^- Rows? ((?:[0-9]+b?(?:, | and )?)+): .+\.$", untested, re.MULTILINE)
    left_out = {row for rows in listed for row in re.findall(r"[0-9]+b?", rows)}
    tested = {line["row"] for line in lines() if "test" in line or any(answers(line))}

    assert tested | left_out == ROWS
    assert not tested & left_out


@pytest.mark.parametrize("line", [pytest.param(line, id=line["row"]) for line in lines() if "test" in line])
def test_test_that_a_row_names_exists(line: dict[str, Any]) -> None:
    """Rules about more than the text of one answer are held by a test elsewhere."""
    path, name = line["test"].split("::")

    assert re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)
