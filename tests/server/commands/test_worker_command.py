"""`strictcall worker`: what it hands to vLLM's server."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from server.commands import worker
from server.config.settings import DEFAULT_MODEL
from server.main import main


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")  # which is then taken back
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR")
    monkeypatch.setattr(worker, "configure", lambda *_: None)


@pytest.fixture(name="served")
def _served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What would have been served."""
    served: list[dict[str, Any]] = []

    def serve(model: str, flags: Sequence[str], *, drafts: bool) -> None:
        directory = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        served.append({"model": model, "flags": flags, "drafts": drafts, "metrics": directory.is_dir()})

    monkeypatch.setattr(worker, "serve", serve)
    return served


def test_the_model_stands_first_and_the_rest_is_vllms(served: list[dict[str, Any]]) -> None:
    """Only one flag is ours; the figures of all processes come together in one directory."""
    code = main(["worker", "org/model", "--port", "8001", "--no-draft-forced-tokens"])

    assert code == 0
    assert served == [{"model": "org/model", "flags": ["--port", "8001"], "drafts": False, "metrics": True}]


def test_the_default_model_keeps_its_name(served: list[dict[str, Any]]) -> None:
    """It lies in a cache; front ends know it by name."""
    main(["worker", "--port", "8001"])

    assert served[0]["flags"] == ["--port", "8001", "--served-model-name", DEFAULT_MODEL]
    assert served[0]["drafts"]


def test_help_starts_nothing(served: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    """It says what the command takes."""
    assert main(["worker", "--help"]) == 0
    assert "flags of vllm serve" in capsys.readouterr().out
    assert served == []


def test_a_model_that_is_not_there_is_told_at_once(
    served: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Before vLLM is imported."""
    assert main(["worker", "/no/such/model"]) == 1
    assert "There is no model directory '/no/such/model'" in capsys.readouterr().err
    assert served == []


def test_a_package_that_the_worker_lacks_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """VLLM's CPU wheel leaves some of its server out."""
    monkeypatch.setitem(sys.modules, "server.engine.worker_server", None)

    assert main(["worker", "org/model"]) == 1
    assert "which is not installed" in capsys.readouterr().err
