r"""The summaries of a comparison as a table, with the first endpoint over the second.

print(*table(summaries), sep="\n")
# workload  streams  endpoint  first token  per token  median   p95  tokens/s  …
# call            1  ours           0.05 s    12.1 ms  0.71 s  0.8 s      …
# call            1  theirs         0.06 s    25.0 ms  1.40 s  1.5 s      …
# call            1  ratio           0.83×      0.48×   0.51×  …
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from server.bench.compare import Summary

RATIO = "ratio"


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of a summary: how it is called, got, and shown."""

    title: str
    of: Callable[[Summary], float | None]
    shown: str


COLUMNS = (
    Column("first token", lambda row: row.first, "{:.3f} s"),
    Column("per token", lambda row: row.per_token * 1000, "{:.1f} ms"),
    Column("median", lambda row: row.total, "{:.2f} s"),
    Column("p95", lambda row: row.total_p95, "{:.2f} s"),
    Column("tokens", lambda row: row.tokens, "{:.0f}"),
    Column("tokens/s", lambda row: row.tokens_per_second, "{:.1f}"),
    Column("steps/token", lambda row: row.steps_per_token, "{:.3f}"),
    Column("CPU s/1,000", lambda row: row.cpu_per_1000_tokens, "{:.3f}"),
)


def ratios(first: Summary, second: Summary) -> dict[str, float | None]:
    """Each figure of the first over that of the second; None where one is not known or 0."""
    found: dict[str, float | None] = {}
    for column in COLUMNS:
        ours, theirs = column.of(first), column.of(second)
        found[column.title] = ours / theirs if ours is not None and theirs else None
    return found


def table(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield the lines: below the endpoints of each workload and concurrency, their ratio if they are two."""
    known = [column for column in COLUMNS if any(column.of(row) is not None for row in summaries)]
    width = max(8, *(len(row.endpoint) for row in summaries))
    head = f"{'workload':<10}{'streams':>8}  {'endpoint':<{width}}"
    yield head + "".join(f"{column.title:>13}" for column in known) + f"{'failed':>9}"
    for (workload, concurrency), group in groupby(summaries, lambda row: (row.workload, row.concurrency)):
        rows = list(group)
        place = f"{workload:<10}{concurrency:>8}  "
        for row in rows:
            figures = "".join(_cell(column.of(row), column.shown) for column in known)
            yield f"{place}{row.endpoint:<{width}}{figures}{row.failed:>9}"
        if len(rows) == 2:
            times = ratios(*rows)
            yield f"{place}{RATIO:<{width}}" + "".join(
                _cell(times[column.title], "{:.2f}×") for column in known
            )


def _cell(figure: float | None, shown: str) -> str:
    return f"{'–' if figure is None else shown.format(figure):>13}"


def as_json(summaries: Sequence[Summary]) -> dict[str, Any]:
    """All figures, and the ratios of each pair of endpoints."""
    groups = [list(group) for _, group in groupby(summaries, lambda row: (row.workload, row.concurrency))]
    return {
        "rows": [asdict(row) for row in summaries],
        "ratios": [
            {"workload": rows[0].workload, "concurrency": rows[0].concurrency, **ratios(*rows)}
            for rows in groups
            if len(rows) == 2
        ],
    }
