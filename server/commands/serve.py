"""`strictcall serve [MODEL]`: load a model, listen, and say how to call it.

    $ strictcall serve
    Loading the tokenizer …
    …
    Ready: SmolLM2-135M-Instruct at http://127.0.0.1:8000/v1

SIGTERM or SIGINT stops it: new requests get 503, running ones `--drain-seconds` to end, exit code 0. A second
signal ends it at once, with 128 and its number.
"""

import asyncio
import ipaddress
import logging
import multiprocessing
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from server.config.settings import LogFormat, Settings, SettingsError
from server.config.sources import load
from server.console.greeting import greeting
from server.console.terminal import CommandError, Say, say
from server.startup.locate import Located, locate
from server.telemetry.logs import configure

if TYPE_CHECKING:
    from server.telemetry.metrics import Metrics

log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

WAY_OUT = "Take another port with {flag}, or any free one with {flag} 0."

Handler = Callable[[int, FrameType | None], None]


def run(argv: Sequence[str]) -> int:
    settings = load(argv, os.environ)
    configure(settings.log_level, settings.log_format)
    report = log.info if settings.log_format is LogFormat.JSON else say
    if settings.port and settings.port == settings.ops_port:
        raise SettingsError(f"--ops-port: {settings.port} is that of --port. Take another one.")
    with ExitStack() as stack:
        listener = stack.enter_context(bind(settings.host, settings.port))
        ops = None
        if settings.ops_port is not None:
            ops = stack.enter_context(bind(settings.host, settings.ops_port, flag="--ops-port"))
        return serve(settings, Listeners(listener, ops), report)


@dataclass(frozen=True, slots=True)
class Listeners:
    """The bound sockets of a server: that of its API, and that of operators if it has one."""

    api: socket.socket
    ops: socket.socket | None


def bind(host: str, port: int, *, flag: str = "--port") -> socket.socket:
    """Take the port before the model is loaded, so that a port in use is known at once."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as exc:
        raise CommandError(f"The host '{host}' is no address of this machine: {exc.strerror}.") from exc
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as exc:
        listener.close()
        raise CommandError(
            f"Cannot listen on {host}:{port}: {os.strerror(exc.errno or 0)}. {WAY_OUT.format(flag=flag)}"
        ) from exc
    return listener


def serve(settings: Settings, listeners: Listeners, report: Say) -> int:
    located = locate(settings, report=report)
    # From here on it is slow: frameworks are imported, which neither `--help` nor a mistake should wait for.
    from prometheus_client import disable_created_metrics

    disable_created_metrics()  # type: ignore[no-untyped-call]  # a birthday beside each series, which nobody reads
    metrics = start_metrics()
    on_stop(abandon(metrics.close, "Stopped before the model was loaded."))
    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(_serve(settings, located, listeners, metrics, report))


def start_metrics() -> "Metrics":
    """Make the metrics, and see that the engine's process can write its own. Raises `CommandError`."""
    from server.telemetry.metrics import Metrics

    try:
        metrics = Metrics()
        metrics.reserve()
    except OSError as exc:
        raise no_room(exc.strerror or "") from exc
    named = os.environ.get("TMPDIR", "")
    if named and Path(named).resolve() != Path(tempfile.gettempdir()).resolve():
        raise no_room("It cannot be written")  # ours would go elsewhere, and the engine's files would not
    return metrics


def no_room(reason: str) -> CommandError:
    return CommandError(
        f"The temporary directory {os.environ.get('TMPDIR') or 'of this machine'} has no room for a few "
        f"megabytes: {reason}. "
        "Make room there, or name another place with the variable TMPDIR."
    )


async def _serve(
    settings: Settings, located: Located, listeners: Listeners, metrics: "Metrics", report: Say
) -> int:
    from server.engine.memory import set_heap_aside
    from server.startup.serving import Outcome, run_server
    from server.startup.start import start

    context = await start(settings, located, metrics, report=report)
    set_heap_aside()
    end_now = abandon(metrics.close, "Stopped at once: requests that were running are lost.")
    on_stop(end_now)
    address, port, *_ = listeners.api.getsockname()
    url = base_url(settings.host, port)

    def announce() -> None:
        if not settings.api_key and not is_loopback(address):
            log.warning("No API key is set: whoever reaches %s may use it (--api-key-file).", url)
        if settings.log_format is LogFormat.JSON:
            report(f"Ready: {context.model_names[0]} at {url}")
        else:
            report(greeting(url, context.model_names[0], needs_key=bool(settings.api_key)))

    if listeners.ops is not None:
        ops_url = base_url(settings.host, listeners.ops.getsockname()[1]).removesuffix("/v1")
        report(f"Metrics and probes are at {ops_url}.")
    outcome = await run_server(
        context, listeners.api, announce=announce, end_now=end_now, ops_listener=listeners.ops
    )
    report(f"The server has stopped: {outcome.value}.")
    return 0 if outcome is Outcome.STOPPED else 1


def base_url(host: str, port: int) -> str:
    """Where a client on this machine reaches the server; an address of all interfaces is none to call."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - to compare
    return f"http://{shown}:{port}/v1"


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def event_loop() -> asyncio.AbstractEventLoop:
    """Uvloop's where it is installed, as vLLM brings it; asyncio's otherwise."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def on_stop(handler: Handler) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, handler)


def abandon(clean_up: Callable[[], None], said: str) -> Handler:
    """A handler that ends the program at once: what runs in threads, as loading does, cannot be cancelled."""

    def handle(number: int, _frame: FrameType | None) -> None:
        for child in multiprocessing.active_children():
            child.terminate()
        clean_up()
        say(said)
        os._exit(128 + number)

    return handle
