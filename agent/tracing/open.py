"""Opens the tracer that the settings ask for; `otel.py`, and with it the SDK, is imported only then."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from ..errors import UsageError
from ..host import WorkerThreads
from ..ports.tracing import Tracer
from .settings import TRACE_FLUSH, TraceSettings


@asynccontextmanager
async def open_tracer(
    settings: TraceSettings, tracer: Tracer | None = None
) -> AsyncGenerator[Tracer | None, None]:
    """Open the tracer of `settings` for the time of a block; `None` where `settings.otel` is off.

    `tracer`: takes the place of that of the settings, and stays open. At the end, the spans that wait have
    `TRACE_FLUSH` seconds to leave; cancelled, they are dropped. Raises `agent.errors.UsageError`, one line, when the
    SDK is not installed or a standard variable cannot be used.
    """
    if tracer is not None or not settings.otel:
        yield tracer
        return
    try:
        from .otel import make_tracer
    except ImportError:
        raise UsageError("otel needs the SDK of OpenTelemetry: pip install 'agent-server[otel]'") from None
    try:
        opened = make_tracer()
    except (ValueError, OSError) as error:
        raise UsageError(f"otel: a variable OTEL_* cannot be used ({type(error).__name__})") from None
    try:
        yield opened
    finally:
        with trio.move_on_after(TRACE_FLUSH):
            await WorkerThreads(1)(opened.close)
