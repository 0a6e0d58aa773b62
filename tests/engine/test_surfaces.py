"""The table over all APIs, on the real engine: the same calls, arguments and stop meaning by each."""

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.conftest import MODEL, RunningServer
from tests.engine.test_choices import CALLABLE, FORCED, TOOLS
from tests.server.scripted import Told
from tests.surfaces import CHAT, CHOICES, SURFACES, Surface, Tool

pytestmark = pytest.mark.engine

SAMPLING: dict[str, Any] = {"temperature": 0, "max_tokens": 60}
NAMES = ["get_time", "get_weather"]
"""The one that a choice names comes first, as in `CHOICES`."""

ROWS = list(itertools.product(CHOICES, ("strict", "loose")))


async def answered(server: RunningServer, surface: Surface, choice: str, strictness: str) -> Told:
    """What the client is told, which must be the same when it is streamed."""
    tools = [Tool(name, TOOLS[name], strict=strictness == "strict") for name in NAMES]
    body = {"model": MODEL, **surface.body(tools, choice, **SAMPLING)}
    whole = await server.http.post(surface.path, json=body)
    streamed = await server.http.post(surface.path, json={**body, "stream": True})
    assert (whole.status_code, streamed.status_code) == (200, 200), whole.text
    told = surface.told(whole.json())
    assert surface.told(surface.folded(streamed.text)) == told
    return told


@pytest.mark.parametrize("row", ROWS, ids="-".join)
async def test_every_surface_gives_the_same(server: RunningServer, row: tuple[str, str]) -> None:
    """Whatever is asked of the model, by whichever API, streamed or not: one answer."""
    choice, strictness = row
    surfaces = [surface for surface in SURFACES if choice in surface.choices]
    told = [await answered(server, surface, choice, strictness) for surface in surfaces]

    expected = told[surfaces.index(CHAT)]
    for surface, each in zip(surfaces, told, strict=True):
        calls = tuple((name, surface.arguments(arguments)) for name, arguments in expected.calls)
        assert each == replace(expected, calls=calls)
    names = {name for name, _ in expected.calls}
    assert names <= set(CALLABLE.get(choice, TOOLS))
    whole = expected.calls if expected.finish != "length" else expected.calls[:-1]
    if choice in FORCED:
        assert expected.calls or expected.finish == "length"
    for name, arguments in whole:
        read = json.loads(arguments)
        if strictness == "strict":
            properties = TOOLS[name]["properties"]
            assert isinstance(properties, dict)
            assert read.keys() == properties.keys()
