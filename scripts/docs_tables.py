"""Keep the tables of the documentation equal to the code that they describe.

    $ python scripts/docs_tables.py            # exits with 1 and names the pages that are out of date
    $ python scripts/docs_tables.py --write    # writes them anew

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. The table `templates` is made from other
people's chat templates, in the directory `chat_templates` of STRICTCALL_TEST_DATA: where that variable is not
set, the table is left as it is, and not checked.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

from parsers.registry import FAMILIES
from scripts.surface_fields import SURFACES, field_table
from server.commands import families
from server.config.settings import Settings, default_cache, flag, specs
from server.errors import Code
from server.schema.limits import SchemaLimits
from server.telemetry.metrics import EngineMetrics, Metrics

ROOT = Path(__file__).resolve().parent.parent
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def settings_table() -> str:
    """Return one row for each setting, in the order of the command's help."""
    defaults = Settings()
    return _table(
        ("flag", "default", "meaning"),
        (
            (f"`{flag(name)} {spec.metavar}`", _shown(getattr(defaults, name)), spec.help)
            for name, spec in specs().items()
        ),
    )


def limits_table() -> str:
    """Return one row for each limit of schemas."""
    limits = [(f"`{each.name}`", f"{each.default:,}", each.metadata["of"]) for each in fields(SchemaLimits)]
    return _table(("limit", "default", "of a schema"), limits)


def suite_table() -> str:
    """Return one row for each file of the official suite that a mask is not always right on, and the sum."""
    files = json.loads((ROOT / "tests/data/schema_suite.json").read_text(encoding="utf-8"))
    heads = ("right", "wrongly_accepted", "wrongly_rejected")
    rows = {name: [counts.get(head, 0) for head in heads] for name, counts in files.items()}
    every = [sum(column) for column in zip(*rows.values(), strict=True)]
    shown = [*((f"`{name}`", row) for name, row in rows.items() if any(row[1:])), ("all", every)]
    return _table(
        ("keyword", "the mask alone is right", "wrongly accepts", "wrongly rejects"),
        ((name, *(f"{count:,}" for count in row)) for name, row in shown),
    )


def errors_table() -> str:
    """Return one row for each error, in the order of `server.errors.Code`."""
    return _table(
        ("status", "code", "type"),
        ((str(code.status), f"`{code.code or 'null'}`", f"`{code.type}`") for code in Code),
    )


def metrics_table() -> str:
    """Return one row for each metric of ours, those of the engine's process included."""
    ours = Metrics()
    holders: tuple[object, ...] = (ours, EngineMetrics())
    ours.close()
    metrics = [
        each for holder in holders for each in vars(holder).values() if isinstance(each, MetricWrapperBase)
    ]
    return _table(("name", "type", "labels", "meaning"), sorted(set(map(_metric_row, metrics))))


def families_table() -> str:
    """Return one row for each model family."""
    return _table(
        families.HEAD,
        ((f"`{row.name}`", row.models, row.writes, _code(row.call)) for row in families.rows()),
    )


def signs_table() -> str:
    """Return one row for each sign of a family, in the order in which they are looked for."""
    return _table(
        ("family", "the chat template writes"),
        (
            (f"`{family.name}`", " and ".join(map(_code, sign)))
            for family in FAMILIES
            for sign in family.signs
        ),
    )


def templates_table() -> str | None:
    """Return one row for each chat template of other people's models, None if there are none at hand."""
    directory = os.environ.get("STRICTCALL_TEST_DATA", "")
    if not directory:
        return None
    rows = families.template_rows(Path(directory) / "chat_templates")
    return _table(
        families.TEMPLATES_HEAD,
        (
            (name, f"`{family}`", _code(why), *rest)
            for name, family, why, *rest in (row.cells for row in rows)
        ),
    )


def fields_table() -> str:
    """Return one row for each field that any API knows, and one column for each API."""
    rows = ((f"`{path}`", *cells) for path, *cells in field_table())
    return _table(("field", *SURFACES), rows)


def _metric_row(metric: MetricWrapperBase) -> tuple[str, str, str, str]:
    [described] = metric.describe()
    name = f"{described.name}_total" if described.type == "counter" else described.name
    labels = metric._labelnames  # noqa: SLF001 - the library tells label names nowhere else
    return f"`{name}`", described.type, ", ".join(f"`{label}`" for label in labels), described.documentation


TABLES: dict[str, Callable[[], str | None]] = {
    "settings": settings_table,
    "limits": limits_table,
    "suite": suite_table,
    "errors": errors_table,
    "metrics": metrics_table,
    "fields": fields_table,
    "families": families_table,
    "signs": signs_table,
    "templates": templates_table,
}


def renew(page: str) -> str:
    """Return the text of a page with each of its tables made anew that can be."""

    def made_anew(place: re.Match[str]) -> str:
        table = TABLES[place[2]]()
        return place[0] if table is None else place[1] + table + place[3]

    return _PLACE.sub(made_anew, page)


def stale(root: Path = ROOT) -> dict[Path, str]:
    """Map each page that is out of date to the text that it should have."""
    texts = {page: page.read_text(encoding="utf-8") for page in sorted(root.glob("docs/**/*.md"))}
    return {page: renew(text) for page, text in texts.items() if renew(text) != text}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _code(text: str) -> str:
    """Return text as code, also where it has backticks of its own."""
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (max(map(len, re.findall("`+", text))) + 1)
    return f"{fence} {text} {fence}"


def _shown(value: object) -> str:
    """Return a default as documentation shows it: the same on whatever machine it was made."""
    if value is None or value == ():
        return ""
    return "`~/.cache/strictcall`" if value == default_cache() else f"`{value}`"


def main(arguments: Sequence[str]) -> int:
    """Write the stale pages if asked to; else name them and return 1 if there are any."""
    pages = stale()
    if "--write" in arguments:
        for page, text in pages.items():
            page.write_text(text, encoding="utf-8")
        return 0
    for page in pages:
        print(f"{page.relative_to(ROOT)}: out of date: run make docs")
    return min(len(pages), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
