"""The Helm chart and the manifests that it renders: what can be known of them without Helm."""

import json
import tomllib
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its types are in a package of their own

from scripts.deploy.files import CHART, DASHBOARD, ROOT, RULES, read_yaml
from scripts.deploy.manifests import digest, manifest_of, sources
from scripts.deploy.metric_names import asked, series
from server.api.ops import probes as probe_router
from server.config.settings import Settings, specs
from server.config.sources import load
from server.engine.vllm import STOP_SECONDS

OWN_VALUES = {"model", "host", "port", "api_key", "api_key_file", "ops_api_key", "drain_seconds"}
"""Settings that have a value of their own in the chart, or that the chart's probes and ports depend on."""

MANIFESTS = [manifest_of(values) for values in sources()]
NAMES = [manifest.stem for manifest in MANIFESTS]


def objects(name: str) -> dict[str, dict[str, Any]]:
    """The objects of a manifest by kind; there are no two of one."""
    documents = list(yaml.safe_load_all((ROOT / f"deploy/kubernetes/{name}.yaml").read_text("utf-8")))
    found = {document["kind"]: document for document in documents}
    assert len(found) == len(documents)
    return found


def pod(name: str) -> dict[str, Any]:
    template: dict[str, Any] = objects(name)["Deployment"]["spec"]["template"]
    return template


def container(name: str) -> dict[str, Any]:
    [only] = pod(name)["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def environment(name: str) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container(name)["env"]}


@pytest.mark.parametrize("values", sources(), ids=lambda path: str(path.name))
def test_manifests_are_made_from_the_chart_as_it_is(values: Any) -> None:
    """`make manifests` renders them; the digest in each tells what from."""
    assert f"# sha256 of chart and values: {digest(values)}\n" in manifest_of(values).read_text("utf-8")


def test_the_chart_has_the_version_of_the_project() -> None:
    """A release that forgets it is seen here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    chart = read_yaml(CHART / "Chart.yaml")

    assert (chart["appVersion"], chart["version"]) == (project["version"], project["version"])


def test_the_chart_takes_the_settings_of_the_server() -> None:
    """A setting that is added is taken, and one that has a value of its own is not taken twice."""
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    taken = schema["properties"]["settings"]["propertyNames"]["enum"]

    assert taken == [name for name in specs() if name not in OWN_VALUES]


def test_the_schema_of_the_values_knows_every_default() -> None:
    """A value that is renamed is renamed in the schema."""
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))

    assert read_yaml(CHART / "values.yaml").keys() == schema["properties"].keys() - {"global"}


@pytest.mark.parametrize("name", NAMES)
def test_the_server_reads_what_its_container_is_given(name: str) -> None:
    """Arguments and variables are those of the server, whose own reader reads them."""
    [command, *flags] = container(name)["args"]
    given = {key: value for key, value in environment(name).items() if key != "STRICTCALL_API_KEY_FILE"}
    settings = load(flags, given)

    assert command == "serve"
    assert settings.model == read_yaml(ROOT / f"deploy/kubernetes/{name}.values.yaml")["model"]
    assert settings.log_format.value == "json"


@pytest.mark.parametrize("name", NAMES)
def test_probes_ask_for_paths_that_exist(name: str) -> None:
    """Liveness asks whether the server can ever answer again, readiness whether requests may be sent."""
    probes = {
        kind: container(name)[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")
    }
    paths = {str(getattr(route, "path", "")) for route in probe_router.routes}

    assert {kind: probe["path"] for kind, probe in probes.items()} == {
        "startup": "/health",
        "liveness": "/health",
        "readiness": "/ready",
    }
    assert {probe["path"] for probe in probes.values()} <= paths
    assert {probe["port"] for probe in probes.values()} == {container(name)["ports"][0]["name"]}


@pytest.mark.parametrize("name", NAMES)
def test_pods_are_not_killed_before_they_are_drained(name: str) -> None:
    """The wait before SIGTERM, the drain and the end of the engine fit into the grace period."""
    [_, seconds] = container(name)["lifecycle"]["preStop"]["exec"]["command"]
    drain = int(environment(name)["STRICTCALL_DRAIN_SECONDS"])

    assert drain == Settings().drain_seconds
    assert pod(name)["spec"]["terminationGracePeriodSeconds"] > int(seconds) + drain + STOP_SECONDS


@pytest.mark.parametrize("name", NAMES)
def test_pods_fit_the_restricted_standard(name: str) -> None:
    """Kubernetes' strictest Pod Security Standard, and a file system that cannot be written on top of it."""
    context = container(name)["securityContext"]
    spec = pod(name)["spec"]

    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert context == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False
    assert {next(iter(volume.keys() - {"name"})) for volume in spec["volumes"]} <= {
        "emptyDir",
        "persistentVolumeClaim",
        "secret",
    }


@pytest.mark.parametrize("name", NAMES)
def test_what_the_image_writes_is_mounted(name: str) -> None:
    """The file system of the image is read-only."""
    mounted = {mount["mountPath"] for mount in container(name)["volumeMounts"]}

    assert mounted >= {"/cache", "/tmp", "/dev/shm"}


@pytest.mark.parametrize("name", NAMES)
def test_the_server_asks_for_the_keys_that_are_mounted(name: str) -> None:
    """The file is below the mount of the Secret, which is there unless the server is open."""
    [mount] = [each for each in container(name)["volumeMounts"] if each["name"] == "api-keys"]

    assert environment(name)["STRICTCALL_API_KEY_FILE"] == f"{mount['mountPath']}/api-keys"
    assert mount["readOnly"] is True


@pytest.mark.parametrize("name", NAMES)
def test_selectors_find_the_pods(name: str) -> None:
    """Service, budget, policy and monitor mean the pods of the deployment."""
    labels = pod(name)["metadata"]["labels"]
    found = objects(name)
    selectors = [
        found["Service"]["spec"]["selector"],
        found["Deployment"]["spec"]["selector"]["matchLabels"],
        found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        *([found["PodMonitor"]["spec"]["selector"]["matchLabels"]] if "PodMonitor" in found else []),
    ]

    assert [selector for selector in selectors if not selector.items() <= labels.items()] == []


def test_layers_are_split_over_all_gpus_of_a_server() -> None:
    """Two GPUs that are asked for are used."""
    assert container("fleet")["resources"]["limits"] == {"nvidia.com/gpu": 2}
    assert "--tensor-parallel-size=2" in container("fleet")["args"]
    assert container("gpu")["resources"]["limits"] == {"nvidia.com/gpu": 1}
    assert "limits" not in container("cpu")["resources"]


def test_servers_are_scaled_by_series_that_exist() -> None:
    """KEDA asks for them with the labels that a PodMonitor adds, the HPA by their name."""
    scaled = objects("fleet")["ScaledObject"]["spec"]
    queries = [asked(trigger["metadata"]["query"]) for trigger in scaled["triggers"]]
    hpa = (CHART / "templates/horizontalpodautoscaler.yaml").read_text("utf-8")

    assert [[each.name for each in query] for query in queries] == [
        ["strictcall_requests_in_flight"],
        ["vllm:num_requests_waiting"],
    ]
    assert {label for query in queries for each in query for label in each.labels} == {"namespace", "pod"}
    assert {each.name for query in queries for each in query} <= series().keys()
    assert "name: strictcall_requests_in_flight\n" in hpa
    assert "replicas" not in objects("fleet")["Deployment"]["spec"]


def test_the_cluster_has_the_same_rules_and_the_same_dashboard() -> None:
    """What compose mounts is what the chart carries."""
    found = objects("fleet")

    assert found["PrometheusRule"]["spec"] == read_yaml(RULES)
    assert json.loads(found["ConfigMap"]["data"]["strictcall.json"]) == json.loads(
        DASHBOARD.read_text("utf-8")
    )


def test_the_monitor_names_the_job_that_the_rules_look_for() -> None:
    """The operator's own name of the job would not match."""
    [endpoint] = objects("fleet")["PodMonitor"]["spec"]["podMetricsEndpoints"]

    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": "strictcall"}]
    assert endpoint["path"] == "/metrics"
    assert endpoint["port"] == container("fleet")["ports"][0]["name"]
