"""Makes the spans of turns with the SDK of OpenTelemetry; imported only where the settings ask for traces.

Names follow the GenAI conventions (https://github.com/open-telemetry/semantic-conventions-genai).

Strategy: the loop only makes spans and puts them into the queue of a `BatchSpanProcessor`, whose own thread sends them.
The queue is bounded and drops spans that do not fit, so a collector that is closed, slow or silent costs spans and
nothing else. The SDK reads the standard variables (`OTEL_*`). Its own log lines, one for each try, are replaced by
those of `WatchedExporter`.
"""

import logging
import os
from collections.abc import Sequence
from urllib.parse import urlsplit

import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span as SdkSpan
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace import Tracer as SdkTracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..ports.tracing import Operation

NAME = "agent-server"
_PARENT_MAX = 128  # characters of a `traceparent`; version 00 has 55
_SUBJECTS = {
    "invoke_agent": "gen_ai.agent.name",
    "chat": "gen_ai.request.model",
    "execute_tool": "gen_ai.tool.name",
}

_ADDRESSES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_USUAL_ADDRESS = "http://localhost:4318"

_log = structlog.get_logger("agent.tracing")


class OtelSpan:
    """A span of the SDK (implements `agent.ports.tracing.Span`)."""

    __slots__ = ("_span", "_tracer")

    def __init__(self, tracer: SdkTracer, span: SdkSpan) -> None:
        self._tracer = tracer
        self._span = span

    def start_step(self, operation: Operation, subject: str = "", provider: str = "") -> "OtelSpan":
        """Start the span of a step, a child of this span (see `Span.start_step`)."""
        context = set_span_in_context(self._span, Context())
        return _start_span(self._tracer, context, operation, subject, provider)

    def set_attribute(self, name: str, value: str | float) -> None:
        """Set the attribute `name`, a name of the conventions."""
        self._span.set_attribute(name, value)

    def end(self, problem: str = "") -> None:
        """End the span; `problem` becomes the description of its status, and its `error.type`. Idempotent."""
        if not self._span.is_recording():
            return
        if problem:
            self._span.set_attribute("error.type", problem)
            self._span.set_status(Status(StatusCode.ERROR, problem))
        self._span.end()


class OtelTracer:
    """Makes the spans of turns with a provider of the SDK (implements `agent.ports.tracing.Tracer`)."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(NAME)
        self._propagator = TraceContextTextMapPropagator()

    def start_turn(self, parent: str = "") -> OtelSpan:
        """Start the span of a turn, in the trace of `parent` where that is a valid `traceparent` header."""
        return _start_span(self._tracer, self._read_parent(parent), "invoke_agent", NAME)

    def start_call(self, tool: str, parent: str = "") -> OtelSpan:
        """Start the span of a call, in the trace of `parent` as `start_turn` does."""
        return _start_span(self._tracer, self._read_parent(parent), "execute_tool", tool)

    def _read_parent(self, parent: str) -> Context:
        if not parent or len(parent) > _PARENT_MAX:
            return Context()
        return self._propagator.extract({"traceparent": parent}, Context())

    def close(self) -> None:
        """Send the spans that wait, and stop the thread of the SDK. Blocks for as long as the collector does."""
        self._provider.shutdown()


def _start_span(
    tracer: SdkTracer, context: Context, operation: str, subject: str, provider: str = ""
) -> OtelSpan:
    attributes = {"gen_ai.operation.name": operation}
    if provider:
        attributes["gen_ai.provider.name"] = provider
    if subject:
        attributes[_SUBJECTS[operation]] = subject
    span = tracer.start_span(
        f"{operation} {subject}".rstrip(),
        context=context,
        kind=SpanKind.CLIENT if operation == "chat" else SpanKind.INTERNAL,
        attributes=attributes,
    )
    return OtelSpan(tracer, span)


class WatchedExporter(SpanExporter):
    """Sends spans with another exporter; logs when the collector stops taking them, and when it takes them again.

    `place`: the address of the collector, for the log.
    """

    def __init__(self, exporter: SpanExporter, place: str) -> None:
        self._exporter = exporter
        self._place = place
        self._fails = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send `spans` in the thread of the processor, and return the `SpanExportResult` of the other exporter."""
        result = self._exporter.export(spans)
        fails = result is not SpanExportResult.SUCCESS
        if fails and not self._fails:
            remedy = "start a collector there, or set OTEL_EXPORTER_OTLP_ENDPOINT"
            _log.warning("collector takes no spans", at=self._place, remedy=remedy)
        elif self._fails and not fails:
            _log.info("collector takes spans again", at=self._place)
        self._fails = fails
        return result

    def shutdown(self) -> None:
        """Close the other exporter."""
        self._exporter.shutdown()


def make_tracer() -> OtelTracer:
    """Return an `OtelTracer` that sends spans over OTLP and HTTP to the collector of the environment.

    Raises `ValueError` for a variable `OTEL_*` that cannot be used.
    """
    library = logging.getLogger("opentelemetry")
    library.propagate = False  # its lines would repeat with every try of every batch
    library.addHandler(logging.NullHandler())
    resource = Resource.create({"service.name": NAME}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(WatchedExporter(OTLPSpanExporter(), _find_place())))
    return OtelTracer(provider)


def _find_place() -> str:
    """Return the host and port of the collector, without a password that its address may hold."""
    address = next(filter(None, map(os.environ.get, _ADDRESSES)), _USUAL_ADDRESS)
    return urlsplit(address).netloc.rpartition("@")[2]
