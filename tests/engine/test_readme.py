"""The README's first screen, run as a reader would run it."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"

pytestmark = pytest.mark.engine


async def test_the_snippet_prints_a_strict_call(base_url: str) -> None:
    """The first Python block prints a call that fits its schema, in the form that the README shows."""
    text = README.read_text(encoding="utf-8")
    python, printed = re.findall(r"```(?:python|text)\n(.*?)```", text, re.DOTALL)[:2]
    snippet = python.replace("http://127.0.0.1:8000/v1", base_url)

    run = await asyncio.create_subprocess_exec(sys.executable, "-c", snippet, stdout=asyncio.subprocess.PIPE)
    output, _ = await run.communicate()

    name, arguments = output.decode().split(" ", 1)
    assert run.returncode == 0
    assert name == printed.split(" ", 1)[0]
    assert json.loads(arguments).keys() == json.loads(printed.split(" ", 1)[1]).keys()
    assert json.loads(arguments)["unit"] in ("celsius", "fahrenheit")
