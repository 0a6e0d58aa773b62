"""Traces: contexts are passed through as the W3C writes them, and spans tell of the path and of no text."""

import asyncio
import json
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from starlette.datastructures import Headers

from server.engine.protocol import EngineError
from server.engine.scripted import Asked, Script
from server.telemetry.logs import JsonFormatter
from server.telemetry.tracing import (
    Tracing,
    TracingError,
    incoming,
    stage,
    start_tracing,
    trace_headers,
    trace_id,
)
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import Server, always, script, serving, tool

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
HEADER = f"00-{TRACE}-{PARENT}-01"
SECRET = "xyzzy-7731"


@asynccontextmanager
async def traced(
    vocabulary: Vocabulary, exporter: InMemorySpanExporter, scripts: object
) -> AsyncIterator[Server]:
    """A server whose spans go to `exporter` as soon as they end."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    async with serving(vocabulary, scripts, tracing=Tracing(provider)) as server:  # type: ignore[arg-type]
        yield server


def spans(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def nanoseconds(time: int | None) -> int:
    assert time is not None
    return time


@pytest.fixture(name="exporter")
def _exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.mark.parametrize(
    "header",
    [
        "",
        "garbage",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-01 x",
        "00-" + "a" * 100_000,
    ],
)
def test_what_is_no_trace_context_is_none(header: str) -> None:
    """A header that the standard calls invalid is as good as absent, and can break no log line."""
    assert incoming(Headers({"traceparent": header})) is None


def test_a_trace_context_is_passed_on_as_it_came() -> None:
    """Ids, the flag and the vendors' state, which may stand in several headers; later versions as ours."""
    raw = [(b"traceparent", HEADER.encode()), (b"tracestate", b"a=1"), (b"tracestate", b"b=2")]
    later = incoming(Headers({"traceparent": f"cc-{TRACE}-{PARENT}-00-what-comes"}))

    trace = incoming(Headers(raw=raw))

    assert trace is not None
    assert later is not None
    assert (trace.trace_id, dict(trace.headers)) == (TRACE, {"traceparent": HEADER, "tracestate": "a=1,b=2"})
    assert dict(later.headers) == {"traceparent": f"00-{TRACE}-{PARENT}-00"}


def test_two_trace_contexts_are_none_and_a_bad_state_is_left_out() -> None:
    """Nobody can say which of two is meant; a state that is too long or not printable says nothing."""
    twice = Headers(raw=[(b"traceparent", HEADER.encode())] * 2)
    assert incoming(twice) is None

    for state in ("a" * 513, "a=\x01"):
        trace = incoming(Headers({"traceparent": HEADER, "tracestate": state}))

        assert trace is not None
        assert dict(trace.headers) == {"traceparent": HEADER}


async def test_without_an_exporter_the_context_reaches_log_and_engine(
    vocabulary: Vocabulary, caplog: pytest.LogCaptureFixture
) -> None:
    """And each request has its own: none is left for the next one."""
    seen: list[dict[str, str]] = []
    lines: list[str] = []

    def answer(_: Asked) -> Script:
        seen.append(dict(trace_headers()))
        return script(vocabulary, "Hi")

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(JsonFormatter().format(record))

    log = logging.getLogger("server.http.exchange")
    handler = Lines()
    log.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO):
            async with serving(vocabulary, answer) as server:
                question = {"model": "smol", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
                for headers in ({"traceparent": HEADER}, {}):
                    await server.http.post("/v1/chat/completions", json=question, headers=headers)
    finally:
        log.removeHandler(handler)

    assert seen == [{"traceparent": HEADER}, {}]
    assert [json.loads(line).get("trace_id") for line in lines] == [TRACE, None]


async def test_spans_follow_the_path(vocabulary: Vocabulary, exporter: InMemorySpanExporter) -> None:
    """One for the request, in the client's trace, and one below it for each part of the path, in order."""
    seen: list[str] = []

    def answer(_: Asked) -> Script:
        seen.append(trace_headers()["traceparent"])
        return script(vocabulary, "Hello")

    async with traced(vocabulary, exporter, answer) as server:
        body = {"model": "smol", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        await server.http.post(
            "/v1/chat/completions", json=body, headers={"traceparent": HEADER, "tracestate": "v=1"}
        )
    found = spans(exporter)
    request = found["POST chat"]
    parts = [found[name] for name in ("render", "constrain", "compile", "generate")]

    assert len(found) == 5
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" == TRACE
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == PARENT
    assert seen == [f"00-{TRACE}-{request.context.span_id:016x}-01"]
    assert [part.parent and part.parent.span_id for part in parts] == [request.context.span_id] * 4
    starts = [nanoseconds(part.start_time) for part in parts]
    assert starts == sorted(starts)
    assert [event.name for event in found["generate"].events] == ["first_token"]
    assert [event.name for event in request.events] == ["respond"]
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["gen_ai.usage.output_tokens"] == len(vocabulary.encode("Hello")) + 1
    assert request.status.status_code is StatusCode.UNSET


async def test_a_failure_marks_its_span_and_quotes_nothing(
    vocabulary: Vocabulary, exporter: InMemorySpanExporter
) -> None:
    """The kind of the failure is told; a message, which may hold what users wrote, is not."""
    failing = Script([vocabulary.encode(SECRET)], error=EngineError(SECRET))
    async with traced(vocabulary, exporter, [failing]) as server:
        response = await server.post(messages=[{"role": "user", "content": SECRET}], tools=[tool("look")])

    found = spans(exporter)
    assert response.status_code == 500
    for name, kind in (("generate", "EngineError"), ("POST chat", "engine_error")):
        assert found[name].status.status_code is StatusCode.ERROR
        assert (found[name].attributes or {})["error.type"] == kind
    assert SECRET not in "".join(span.to_json() for span in found.values())


async def test_a_refused_request_is_no_failure_of_the_server(
    vocabulary: Vocabulary, exporter: InMemorySpanExporter
) -> None:
    """As OpenTelemetry has it: a 4xx is the client's, and alarms on the server's spans stay silent."""
    async with traced(vocabulary, exporter, always(vocabulary, "Hi")) as server:
        response = await server.post(messages=[])

    assert response.status_code == 400
    assert spans(exporter)["POST chat"].status.status_code is StatusCode.UNSET


async def test_probes_make_no_spans(vocabulary: Vocabulary, exporter: InMemorySpanExporter) -> None:
    """What is asked every second would be most of all traces."""
    async with traced(vocabulary, exporter, always(vocabulary, "Hi")) as server:
        await server.http.get("/health")
        await server.http.get("/metrics")

    assert spans(exporter) == {}


async def test_requests_at_once_keep_their_spans_apart(
    vocabulary: Vocabulary, exporter: InMemorySpanExporter
) -> None:
    """Each part belongs to its own request, however they interleave."""
    async with traced(vocabulary, exporter, always(vocabulary, "Hello there, all of you.")) as server:
        await asyncio.gather(*(server.post(n=2, stream=number % 2 == 0) for number in range(8)))
    traces: dict[int, list[str]] = {}
    for span in exporter.get_finished_spans():
        assert span.context is not None
        traces.setdefault(span.context.trace_id, []).append(span.name)

    assert len(traces) == 8
    for names in traces.values():
        assert sorted(names) == ["POST chat", "compile", "constrain", "generate", "generate", "render"]


def test_outside_a_request_a_stage_is_nothing() -> None:
    """The same code runs in `strictcall check` and in the warm-up."""
    with stage("render") as running:
        running.says(tokens=1)
        running.happened("first_token")
        running.failed("ValueError")

    assert trace_id() is None
    assert trace_headers() == {}


@pytest.fixture(name="collector")
def _collector() -> Iterator[tuple[str, list[bytes]]]:
    """An OTLP collector: its URL and the bodies that came."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies
        server.shutdown()


def test_spans_are_sent_before_the_server_has_stopped(collector: tuple[str, list[bytes]]) -> None:
    """A collector gets the last ones too, with the service's name."""
    url, bodies = collector
    sending = start_tracing(url)
    with sending.request("POST chat", Headers()), stage("render"):
        pass

    sending.close()

    sent = b"".join(bodies)
    assert b"POST chat" in sent
    assert b"render" in sent
    assert b"strictcall" in sent


def test_without_an_exporter_nothing_is_imported() -> None:
    """A server that sends no spans does without OpenTelemetry, installed or not."""
    program = (
        "import sys; from starlette.datastructures import Headers; from server.telemetry.tracing import *\n"
        "with start_tracing('').request('POST chat', Headers()), stage('render'): pass\n"
        "print(sorted(name for name in sys.modules if name.startswith('opentelemetry')))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert said.stdout == "[]\n"


def test_a_missing_package_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for spans and cannot have them learns it at start."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)

    with pytest.raises(TracingError, match=r"strictcall\[otel\]"):
        start_tracing("http://127.0.0.1:1/v1/traces")
