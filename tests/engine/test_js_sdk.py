"""The official JavaScript SDK against the running server: the tests are in tests/clients/js."""

import json
import os
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[1] / "clients" / "js"
FILES = sorted(path.name for path in CLIENT.glob("*.test.mjs"))

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node 20 or newer on the PATH"),
    pytest.mark.skipif(
        not (CLIENT / "node_modules").exists(),
        reason="needs the SDK: npm --prefix tests/clients/js ci (make test does it)",
    ),
]


@pytest.mark.parametrize("file", FILES)
def test_javascript_sdk(base_url: str, file: str) -> None:
    """Every test of the file passes, on the model that the server names first."""
    with urllib.request.urlopen(f"{base_url}/models") as response:
        model = json.load(response)["data"][0]["id"]

    run = subprocess.run(
        ["node", "--test", "--test-reporter=spec", file],
        cwd=CLIENT,
        env={**os.environ, "BASE_URL": base_url, "MODEL": model},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout
