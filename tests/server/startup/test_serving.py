"""A server on a real socket: it announces itself, drains, and stops when its engine is gone."""

import asyncio
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from server.commands.serve import bind
from server.config.settings import Settings
from server.console.terminal import CommandError
from server.engine.protocol import Engine
from server.engine.revived import RevivedEngine
from server.startup import serving
from server.startup.serving import Handler, Outcome, run_server
from server.telemetry.labels import Restart
from tests.server.shell import IdleEngine, make_context


def not_expected(number: int, _frame: object) -> None:
    raise AssertionError(f"signal {number} has come twice")


@asynccontextmanager
async def running(
    engine: Engine, settings: Settings | None = None, *, end_now: Handler = not_expected
) -> AsyncIterator[tuple[httpx2.AsyncClient, asyncio.Task[Outcome]]]:
    """A server that has announced itself, and a client of it."""
    ready = asyncio.Event()
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        context = make_context(settings, engine=engine)
        task = asyncio.create_task(run_server(context, listener, announce=ready.set, end_now=end_now))
        await asyncio.wait_for(ready.wait(), 10)
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            yield client, task
        if not task.done():
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(task, 10)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_the_server_and_closes_the_engine(number: signal.Signals) -> None:
    """Both signals end it in order: the outcome is no failure."""
    engine = IdleEngine()
    async with running(engine) as (client, task):
        response = await client.get("/health")
        signal.raise_signal(number)
        outcome = await asyncio.wait_for(task, 10)

    assert response.status_code == 200
    assert outcome is Outcome.STOPPED
    assert engine.closed


async def test_a_server_that_waits_is_woken_and_does_not_look_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at all that may have changed costs more than a token, and there would be ten in a second."""
    monkeypatch.setattr(serving, "TICK_SECONDS", 3_600)
    async with running(IdleEngine()) as (client, task):
        await client.get("/health")
        signal.raise_signal(signal.SIGTERM)

        assert await asyncio.wait_for(task, 10) is Outcome.STOPPED


class SlowToClose(IdleEngine):
    """An engine whose processes take a while to end, and are gone meanwhile."""

    async def close(self) -> None:
        self.dead = True
        await asyncio.sleep(0.3)
        await super().close()


async def test_an_engine_that_is_being_closed_has_not_died(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is told to stop says so, however long its engine takes to end."""
    monkeypatch.setattr(serving, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(serving, "LAST_ANSWERS_SECONDS", 0.05)
    async with running(SlowToClose()) as (_, task):
        signal.raise_signal(signal.SIGTERM)

        assert await asyncio.wait_for(task, 10) is Outcome.STOPPED


async def test_a_running_request_is_answered_before_the_server_stops() -> None:
    """A signal lets what runs come to its end."""
    engine = IdleEngine()
    async with running(engine) as (client, task):
        engine.alive.clear()
        request = asyncio.create_task(client.get("/health"))
        await asyncio.sleep(0.1)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0.3)
        assert not task.done()
        engine.alive.set()
        response = await request
        outcome = await asyncio.wait_for(task, 10)

    assert (response.status_code, outcome) == (200, Outcome.STOPPED)


async def test_a_request_that_does_not_end_does_not_keep_the_server() -> None:
    """After `drain_seconds` the server stops all the same."""
    engine = IdleEngine()
    async with running(engine, Settings(drain_seconds=0)) as (client, task):
        engine.alive.clear()
        request = asyncio.create_task(client.get("/health"))
        await asyncio.sleep(0.1)
        signal.raise_signal(signal.SIGTERM)
        outcome = await asyncio.wait_for(task, 10)
        await asyncio.gather(request, return_exceptions=True)

    assert outcome is Outcome.STOPPED


async def test_a_server_that_drains_tells_so_and_refuses_new_requests() -> None:
    """Its port stays open: it is alive and not ready, and requests learn that another may take them."""
    engine = IdleEngine()
    async with running(engine) as (client, task):
        engine.alive.clear()
        request = asyncio.create_task(client.get("/health"))
        await asyncio.sleep(0.1)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0.3)
        async with httpx2.AsyncClient(base_url=client.base_url) as newcomer:
            ready = await newcomer.get("/ready")
            refused = await newcomer.post("/v1/chat/completions", json={})
            scraped = await newcomer.get("/metrics")
        engine.alive.set()
        await request
        outcome = await asyncio.wait_for(task, 10)

    assert (ready.status_code, ready.json()["error"]["code"]) == (503, "server_stopping")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_stopping")
    assert (refused.headers["connection"], refused.headers["retry-after"]) == ("close", "5")
    assert 'strictcall_requests_refused_total{reason="stopping"} 1.0' in scraped.text
    assert outcome is Outcome.STOPPED


async def test_the_second_signal_ends_now() -> None:
    """Whoever sends it has waited long enough."""
    engine, ends = IdleEngine(), list[int]()
    async with running(engine, end_now=lambda number, _: ends.append(number)) as (client, task):
        engine.alive.clear()
        request = asyncio.create_task(client.get("/health"))
        await asyncio.sleep(0.1)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        engine.alive.set()
        await request
        await asyncio.wait_for(task, 10)

    assert ends == [signal.SIGINT]


async def test_a_server_whose_engine_died_answers_503_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes learn the reason for some seconds, then whoever supervises can start it anew (fault B285)."""
    monkeypatch.setattr(serving, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(serving, "LAST_ANSWERS_SECONDS", 0.3)
    engine = IdleEngine()
    async with running(engine) as (client, task):
        engine.dead = True
        response = await client.get("/health")
        outcome = await asyncio.wait_for(task, 10)

    assert response.status_code == 503
    assert outcome is Outcome.ENGINE_DIED


async def test_a_server_without_an_engine_lives_and_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Liveness must not kill what is about to recover; readiness keeps requests away meanwhile."""
    monkeypatch.setattr(serving, "CHECK_SECONDS", 0.02)
    first, loaded = IdleEngine(), asyncio.Event()
    counts: list[Restart] = []

    async def start() -> Engine:
        await loaded.wait()
        return IdleEngine()

    engine = RevivedEngine(first, start, attempts=1, took=7, counted=counts.append)
    async with running(engine) as (client, task):
        first.dead = True
        ready, health = await client.get("/ready"), await client.get("/health")
        loaded.set()
        await asyncio.sleep(0.1)
        after = await client.get("/ready")

        assert not task.done()

    assert (ready.status_code, health.status_code, after.status_code) == (503, 200, 200)
    assert ready.json()["error"]["code"] == "engine_restarting"
    assert re.fullmatch("[67]", ready.headers["retry-after"])


async def test_a_client_that_sends_too_much_hears_why() -> None:
    """On a real connection, too, the refusal arrives, though the client listens only after sending all."""
    async with running(IdleEngine(), Settings(max_body_bytes=100_000)) as (client, _):
        response = await client.post("/tokenize", content=b" " * 700_000)

    assert response.status_code == 413


async def test_a_port_that_another_server_took_meanwhile_is_told() -> None:
    """Two servers may load at once on one port; the slower one says so and closes its engine."""
    engine = IdleEngine()
    with bind("127.0.0.1", 0) as listener:
        host, port = listener.getsockname()
        with bind(host, port) as faster:
            faster.listen()
            with pytest.raises(CommandError, match="--port"):
                await run_server(
                    make_context(engine=engine), listener, announce=lambda: None, end_now=not_expected
                )

    assert engine.closed


async def test_a_port_for_operators_that_was_taken_meanwhile_is_told() -> None:
    """The server does not go on without its metrics."""
    engine = IdleEngine()
    with (
        bind("127.0.0.1", 0) as listener,
        bind("127.0.0.1", 0) as ops,
        bind("127.0.0.1", ops.getsockname()[1]) as faster,
    ):
        faster.listen()
        with pytest.raises(CommandError, match="--ops-port"):
            await run_server(
                make_context(engine=engine),
                listener,
                announce=lambda: None,
                end_now=not_expected,
                ops_listener=ops,
            )

    assert engine.closed


def test_a_port_in_use_is_told_with_the_way_out() -> None:
    """The port is tried before anything is loaded."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CommandError) as failure:
            bind("127.0.0.1", port)

    assert f"127.0.0.1:{port}" in str(failure.value)
    assert "Address already in use" in str(failure.value)
    assert "--port" in str(failure.value)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.1"])
def test_a_host_that_is_not_this_machine_is_told(host: str) -> None:
    """A name that is unknown, and an address of another machine."""
    with pytest.raises(CommandError, match=host):
        bind(host, 8000)
