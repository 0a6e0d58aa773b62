"""The environment of vLLM's processes: quiet and private by default, the user's where the user has spoken."""

import contextlib
import json
import logging
import logging.config
import os
from pathlib import Path

import pytest

from server.engine.environment import (
    QUIET_LOG,
    VARIABLES,
    KnownNoise,
    multiprocess_metrics,
    prepare_environment,
    reserved_cores,
)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {})


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("vllm", logging.WARNING, "file", 1, message, (), None)


def test_the_defaults_are_set_where_nothing_is() -> None:
    """No usage reports, spawned processes, and a log without what the user cannot change."""
    prepare_environment()

    assert os.environ.items() >= {**VARIABLES, "VLLM_LOGGING_CONFIG_PATH": str(QUIET_LOG)}.items()
    assert os.environ["VLLM_NO_USAGE_STATS"] == "1"


def test_what_the_user_set_is_kept() -> None:
    """Who asks for vLLM's own log gets it whole."""
    os.environ["VLLM_LOGGING_LEVEL"] = "DEBUG"
    os.environ["VLLM_NO_USAGE_STATS"] = "0"
    prepare_environment()

    assert os.environ["VLLM_NO_USAGE_STATS"] == "0"
    assert "VLLM_LOGGING_CONFIG_PATH" not in os.environ


def test_of_few_cores_the_model_has_all() -> None:
    """Of two cores, one for the other processes, which need little, would be half of the speed."""
    assert reserved_cores(2) == {"VLLM_CPU_NUM_OF_RESERVED_CPU": "0"}
    assert reserved_cores(8) == {}


@pytest.mark.parametrize(
    ("message", "passes"),
    [
        pytest.param("Triton is not installed. triton-cpu is expected on x86 CPUs.", False, id="noise"),
        pytest.param("%s is not found in LD_PRELOAD. For best performance", False, id="noise-template"),
        pytest.param("The model has no tokenizer", True, id="anything-else"),
    ],
)
def test_only_known_noise_is_dropped(message: str, passes: bool) -> None:
    """A warning that we do not know may matter."""
    assert KnownNoise().filter(record(message)) is passes


def test_the_log_configuration_is_one_that_python_accepts() -> None:
    """The processes of vLLM read it from the file, and its filter by name."""
    configuration = json.loads(QUIET_LOG.read_text())
    configurator = logging.config.DictConfigurator(configuration)
    noise = configurator.configure_filter(configuration["filters"]["noise"])

    assert isinstance(noise, KnownNoise)
    assert configuration["loggers"]["vllm"]["level"] == "WARNING"


def test_the_metrics_directory_is_set_only_meanwhile(tmp_path: Path) -> None:
    """The server's own process keeps what it had, also when the start fails."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = "before"
    with contextlib.suppress(RuntimeError), multiprocess_metrics(tmp_path):
        meanwhile = os.environ["PROMETHEUS_MULTIPROC_DIR"]
        raise RuntimeError

    assert meanwhile == str(tmp_path)
    assert os.environ["PROMETHEUS_MULTIPROC_DIR"] == "before"


def test_without_a_directory_the_processes_keep_no_files() -> None:
    """A variable meant for another program does not make vLLM write into that program's directory."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = "another"
    with multiprocess_metrics(None):
        assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ

    assert os.environ["PROMETHEUS_MULTIPROC_DIR"] == "another"
