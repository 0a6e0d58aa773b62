"""Which series a server has, and which of them a PromQL expression asks for.

    series()["strictcall_aborts_total"]          # frozenset({"cause"}), its labels
    asked('rate(vllm:prompt_tokens_total{job="a"}[5m])')
    # [Asked("vllm:prompt_tokens_total", {"job": "a"})]

vLLM's metrics are read from its source, as importing it takes seconds and creating them takes an engine.
"""

import ast
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from server.telemetry.metrics import EngineMetrics, Metrics

GIVEN = frozenset({"job", "instance", "namespace", "le"})
"""Labels that Prometheus adds, and that of a histogram's buckets."""
VLLM_KINDS = {"_counter_cls": "counter", "_gauge_cls": "gauge", "_histogram_cls": "histogram"}
VLLM_LABELS = frozenset({"model_name", "engine"})
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}

_SELECTOR = re.compile(r"\b((?:strictcall|process|python)_\w+|vllm:\w+|up\b)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
_GROUPING = re.compile(r"\bby \(([^)]*)\)")


@dataclass(frozen=True, slots=True)
class Asked:
    """One selector of an expression: a series, and what its labels are compared with."""

    name: str
    labels: Mapping[str, str]


def asked(expr: str) -> list[Asked]:
    """Return the selectors of an expression."""
    return [Asked(name, dict(_MATCHER.findall(inside))) for name, inside in _SELECTOR.findall(expr)]


def grouped_by(expr: str) -> set[str]:
    """Return the labels that an expression sums by."""
    return {label.strip() for labels in _GROUPING.findall(expr) for label in labels.split(",")}


def ours() -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the series of strictcall with their labels, the engine's process included."""
    metrics = Metrics()
    holders: tuple[object, ...] = (metrics, EngineMetrics())
    metrics.close()
    for holder in holders:
        for each in vars(holder).values():
            if isinstance(each, MetricWrapperBase):
                [described] = each.describe()
                labels = frozenset(each._labelnames)  # noqa: SLF001 - the library tells them nowhere else
                yield from ((described.name + end, labels) for end in SUFFIXES[described.type])


def processes() -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the series of the server's process."""
    for each in REGISTRY.collect():
        yield from ((sample.name, frozenset(sample.labels)) for sample in each.samples)


def vllms() -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the series of the installed vLLM that it always has."""
    spec = importlib.util.find_spec("vllm")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("vLLM is not installed", name="vllm")
    source = Path(spec.origin).with_name("v1") / "metrics" / "loggers.py"
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            ends = SUFFIXES.get(VLLM_KINDS.get(node.func.attr, ""), ())
            words = {word.arg: word.value for word in node.keywords}
            match words.get("name"):
                case ast.Constant(value=str(name)):
                    yield from ((name + end, VLLM_LABELS) for end in ends)


def series() -> dict[str, frozenset[str]]:
    """Return every series that a scrape of a server has, with the labels that it has of its own."""
    return {"up": frozenset(), **dict(processes()), **dict(vllms()), **dict(ours())}


def unknown(expr: str, known: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield what an expression asks for and no server has: a series, or a label of one."""
    selectors = asked(expr)
    for each in selectors:
        if each.name not in known:
            yield f"{each.name}: no server has it"
            continue
        for label in sorted(each.labels.keys() - known[each.name] - GIVEN):
            yield f"{each.name}: it has no label {label}"
    of_all = {label for each in selectors for label in known.get(each.name, ())}
    yield from (f"{label}: nothing to sum by it" for label in sorted(grouped_by(expr) - of_all - GIVEN))
