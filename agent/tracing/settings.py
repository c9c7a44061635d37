"""The operator's choice to trace turns."""

from dataclasses import dataclass

TRACE_FLUSH = 2.0  # seconds at the end of a server in which spans that wait may still leave


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """The operator's choice to trace turns.

    Args:
        otel: Send a trace of each turn to an OpenTelemetry collector, http://localhost:4318 unless
            OTEL_EXPORTER_OTLP_ENDPOINT names another. Needs agent-server[otel].
    """

    otel: bool = False
