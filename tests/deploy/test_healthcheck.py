"""The health check of the images, against real sockets."""

import http.server
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scripts.deploy.files import ROOT

SCRIPT = ROOT / "deploy/docker/healthcheck.py"


@contextmanager
def server(status: int) -> Iterator[tuple[int, list[str]]]:
    """A server that answers everything with `status`: its port, and the paths that it was asked for."""
    asked: list[str] = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield listening.server_port, asked
        listening.shutdown()


def check(port: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT)],
        env={**os.environ, "STRICTCALL_PORT": port, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_server_that_answers_is_healthy() -> None:
    """It asks whether the server can ever answer again, at the port of the variable."""
    with server(200) as (port, asked):
        result = check(str(port))

    assert (result.returncode, result.stdout, asked) == (0, "", ["/health"])


def test_a_server_without_its_engine_is_not() -> None:
    """503 is what `/health` says then."""
    with server(503) as (port, _):
        result = check(str(port))

    assert result.returncode == 1
    assert result.stdout == f"http://127.0.0.1:{port}/health: HTTP Error 503: Service Unavailable\n"


def test_a_closed_port_is_told() -> None:
    """The reason stands in what the container engine keeps of the check."""
    with server(200) as (port, _):
        pass
    result = check(str(port))

    assert result.returncode == 1
    assert "refused" in result.stdout


def test_no_proxy_is_asked() -> None:
    """What reaches model hubs does not reach this container."""
    with server(200) as (port, _):
        result = check(str(port), http_proxy="http://127.0.0.1:9")

    assert result.returncode == 0


@pytest.mark.parametrize("port", ["", "tcp://10.0.0.1:8000"])
def test_the_port_is_8000_where_the_variable_names_none(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes puts the address of a Service of our name there."""
    url = runpy.run_path(str(SCRIPT))["url"]
    monkeypatch.setenv("STRICTCALL_PORT", port)

    assert url() == "http://127.0.0.1:8000/health"
