"""Write Grafana's dashboard from the panels of `scripts/deploy/panels.py`.

$ python -m scripts.deploy.dashboard            # exits with 1 if the file is not what the panels say
$ python -m scripts.deploy.dashboard --write    # writes deploy/helm/strictcall/files/dashboard.json
"""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from scripts.deploy.files import DASHBOARD
from scripts.deploy.panels import ROWS, Kind, Panel

COLUMNS = 24
HEIGHT = 8
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana's JSON model has it."""
    return {
        "uid": "strictcall",
        "title": "strictcall",
        "description": "Tool calls, masks and the engine of strictcall.",
        "tags": ["strictcall", "llm"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source_variable(), instance_variable()]},
        "panels": list(placed()),
    }


def source_variable() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def instance_variable() -> dict[str, Any]:
    """The servers to look at; all of them at first."""
    return {
        "name": "instance",
        "label": "Server",
        "type": "query",
        "datasource": SOURCE,
        "query": 'label_values(up{job="strictcall"}, instance)',
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def placed() -> Iterator[dict[str, Any]]:
    """Yield the heading of each row and its panels, numbered, from left to right and from the top down."""
    number, top = 0, 0
    for title, panels in ROWS:
        number += 1
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "gridPos": place,
            "panels": [],
        }
        top, left = top + 1, 0
        for each in panels:
            if left + each.width > COLUMNS:
                top, left = top + HEIGHT, 0
            number += 1
            place = {"x": left, "y": top, "w": each.width, "h": HEIGHT}
            yield {"id": number, "gridPos": place, **panel(each)}
            left += each.width
        top += HEIGHT


def panel(each: Panel) -> dict[str, Any]:
    """Return a panel without its number and its place."""
    return {
        "type": each.kind.value,
        "title": each.title,
        "description": each.description,
        "datasource": SOURCE,
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": SOURCE,
                "expr": query.expr,
                "legendFormat": query.legend,
            }
            for index, query in enumerate(each.queries)
        ],
        "fieldConfig": {
            "defaults": stat_field(each) if each.kind is Kind.STAT else series_field(each),
            "overrides": [],
        },
        "options": stat_options() if each.kind is Kind.STAT else series_options(),
    }


def series_field(each: Panel) -> dict[str, Any]:
    return {
        "unit": each.unit,
        "min": 0,
        "color": {"mode": "palette-classic"},
        "custom": {"lineWidth": 1, "fillOpacity": 8, "showPoints": "never", "spanNulls": False},
    }


def series_options() -> dict[str, Any]:
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def stat_field(each: Panel) -> dict[str, Any]:
    """The colours of a stat: too much of one thing is red, and none of another."""
    if each.bad_above is None:
        steps = [{"value": None, "color": "red"}, {"value": 1, "color": "green"}]
    else:
        steps = [{"value": None, "color": "green"}, {"value": each.bad_above, "color": "red"}]
    return {
        "unit": each.unit,
        "color": {"mode": "thresholds"},
        "thresholds": {"mode": "absolute", "steps": steps},
    }


def stat_options() -> dict[str, Any]:
    return {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "background",
        "graphMode": "area",
        "textMode": "value",
        "justifyMode": "auto",
        "orientation": "auto",
    }


def text() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the dashboard if asked to; else say whether the file is out of date, and return 1 if it is."""
    if "--write" in arguments:
        DASHBOARD.write_text(text(), encoding="utf-8")
        return 0
    if DASHBOARD.read_text(encoding="utf-8") == text():
        return 0
    print(f"{DASHBOARD.name}: out of date: run python -m scripts.deploy.dashboard --write")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
