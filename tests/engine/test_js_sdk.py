"""The official JavaScript SDK against the running server: the tests are in tests/clients/js."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest

CLIENT = Path(__file__).parents[1] / "clients" / "js"
FILES = sorted(path.name for path in CLIENT.glob("*.test.mjs"))


def node_major() -> int:
    """The major version of Node, 0 where there is none."""
    if shutil.which("node") is None:
        return 0
    version = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(version.removeprefix("v").split(".")[0])


pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(node_major() < 20, reason="needs Node 20 or newer on the PATH"),
    pytest.mark.skipif(
        not (CLIENT / "node_modules").exists(),
        reason="needs the SDK: npm --prefix tests/clients/js ci (make test does it)",
    ),
]


@pytest.mark.parametrize("file", FILES)
async def test_javascript_sdk(base_url: str, file: str) -> None:
    """Every test of the file passes, on the model that the server names first."""
    async with httpx2.AsyncClient() as client:
        models = (await client.get(f"{base_url}/models")).raise_for_status().json()

    run = await asyncio.create_subprocess_exec(
        *("node", "--test", "--test-reporter=spec", file),
        cwd=CLIENT,
        env={**os.environ, "BASE_URL": base_url, "MODEL": models["data"][0]["id"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await run.communicate()

    assert run.returncode == 0, output.decode()
