"""Alert rules and dashboard ask for what servers have, and the documentation knows every alert."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.deploy.dashboard import text
from scripts.deploy.files import COMPOSE, DASHBOARD, ROOT, RULES, read_yaml
from scripts.deploy.metric_names import asked, grouped_by, series, unknown
from scripts.deploy.panels import AT_A_GLANCE, ROWS
from server.telemetry.metrics import Metrics

ALERTS: list[dict[str, Any]] = [rule for group in read_yaml(RULES)["groups"] for rule in group["rules"]]
TESTS = ROOT / "deploy/prometheus/rules_test.yml"
OPERATIONS = (ROOT / "docs/operations.md").read_text("utf-8")


def expressions() -> Iterator[tuple[str, str]]:
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]
    for _, panels in ROWS:
        for panel in panels:
            yield from ((panel.title, query.expr) for query in panel.queries)


@pytest.fixture(scope="module", name="known")
def _known() -> dict[str, frozenset[str]]:
    return series()


def test_every_series_that_is_asked_for_is_one(known: dict[str, frozenset[str]]) -> None:
    """A name or a label that no server has would be an alert that never fires, or an empty panel."""
    faults = [f"{where}: {fault}" for where, expr in expressions() for fault in unknown(expr, known)]

    assert faults == []


def test_every_value_that_is_compared_with_is_one() -> None:
    """The values of labels that are known beforehand are spelled as the server spells them."""
    metrics = Metrics(families=("hermes",))
    exposition = metrics.render().decode()
    metrics.close()
    compared = {
        f'{name}="{value}"'
        for _, expr in expressions()
        for selector in asked(expr)
        for name, value in selector.labels.items()
        if name in {"cause", "outcome", "reason"}
    }

    assert compared == {'cause="failure"', 'outcome="failed"', 'reason="truncated"', 'reason="queue_full"'}
    assert [each for each in compared if each not in exposition] == []


def test_the_dashboard_is_made_from_the_panels() -> None:
    """`python -m scripts.deploy.dashboard --write` writes it."""
    assert DASHBOARD.read_text("utf-8") == text()


def test_the_first_row_answers_what_is_asked_first() -> None:
    """Is it up, how fast, how many calls are wrong and why, what does the mask cost."""
    [panels] = [panels for title, panels in ROWS[:1]]
    names = {selector.name for panel in panels for query in panel.queries for selector in asked(query.expr)}

    assert panels == AT_A_GLANCE
    assert names >= {
        "up",
        "strictcall_time_to_first_token_seconds_bucket",
        "strictcall_parse_failures_total",
        "strictcall_mask_fill_seconds_sum",
    }


def test_panels_have_their_own_numbers_and_places() -> None:
    """Grafana lets panels that overlap push each other away."""
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) == 23


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: str(rule["alert"]))
def test_each_alert_is_explained(rule: dict[str, Any]) -> None:
    """Whoever is woken by an alert finds it under its name, with what to do."""
    assert f"### {rule['alert']}\n" in OPERATIONS
    assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
    assert rule["labels"]["severity"] in {"critical", "warning"}


def test_no_alert_is_explained_that_does_not_exist() -> None:
    """An alert that is renamed is renamed in the documentation too."""
    explained = re.findall(r"^### (Strictcall\w+)$", OPERATIONS, re.MULTILINE)

    assert explained == [rule["alert"] for rule in ALERTS]


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: str(rule["alert"]))
def test_each_alert_is_tested_to_fire_and_not_to(rule: dict[str, Any]) -> None:
    """The unit tests of the rules, which promtool runs, have both for every alert."""
    checks = [
        check
        for test in read_yaml(TESTS)["tests"]
        for check in test["alert_rule_test"]
        if check["alertname"] == rule["alert"]
    ]

    assert {bool(check.get("exp_alerts")) for check in checks} == {True, False}


def test_rules_and_scrapes_agree_on_the_job() -> None:
    """The rules look for a job by its name."""
    [job] = read_yaml(ROOT / "deploy/prometheus/prometheus.yml")["scrape_configs"]
    jobs = {selector.labels.get("job") for rule in ALERTS for selector in asked(rule["expr"])}

    assert jobs == {job["job_name"]} == {"strictcall"}


def test_the_files_that_compose_mounts_exist() -> None:
    """Docker would make an empty directory of a file that is not there."""
    mounted = [
        volume.partition(":")[0]
        for service in read_yaml(COMPOSE)["services"].values()
        for volume in service["volumes"]
        if volume.startswith("./")
    ]

    assert mounted != []
    assert [path for path in mounted if not (ROOT / path).is_file()] == []


def test_a_wrong_name_is_reported() -> None:
    """A series, a label of one and a label to sum by are each told."""
    known = {"strictcall_a_total": frozenset({"b"})}

    assert list(unknown('sum by (b, c) (rate(strictcall_a_total{b="1", d="2"}[5m]))', known)) == [
        "strictcall_a_total: it has no label d",
        "c: nothing to sum by it",
    ]
    assert list(unknown("strictcall_x", known)) == ["strictcall_x: no server has it"]


def test_selectors_are_read_from_expressions() -> None:
    """With and without labels, and beside functions."""
    expr = 'sum by (le, job) (rate(vllm:x_bucket{job="a", r!="t"}[5m])) > up'

    assert [(each.name, each.labels) for each in asked(expr)] == [
        ("vllm:x_bucket", {"job": "a", "r": "t"}),
        ("up", {}),
    ]
    assert grouped_by(expr) == {"le", "job"}
