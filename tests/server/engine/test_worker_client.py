"""What a worker has to serve before it is used, and what is said if it does not."""

import asyncio
from typing import Any

import pytest

from server.engine import remote, worker_client
from server.engine.protocol import EngineError, WorkerLostError
from server.engine.scripted import Script
from tests.server.workers import VOCABULARY, ask, connect_to, connected, free_port, tokens, until, working

ANSWER = [(5,), (6, 7), (2,)]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(worker_client, "LOOK_SECONDS", 0.05)


async def test_a_worker_that_comes_back_with_another_model_is_not_used() -> None:
    """Its tokens would be read as ours."""
    async with working() as worker, connected(worker) as engine:
        await worker.kill()
        await until(lambda: engine._workers[0].standing is worker_client.Standing.UNKNOWN)
        async with working(port=worker.port, name="org/other"):
            await until(lambda: engine._workers[0].standing is worker_client.Standing.UNFIT)

            with pytest.raises(WorkerLostError):
                await ask(engine)


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        pytest.param({"name": "org/other"}, "serves 'org/other', not 'org/smol'", id="another-model"),
        pytest.param({"vocabulary": VOCABULARY - 1}, "does not take our tokens", id="fewer-tokens"),
        pytest.param({"vocabulary": VOCABULARY + 1}, "more than our 49152 tokens", id="more-tokens"),
        pytest.param({"key": "secret"}, "does not take our key", id="another-key"),
    ],
)
async def test_a_worker_that_does_not_serve_our_model_ends_the_start(
    worker: dict[str, Any], message: str
) -> None:
    """One line says which worker and what is wrong."""
    async with working(**worker) as running:
        with pytest.raises(EngineError, match=message) as caught:
            await connect_to([running.url])

    assert running.url in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_the_key_of_the_workers_is_sent() -> None:
    """As vLLM's `--api-key` wants it."""
    async with working(key="secret") as worker:
        engine = await connect_to([worker.url], api_key="secret")
        await engine.close()


async def test_a_directory_counts_by_its_last_part() -> None:
    """The same model lies elsewhere on another machine."""
    async with working(name="/mnt/models/Smol") as worker, connected(worker):
        pass


async def test_a_start_waits_for_the_first_worker_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that loads its model is waited for; after a while the reason is told."""
    port, elsewhere = free_port(), free_port()
    urls = [f"http://127.0.0.1:{port}", f"http://127.0.0.1:{elsewhere}"]
    starting = asyncio.create_task(connect_to(urls))
    await asyncio.sleep(0.2)
    async with working([Script(ANSWER)], port=port):
        engine = await starting
        assert tokens(await ask(engine)) == [5, 6, 7, 2]
        await engine.close()

    monkeypatch.setattr(remote, "START_SECONDS", 0.2)
    with pytest.raises(EngineError, match=f"No engine worker came up within 0 s.*{elsewhere}"):
        await connect_to(urls)


async def test_a_worker_that_is_slow_to_answer_is_not_taken_for_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is asked as the last one, and not tried again, which would only make it slower."""
    async with working([Script(ANSWER)]) as worker, connected(worker) as engine:
        monkeypatch.setattr(worker_client, "ANSWER_SECONDS", 0.05)
        worker.answers = asyncio.Event()
        [client] = engine._workers
        await until(lambda: client.standing is worker_client.Standing.FAILED)

        with pytest.raises(WorkerLostError):
            await engine.check()
        assert tokens(await ask(engine)) == [5, 6, 7, 2]
        worker.answers.set()
        await until(lambda: client.standing is worker_client.Standing.UP)


async def test_why_a_worker_is_waited_for_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever waits ten minutes for a wrong address should not have to guess."""
    starting = asyncio.create_task(connect_to([f"http://127.0.0.1:{free_port()}"]))
    await asyncio.sleep(0.5)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)

    [line] = [record.getMessage() for record in caplog.records if record.name == worker_client.__name__]
    assert "is not used: All connection attempts failed" in line


async def test_a_router_that_has_lost_one_of_its_workers_is_up() -> None:
    """Its health is that of all, and its readiness that of the best."""
    async with working([Script(ANSWER)], misses_one=True) as worker, connected(worker) as engine:
        await engine.check()

        assert tokens(await ask(engine)) == [5, 6, 7, 2]


async def test_what_is_no_worker_ends_the_start() -> None:
    """Another program may listen at the address."""
    async with working(name="") as running:
        running.card = {"data": "nothing"}
        with pytest.raises(EngineError, match="does not answer as vLLM does"):
            await connect_to([running.url])
