"""Traces of turns: `open_tracer` opens the `Tracer` that `TraceSettings` ask for, and `OtelTracer` is the adapter."""
