"""The Helm chart: linted and rendered by Helm's own code, and its objects against their published schemas.

Helm comes as a library (helm-python-sdk), the schemas of Kubernetes' objects with kubernetes-validate, and
those of the Prometheus operator's and KEDA's with cloudcoil: all of requirements/deploy.txt.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]  # its types are in a package of their own

from scripts.deploy.files import CHART, read_yaml
from scripts.deploy.manifests import NAMESPACE, sources
from scripts.deploy.tools import lost

WARNING = 2
"""What Helm calls its warnings; errors are above."""

VERSIONS = ("1.27", "1.31", "1.37")
"""Of Kubernetes: the oldest that the chart takes, the newest that there are schemas of, and one between."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "hpa": {"autoscaling": {"by": "hpa"}},
    "keys in values": {"apiKeys": {"keys": ["one", "two"]}, "podAnnotations": {"a": "b"}},
    "open, from a directory": {
        "apiKeys": {"existingSecret": ""},
        "model": "/models/x",
        "cache": {"existingClaim": "x"},
    },
    "everything else": {
        "nameOverride": "other",
        "runAsUser": None,
        "image": {"tag": "1", "pullSecrets": [{"name": "x"}]},
        "tensorParallelSize": 4,
        "gpu": {"count": 8},
        "engineArgs": ["--max-model-len=8192"],
        "settings": {
            "max_body_bytes": 16777216,
            "strict_tools": True,
            "cors_origin": ["http://a", "http://b"],
        },
        "huggingFace": {"existingSecret": "hub", "offline": True},
        "cache": {"persistent": True, "storageClass": "fast"},
        "resources": {"requests": {"cpu": "8"}, "limits": {"memory": "64Gi"}},
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "runtimeClassName": "nvidia",
        "extraEnv": [{"name": "VLLM_LOGGING_LEVEL", "value": "INFO"}],
        "extraVolumes": [{"name": "models", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "models", "mountPath": "/models"}],
    },
}
"""Values beside those in deploy/kubernetes, so that every branch of every template is rendered."""


def variants() -> dict[str, Mapping[str, Any]]:
    return {**VARIANTS, **{path.name: read_yaml(path) for path in sources()}}


def check_chart() -> Iterator[str]:
    """Yield what Helm's lint says of each variant, but for advice."""
    import helm_python

    for name, values in variants().items():
        report = helm_python.lint(str(CHART), dict(values), strict=True)
        for message in report["messages"]:
            if message["severity"] >= WARNING:
                yield f"{name}: {message['path']}: {message['error']}"


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object of every variant, with where it is from."""
    import helm_python

    with helm_python.Chart.load(str(CHART)) as chart:
        for name, values in variants().items():
            rendered = chart.render(dict(values), name="strictcall", namespace=NAMESPACE)
            for path, text in rendered.items():
                for document in yaml.safe_load_all(text) if path.endswith(".yaml") else ():
                    if document is not None:
                        yield f"{name}: {document['kind']}", document


def check_schemas() -> Iterator[str]:
    """Yield what in the objects is not as their schemas have it; a field that no schema knows is a fault."""
    from kubernetes_validate import ValidationError, validate

    custom = custom_models()
    for where, document in objects():
        model = custom.get(document["kind"])
        if model is not None:
            read = model.model_validate(document).model_dump(by_alias=True, exclude_none=True, mode="json")
            yield from (f"{where}{fault}" for fault in lost(document, read))
            continue
        for version in VERSIONS:
            try:
                validate(document, version, strict=True)
            except ValidationError as exc:
                yield f"{where}: Kubernetes {version}: {exc}"


def custom_models() -> dict[str, Any]:
    """The objects that are not Kubernetes' own, by kind."""
    from cloudcoil.models.keda.v1alpha1 import ScaledObject
    from cloudcoil.models.prometheus_operator.v1 import PodMonitor, PrometheusRule

    return {model.__name__: model for model in (PodMonitor, PrometheusRule, ScaledObject)}
