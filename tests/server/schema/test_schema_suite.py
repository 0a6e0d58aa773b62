"""The official suite, draft 2020-12: the mask alone, by keyword, may only get better.

All of the suite is judged where STRICTCALL_TEST_DATA names a directory that has it; every fifth case of it is
in `tests/data/schemas/suite.jsonl`, with its licence beside it.
"""

import json
import os
from pathlib import Path

import pytest

from server.commands.check import Checker
from server.mask.trial import byte_tokens
from server.schema.limits import DEFAULT_LIMITS
from tests.server.schema.suite import RIGHT, figures, judged

DATA = Path(__file__).parents[2] / "data"
SUITE = Path(os.environ.get("STRICTCALL_TEST_DATA", "")) / "json-schema-test-suite" / "draft2020-12"


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker(byte_tokens(), DEFAULT_LIMITS)


def test_cases_of_the_suite_come_out_as_they_have_before(checker: Checker) -> None:
    """Each line says how the mask does, unless it is right; the check behind it always is."""
    lines = (DATA / "schemas" / "suite.jsonl").read_text(encoding="utf-8").splitlines()
    sample = [json.loads(line) for line in lines]

    changed = {json.dumps(c): found for c in sample if (found := judged(c, checker)) != c.get("mask", RIGHT)}

    assert len(sample) > 200
    assert changed == {}


@pytest.mark.skipif(not SUITE.is_dir(), reason="STRICTCALL_TEST_DATA names no directory with the suite")
def test_figures_of_the_suite_are_those_that_are_written_down(checker: Checker) -> None:
    """Worse is a fault; better is to be written down, so that it stays."""
    known = json.loads((DATA / "schema_suite.json").read_text(encoding="utf-8"))

    assert figures(SUITE, checker) == known
