"""Traces: W3C trace context is passed through, and OpenTelemetry's spans are sent where an exporter is set.

    traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
    → each log line of the request has trace_id=0af7651916cd43dd8448eb211c80319c, and so has the engine's span

    POST /v1/chat/completions ─┬─ render
                               ├─ constrain ── compile
                               └─ generate: first_token

Without an exporter a span is nothing at all, and OpenTelemetry is not imported. Spans hold counts and names,
as the log does: never what a user or a model wrote, nor the message of an exception, which may quote it.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.version import own_version

if TYPE_CHECKING:
    from opentelemetry.context import Context as SpanParent
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer
    from starlette.datastructures import Headers

Attribute = str | int

TRACEPARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
TRACESTATE = re.compile(r"[ -~]{1,512}")
"""What is passed on: printable, and as long as the standard says that it has to be."""


class TracingError(Exception):
    """Spans cannot be sent. The message says what to install."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace that a request belongs to. `headers` pass it on."""

    trace_id: str
    headers: Mapping[str, str]
    tracer: "Tracer | None" = None
    parent: "SpanParent | None" = None
    """The request's own span, for those of its stages."""


CURRENT: ContextVar[Trace | None] = ContextVar("trace", default=None)
"""The trace of the request that the current task works for."""


def trace_id() -> str | None:
    """The id that all log lines of the current trace share."""
    trace = CURRENT.get()
    return None if trace is None else trace.trace_id


def trace_headers() -> Mapping[str, str]:
    """What tells the engine which trace the current request belongs to; empty without one."""
    trace = CURRENT.get()
    return {} if trace is None else trace.headers


class Stage:
    """A part of the path while it runs."""

    def __init__(self, span: "Span | None") -> None:
        self._span = span

    def happened(self, event: str) -> None:
        if self._span is not None:
            self._span.add_event(event)

    def says(self, **attributes: Attribute | None) -> None:
        """Attach what is known; `None` is not."""
        if self._span is not None:
            known = {name: value for name, value in attributes.items() if value is not None}
            self._span.set_attributes({name.replace("__", "."): value for name, value in known.items()})

    def failed(self, kind: str) -> None:
        """Mark it as failed; `kind` names the failure without quoting anything."""
        if self._span is not None:
            from opentelemetry.trace import Status, StatusCode

            self._span.set_status(Status(StatusCode.ERROR))
            self._span.set_attribute("error.type", kind)


def stage(name: str) -> AbstractContextManager[Stage]:
    """Time a part of the path as a span of the current request, if there is an exporter.

    It is not made the parent of others, so that it may stay open across the steps of a generator.
    """
    trace = CURRENT.get()
    if trace is None or trace.tracer is None:
        return NOTHING
    return _running(trace.tracer.start_span(name, context=trace.parent))


@contextmanager
def _running(span: "Span") -> Iterator[Stage]:
    running = Stage(span)
    try:
        yield running
    except Exception as exc:  # told of and raised again, whatever it is
        running.failed(type(exc).__name__)
        raise
    finally:
        span.end()


NO_STAGE = Stage(None)
NOTHING = nullcontext(NO_STAGE)


class Tracing:
    """How requests join traces: with spans if there is a `provider`, else contexts are passed through."""

    def __init__(self, provider: "TracerProvider | None" = None) -> None:
        self._provider = provider
        self._tracer = None if provider is None else provider.get_tracer("strictcall", own_version())

    @contextmanager
    def request(self, name: str, headers: "Headers") -> Iterator[Stage]:
        """Make the trace that the headers name, or a new one if there are spans, the current one."""
        came = incoming(headers)
        if self._tracer is None:
            with _current(came):
                yield NO_STAGE
            return
        with self._span(name, came, self._tracer) as span:
            yield Stage(span)

    @contextmanager
    def _span(self, name: str, came: Trace | None, tracer: "Tracer") -> "Iterator[Span]":
        from opentelemetry.trace import SpanKind, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        propagator = TraceContextTextMapPropagator()
        span = tracer.start_span(
            name,
            context=None if came is None else propagator.extract(dict(came.headers)),
            kind=SpanKind.SERVER,
        )
        parent, passed = set_span_in_context(span), dict[str, str]()
        propagator.inject(passed, context=parent)
        known = Trace(f"{span.get_span_context().trace_id:032x}", passed, tracer, parent)
        try:
            with _current(known):
                yield span
        finally:
            span.end()

    def close(self) -> None:
        """Send what has not been sent yet."""
        if self._provider is not None:
            self._provider.shutdown()


@contextmanager
def _current(trace: Trace | None) -> Iterator[None]:
    token = CURRENT.set(trace)
    try:
        yield
    finally:
        CURRENT.reset(token)


def incoming(headers: "Headers") -> Trace | None:
    """The trace that the headers name, or None where they name none as the standard demands it."""
    given = headers.getlist("traceparent")
    found = TRACEPARENT.fullmatch(given[0].strip()) if len(given) == 1 else None
    if found is None or (found[1] == "00" and found[5]):
        return None
    passed = {"traceparent": f"00-{found[2]}-{found[3]}-{found[4]}"}
    state = ",".join(headers.getlist("tracestate"))
    if TRACESTATE.fullmatch(state):
        passed["tracestate"] = state
    return Trace(found[2], passed)


def start_tracing(endpoint: str) -> Tracing:
    """Send spans to `endpoint`, in batches, on a thread of their own; with none, pass contexts through.

    OpenTelemetry's own variables say the rest: sampling, headers, the service's name. Raises `TracingError`.
    """
    if not endpoint:
        return Tracing()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as exc:
        raise TracingError(
            f"Traces need the package {exc.name}, which is not installed: pip install 'strictcall[otel]', or "
            "leave --otlp-endpoint and OTEL_EXPORTER_OTLP_ENDPOINT out."
        ) from exc
    ours = Resource({"service.name": "strictcall", "service.version": own_version()})
    provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return Tracing(provider)
