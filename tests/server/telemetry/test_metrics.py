"""Metrics: their names are a contract with dashboards, and the engine process counts too."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from parsers.events import Reason
from server.telemetry.metrics import Metrics

ENGINE_PROCESS = """
from server.telemetry.metrics import EngineMetrics
metrics = EngineMetrics()
metrics.mask_fill_seconds.observe(0.00003)
metrics.mask_rows.inc(2)
metrics.grammar_cache_hits.inc()
"""


@pytest.fixture(name="metrics")
def _metrics() -> Iterator[Metrics]:
    metrics = Metrics(families=("hermes",))
    yield metrics
    metrics.close()


def samples(metrics: Metrics) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Read the rendered text as Prometheus would: sample name -> labels -> value."""
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def run_engine_process(metrics: Metrics) -> None:
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(metrics.engine_directory)}
    subprocess.run([sys.executable, "-c", ENGINE_PROCESS], env=environment, check=True)


def test_series_with_known_labels_start_at_zero(metrics: Metrics) -> None:
    """An alert on a rate sees 0 before the first event, not an absent series."""
    found = samples(metrics)

    assert found["strictcall_parse_failures_total"] == {
        (("family", "hermes"), ("reason", reason.value)): 0 for reason in Reason
    }
    assert len(found["strictcall_tool_calls_total"]) == 4 * 3
    assert found["strictcall_tokens_total"] == {
        (("kind", kind),): 0 for kind in ("prompt", "cached", "completion", "reasoning")
    }
    assert found["strictcall_requests_in_flight"] == {(): 0}
    assert found["strictcall_time_to_first_token_seconds_count"] == {(): 0}
    assert found["strictcall_time_per_output_token_seconds_count"] == {(): 0}
    assert set(found["strictcall_aborts_total"].values()) == {0}


def test_counted_events_are_rendered_with_their_labels(metrics: Metrics) -> None:
    """What is counted in the server's own process appears under the documented name and labels."""
    metrics.requests.labels(api="chat", status="200").inc()
    metrics.request_seconds.labels(api="chat").observe(0.2)
    metrics.tool_calls.labels(family="hermes", choice="auto", constraint="schema").inc(2)
    metrics.schema_violations.labels(keyword="uniqueItems").inc()
    metrics.unmasked_keywords.labels(keyword="not").inc()
    metrics.in_flight.inc()

    found = samples(metrics)

    assert found["strictcall_requests_total"] == {(("api", "chat"), ("status", "200")): 1}
    assert found["strictcall_request_seconds_count"] == {(("api", "chat"),): 1}
    labels = (("choice", "auto"), ("constraint", "schema"), ("family", "hermes"))
    assert found["strictcall_tool_calls_total"][labels] == 2
    assert found["strictcall_schema_violations_total"][(("keyword", "uniqueItems"),)] == 1
    assert found["strictcall_unmasked_keywords_total"][(("keyword", "not"),)] == 1
    assert found["strictcall_requests_in_flight"] == {(): 1}


def test_figures_of_the_engine_process_are_rendered(metrics: Metrics) -> None:
    """What another process measured is in the text, and the series it has not touched are 0."""
    run_engine_process(metrics)

    found = samples(metrics)

    assert found["strictcall_mask_fill_seconds_count"] == {(): 1}
    assert found["strictcall_mask_fill_seconds_bucket"][(("le", "2e-05"),)] == 0
    assert found["strictcall_mask_fill_seconds_bucket"][(("le", "5e-05"),)] == 1
    assert found["strictcall_mask_rows_total"] == {(): 2}
    assert found["strictcall_grammar_cache_total"] == {(("result", "hit"),): 1, (("result", "miss"),): 0}
    assert found["strictcall_grammar_compile_seconds_count"] == {(): 0}


def test_the_files_of_the_engine_have_their_room_from_the_start(metrics: Metrics) -> None:
    """They are mapped into memory: a disk that fills up later would end the engine with a signal."""
    run_engine_process(metrics)

    sizes = [path.stat() for path in metrics.engine_directory.iterdir()]
    assert sizes
    assert all(each.st_blocks * 512 >= each.st_size for each in sizes)


def test_a_restarted_engine_adds_to_the_figures_of_the_one_before(metrics: Metrics) -> None:
    """Counters never fall back when the engine process is replaced."""
    run_engine_process(metrics)
    run_engine_process(metrics)

    assert samples(metrics)["strictcall_mask_rows_total"] == {(): 4}


def test_the_process_itself_is_measured(metrics: Metrics) -> None:
    """Memory and open files of the server are there, although the engine counts in another process."""
    found = samples(metrics)

    assert found["process_resident_memory_bytes"][()] > 1e6
    assert found["process_open_fds"][()] > 0


def test_no_metric_is_rendered_twice(metrics: Metrics) -> None:
    """A scrape with the same metric twice is refused by Prometheus as a whole."""
    run_engine_process(metrics)
    names = [line.split()[2] for line in metrics.render().decode().splitlines() if line.startswith("# TYPE")]

    assert len(names) == len(set(names))


def test_every_help_text_is_a_sentence(metrics: Metrics) -> None:
    """Who reads the scrape learns what a metric means."""
    run_engine_process(metrics)
    lines = [
        line
        for line in metrics.render().decode().splitlines()
        if line.startswith("# HELP strictcall_") and not line.split()[2].endswith("_created")
    ]

    assert len(lines) == 28
    assert [line for line in lines if not line.endswith(".") or len(line.split()) < 6] == []


def test_two_servers_in_one_process_do_not_mix(metrics: Metrics) -> None:
    """Metrics belong to their server: there is no shared state behind them."""
    other = Metrics()
    other.tokens.labels(kind="prompt").inc(7)

    assert samples(metrics)["strictcall_tokens_total"][(("kind", "prompt"),)] == 0
    other.close()


def test_closing_removes_the_directory(metrics: Metrics) -> None:
    """Nothing stays on the disk after the server, and a late scrape still gets the rest."""
    run_engine_process(metrics)
    metrics.close()

    assert not metrics.engine_directory.exists()
    assert "strictcall_mask_rows_total" not in samples(metrics)
    assert "strictcall_requests_in_flight" in samples(metrics)


@pytest.mark.parametrize(("undrafted", "series"), [(None, {"": 1}), ("LoRA is on", {"LoRA is on": 0})])
def test_whether_forced_tokens_are_drafted_is_told(
    metrics: Metrics, undrafted: str | None, series: dict[str, float]
) -> None:
    """There is one series, and where nothing is drafted its label says why."""
    metrics.tell_drafting("of something else")
    metrics.tell_drafting(undrafted)
    found = samples(metrics)["strictcall_forced_token_drafting"]

    assert {dict(labels)["because"]: value for labels, value in found.items()} == series
