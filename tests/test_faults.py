"""The table of others' faults: what it says is shown by a test is shown by one that says so itself."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"\| (B\d{3}) \| (.+?) \| (.+?) \| (.+?) \|")


def rows() -> Iterator[tuple[str, str]]:
    """Each row's id and what it names as shown by."""
    for line in (ROOT / "docs/faults.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| B"):
            row = ROW.fullmatch(line)
            assert row is not None, line
            yield row[1], row[4]


def docstring(place: str) -> str:
    """The docstring of a test, named as pytest does."""
    file, _, name = place.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    [test] = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    return ast.get_docstring(test) or ""


@pytest.mark.parametrize(("fault", "shown"), [pytest.param(*row, id=row[0]) for row in rows()])
def test_every_fault_is_shown_by_a_test_that_names_it(fault: str, shown: str) -> None:
    """Whoever changes the test knows what it is there for, and whoever reads the row can run it."""
    places = re.findall(r"`(tests/[^`]+)`", shown)

    assert places
    assert [place for place in places if fault not in docstring(place)] == []


def test_no_fault_stands_twice() -> None:
    """One row says all there is to say."""
    faults = [fault for fault, _ in rows()]

    assert len(faults) == len(set(faults)) > 50
