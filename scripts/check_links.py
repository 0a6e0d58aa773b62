"""Find links in the documentation that lead nowhere.

    $ python scripts/check_links.py
    README.md:12: docs/metrics.md#names: no such heading
    $ echo $?
    1

Only links inside the repository are followed: what needs the network fails for reasons that are not ours.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^()\s]+)\)|!\[[^\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_ELSEWHERE = ("http://", "https://", "mailto:")


def dead_links(page: Path) -> Iterator[str]:
    """Yield `page:line: target: reason` for each link of a Markdown page that leads nowhere."""
    text = _blank_fences(page.read_text(encoding="utf-8"))
    for match in _LINK.finditer(text):
        target = match.group(1) or match.group(2)
        reason = "" if target.startswith(_ELSEWHERE) else _fault(page, target)
        if reason:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{page}:{line}: {target}: {reason}"


def anchors(page: Path) -> set[str]:
    """Return the names that links may use for the headings of a page, as GitHub builds them."""
    names: set[str] = set()
    for heading in _HEADING.findall(_blank_fences(page.read_text(encoding="utf-8"))):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        name, repeat = slug, 0
        while name in names:
            repeat += 1
            name = f"{slug}-{repeat}"
        names.add(name)
    return names


def pages(root: Path) -> list[Path]:
    """Return the Markdown pages of the repository: those at its top and those under docs and deploy."""
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("deploy/**/*.md")])


def _fault(page: Path, target: str) -> str:
    path, _, anchor = target.partition("#")
    linked = page.parent / path if path else page
    if not linked.exists():
        return "no such file"
    if anchor and linked.suffix == ".md" and anchor not in anchors(linked):
        return "no such heading"
    return ""


def _blank_fences(text: str) -> str:
    """Blank code blocks, keeping their line breaks so that line numbers stay right."""
    return _FENCE.sub(lambda match: "\n" * match.group().count("\n"), text)


def main() -> int:
    """Print every dead link of the repository and return how many there are, at most 1 as a status."""
    root = Path(__file__).resolve().parent.parent
    dead = [link for page in pages(root) for link in dead_links(page)]
    print(*dead, sep="\n", end="\n" if dead else "")
    return min(len(dead), 1)


if __name__ == "__main__":
    sys.exit(main())
