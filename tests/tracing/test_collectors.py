"""Traces on real time and real sockets: a collector that takes them, and those that are closed or never answer."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import trio

from agent.compose.adapters import Adapters
from agent.errors import UsageError
from agent.testing.models import FakeModel
from agent.testing.network import network
from agent.tracing.open import open_tracer
from agent.tracing.settings import TRACE_FLUSH, TraceSettings

from ..e2e.test_process import end, run, serve
from .test_traces import DOCUMENTS, GOOD, QUESTION, answer, settings

PRICE = "What does the Standard plan cost per month?"


class Collector(HTTPServer):
    """Answers every request with 200, and keeps the paths and the bodies."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.paths: list[str] = []
        self.bodies: list[bytes] = []


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        """Take a batch of spans."""
        self.server.paths.append(self.path)
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def collector() -> Iterator[Collector]:
    """Run a collector in a thread."""
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def silent_port(listens: bool) -> Iterator[int]:
    """Yield a port that takes connections and never answers, or one that is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        if not listens:
            server.close()
            yield 9  # discard; nothing listens there
            return
        yield int(server.getsockname()[1])


async def test_a_collector_gets_the_spans_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the last turn too, as the server ends; the standard variable names the collector."""
    with collector() as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        async with (
            open_tracer(TraceSettings(otel=True)) as tracer,
            network(settings(FakeModel([GOOD])), Adapters(tracer=tracer), DOCUMENTS) as net,
        ):
            await answer(net)
    assert set(server.paths) == {"/v1/traces"}
    sent = b"".join(server.bodies)
    for name in (b"invoke_agent agent-server", b"retrieval", b"chat tests.tracing", b"verify"):
        assert name in sent
    assert QUESTION.encode() not in sent
    assert b"299" not in sent


async def test_without_the_setting_there_is_no_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the environment names a collector; without the SDK the setting names the extra to install."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    async with open_tracer(TraceSettings()) as tracer:
        assert tracer is None
    monkeypatch.setitem(sys.modules, "agent.tracing.otel", None)
    with pytest.raises(UsageError, match=r"agent-server\[otel\]"):
        async with open_tracer(TraceSettings(otel=True)):
            pass


async def test_a_variable_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with traces does not start without them."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    with pytest.raises(UsageError, match="OTEL_"):
        async with open_tracer(TraceSettings(otel=True)):
            pass


@pytest.mark.proof
@pytest.mark.parametrize("listens", [True, False], ids=["silent", "closed"])
async def test_a_collector_that_takes_nothing_delays_nothing(
    listens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the loop, with more spans than the queue holds; and the end by `TRACE_FLUSH` seconds at most."""
    with silent_port(listens) as port:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        longest = 0.0
        async with open_tracer(TraceSettings(otel=True)) as tracer:
            assert tracer is not None
            for _ in range(60):
                began = time.perf_counter()
                for _ in range(50):
                    span = tracer.start_turn()
                    span.start_step("retrieval").end()
                    span.end()
                longest = max(longest, time.perf_counter() - began)
                await trio.sleep(0.01)
            ending = time.perf_counter()
        took = time.perf_counter() - ending
    assert longest < 1.5, "fifty turns, which took 13 ms; a batch that cannot be sent takes seconds"
    assert took < TRACE_FLUSH + 5


@pytest.mark.proof
def test_a_server_with_a_silent_collector_answers_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as one without traces, but for `TRACE_FLUSH` seconds at its end, of which it logs one line."""
    took = {}
    for flags in ((), ("--otel",)):
        with silent_port(True) as port:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
            with serve(tmp_path, "--pace-ms", "0", *flags) as (process, port):
                began = time.monotonic()
                asked = run(tmp_path, "ask", PRICE, "--url", f"ws://127.0.0.1:{port}/ws")
                answered = time.monotonic()
                assert "299" in asked.stdout
                assert end(process) == 0
                took[flags] = (answered - began, time.monotonic() - answered)
    (answer_without, end_without), (answer_with, end_with) = took.values()
    assert answer_with < answer_without + 5
    assert end_with < end_without + TRACE_FLUSH + 5
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")
