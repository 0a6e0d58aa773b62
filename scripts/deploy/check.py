"""Check every file that deploys strictcall with the tool that its reader would use.

    $ make deploy-check
    Dockerfile (hadolint)                            ok
    ...
    promtool is missing: install Prometheus, which brings it (Debian, Ubuntu: apt install prometheus)
    Alert rules and their tests (promtool)           FAILED

It runs in the environment of requirements/deploy.txt, where neither strictcall nor vLLM is installed; what
needs those is in tests/deploy.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.deploy.chart import check_chart, check_schemas
from scripts.deploy.dashboard import main as check_dashboard_file
from scripts.deploy.files import ROOT, RULES
from scripts.deploy.grafana import check_types
from scripts.deploy.manifests import main as check_manifest_files
from scripts.deploy.panels import ROWS
from scripts.deploy.tools import find, run, said

VARIABLES = {"$__rate_interval": "5m", "$instance": ".*"}
"""What Grafana puts into queries, where Prometheus is to read them without it."""


def check_dockerfile() -> list[str]:
    return run("hadolint", "Dockerfile")


def check_compose() -> Iterator[str]:
    """Both profiles, with and without the API keys."""
    keys = ("-f", "docker-compose.yml", "-f", "deploy/compose/api-keys.yml")
    for profile in ("cpu", "gpu"):
        for files in ((), keys):
            arguments = (*files, "--profile", profile, "config", "--quiet")
            # The status of the package's program is 0 whatever it found.
            yield from said("docker-compose", *arguments, API_KEYS="api-keys")


def check_prometheus() -> Iterator[str]:
    """The configuration, in the layout of its container, the rules, and their unit tests."""
    with tempfile.TemporaryDirectory() as directory:
        layout = Path(directory)
        (layout / "rules").mkdir()
        (layout / "rules/strictcall.yml").write_bytes(RULES.read_bytes())
        (layout / "prometheus.yml").write_bytes((ROOT / "deploy/prometheus/prometheus.yml").read_bytes())
        yield from run("promtool", "check", "config", layout / "prometheus.yml")
    yield from run("promtool", "test", "rules", "deploy/prometheus/rules_test.yml")


def check_queries() -> list[str]:
    """The dashboard's queries, which promtool reads as rules."""
    queries = [query for _, panels in ROWS for panel in panels for query in panel.queries]
    rules = [{"record": f"query:{number}", "expr": filled(each.expr)} for number, each in enumerate(queries)]
    with tempfile.TemporaryDirectory() as directory:
        # JSON is YAML.
        file = Path(directory) / "queries.yml"
        file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
        return run("promtool", "check", "rules", "--lint=none", file)


def filled(expr: str) -> str:
    """A query with Grafana's variables replaced."""
    for variable, value in VARIABLES.items():
        expr = expr.replace(variable, value)
    return expr


def check_shell() -> list[str]:
    """Every script that bash runs."""
    scripts = [ROOT / ".ci/run", ROOT / "scripts/setup", *sorted(ROOT.glob("deploy/**/*.sh"))]
    return run("shellcheck", *scripts)


def check_unit() -> list[str]:
    """The systemd unit, but for the program that it starts, which is not on this machine."""
    if find("systemd-analyze") is None:
        print("systemd-analyze is missing: the unit is not checked here")
        return []
    faults = run("systemd-analyze", "verify", "deploy/systemd/strictcall.service")
    return [line for line in faults if "/opt/strictcall/bin/strictcall is not executable" not in line]


def printed(main: Callable[[list[str]], int]) -> Callable[[], list[str]]:
    """A check that prints its faults itself."""
    return lambda: ["out of date"] if main([]) else []


CHECKS: dict[str, Callable[[], list[str] | Iterator[str]]] = {
    "Dockerfile (hadolint)": check_dockerfile,
    "Compose files (docker compose config)": check_compose,
    "Helm chart (lint, render)": check_chart,
    "Kubernetes objects (published schemas)": check_schemas,
    "Manifests are what the chart renders": printed(check_manifest_files),
    "Alert rules and their tests (promtool)": check_prometheus,
    "Dashboard is what the panels say": printed(check_dashboard_file),
    "Dashboard (Grafana's published types)": check_types,
    "Dashboard queries (promtool)": check_queries,
    "Shell scripts (shellcheck)": check_shell,
    "YAML (yamllint)": lambda: run("yamllint", "--strict", "."),
    "systemd unit": check_unit,
}


def main() -> int:
    """Run every check, say how each went, and return 1 if any failed."""
    failed = 0
    for name, check in CHECKS.items():
        faults = list(check())
        print(*faults, sep="\n", end="\n" if faults else "")
        print(f"{name:48} {'FAILED' if faults else 'ok'}", flush=True)
        failed |= bool(faults)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
