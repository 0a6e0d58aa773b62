"""What holds for every file of the repository, and the scripts that check the rest."""

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.version import Version

from scripts.check_links import anchors, dead_links, pages
from scripts.check_lock import declared, read_lock, unmet
from scripts.docs_tables import errors_table, renew, settings_table, stale

ROOT = Path(__file__).parent.parent
MODULE_LINES = 400
FUNCTION_LINES = 60

# A class of one letter hides each word from its own search.
UNFINISHED = re.compile(r"\b([T]ODO|[F]IXME|[X]XX)\b")
REGISTRY = re.compile(
    r"https?://[^\s\"'<>)]*([p]ypi\.|[p]ythonhosted|[n]pmjs|/[s]imple\b|/[w]hl/)[^\s\"'<>)`]*"
)
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
MACHINE = re.compile(r"(?<![\w.])/([w]ork|[r]oot|[h]ome/\w+|[U]sers|[o]pt/wheels)/")


@cache
def texts() -> dict[str, str]:
    """The text of each file that is, or is about to be, in the repository, by its path."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs the git repository: it says which files are ours")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, str] = {}
    for name in filter(None, listed.stdout.split("\0")):
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b"\0"
        if b"\0" not in content:
            found[name] = content.decode()
    return found


def matches(pattern: re.Pattern[str]) -> Iterator[str]:
    for name, text in texts().items():
        for number, line in enumerate(text.splitlines(), 1):
            yield from (f"{name}:{number}: {match.group()}" for match in pattern.finditer(line))


def python_files() -> list[Path]:
    return [ROOT / name for name in texts() if name.endswith(".py")]


def test_nothing_is_left_for_later() -> None:
    """Work that remains is an issue, not a note in the code."""
    assert list(matches(UNFINISHED)) == []


def test_no_package_registry_is_named() -> None:
    """Installing uses the index that the user has configured; only PyTorch's CPU builds need another."""
    assert [match for match in matches(REGISTRY) if not match.endswith(TORCH_INDEX)] == []


def test_no_machine_is_named() -> None:
    """No path leads into the machine of whoever wrote it."""
    assert list(matches(MACHINE)) == []


def test_modules_fit_in_the_head() -> None:
    """A module has at most 400 lines; 300 is the aim."""
    lengths = {path.relative_to(ROOT): path.read_text("utf-8").count("\n") for path in python_files()}

    assert {path: length for path, length in lengths.items() if length > MODULE_LINES} == {}


def test_functions_fit_on_a_screen() -> None:
    """A function has at most 60 lines, its docstring included; 40 is the aim."""
    too_long = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES
    ]

    assert too_long == []


@pytest.mark.parametrize("page", pages(ROOT), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_the_documentation_lead_somewhere(page: Path) -> None:
    """Each link inside the repository names a file, and each anchor a heading, that exists."""
    assert list(dead_links(page)) == []


def test_a_dead_link_is_reported_with_its_line(tmp_path: Path) -> None:
    """A missing file and a missing heading are both named where they are linked."""
    (tmp_path / "b.md").write_text("# The end\n")
    page = tmp_path / "a.md"
    page.write_text("[x](b.md#the-end) [y](c.md)\n\n[z](b.md#start)\n")

    assert list(dead_links(page)) == [
        f"{page}:1: c.md: no such file",
        f"{page}:3: b.md#start: no such heading",
    ]


def test_code_blocks_hold_no_links_and_no_headings(tmp_path: Path) -> None:
    """What looks like a link or a heading inside a fence is code."""
    page = tmp_path / "a.md"
    page.write_text("# One\n\n```\n# Two\n[x](nowhere.md)\n```\n")

    assert (list(dead_links(page)), anchors(page)) == ([], {"one"})


def test_repeated_headings_have_numbered_anchors(tmp_path: Path) -> None:
    """The second heading of one name is linked as `name-1`."""
    page = tmp_path / "a.md"
    page.write_text("## Same `thing`\n\n## Same `thing`\n")

    assert anchors(page) == {"same-thing", "same-thing-1"}


def test_the_tables_of_the_documentation_are_those_of_the_code() -> None:
    """Settings and errors in docs/ are what the server has; `make docs` writes them."""
    assert [page.name for page in stale()] == []


def test_a_table_that_cannot_be_made_here_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of other people's templates needs them."""
    monkeypatch.delenv("STRICTCALL_TEST_DATA", raising=False)
    page = "<!-- table: templates -->\n| as it was |\n<!-- end -->\n"

    assert renew(page) == page


def test_a_table_is_renewed_in_its_place() -> None:
    """What stands around a table, and other comments, stay."""
    page = "Before\n<!-- table: errors -->\n| old |\n<!-- end -->\nAfter <!-- end -->\n"

    assert (
        renew(page) == f"Before\n<!-- table: errors -->\n{errors_table()}<!-- end -->\nAfter <!-- end -->\n"
    )


def test_a_table_names_no_home() -> None:
    """The default cache is shown as `~`, whoever makes the table."""
    assert "| `--cache-dir PATH` | `~/.cache/strictcall` |" in settings_table()


def test_the_lock_holds_all_that_the_project_declares() -> None:
    """What pyproject.toml asks for is in requirements/, at a version that it allows."""
    assert list(unmet(declared(), read_lock(), "strictcall")) == []


def test_a_missing_and_a_refused_version_are_reported() -> None:
    """The report names who asks, for what, and what the lock has."""
    versions = {"b": Version("2.0"), "c": Version("1.0")}

    assert list(unmet(["a", "b<2", "C>=1", "d; extra == 'x'"], versions, "strictcall")) == [
        "strictcall needs a: requirements/ does not have it",
        "strictcall needs b<2: requirements/ has b==2.0",
    ]


def test_a_loose_line_of_the_lock_is_refused(tmp_path: Path) -> None:
    """A range in the lock would install something else tomorrow."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "cpu.txt").write_text("a>=1\n")

    with pytest.raises(ValueError, match=r"requirements/cpu.txt: a>=1: "):
        read_lock(tmp_path)
