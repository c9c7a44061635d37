"""`agent serve`: reads settings from flags, environment and `agent.toml`, and runs a server until it is told to stop.

Strategy: cyclopts reads the three sources into one `Settings`; `agent.app` composes the server. Signals are handled
before the knowledge base is read, so that a start can be broken off too. No output of the server, on standard output
or in its log, waits for a reader; at the end each gets `LOG_FLUSH` seconds to be written.
"""

import signal
import sys
import time
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Annotated

import trio
from cyclopts import Parameter

from .. import log
from ..app import App as Server
from ..compose.adapters import Adapters
from ..config import LOG_FLUSH
from ..errors import AgentError, UsageError, find_cause
from ..heap import freeze_heap, freeze_so_far, restore_collection, share_heaps
from ..host import shorten_switch_interval
from ..plain_structlog import structlog
from ..server.lag import watch_loop
from ..settings import Settings
from ..spool import Spool, descriptor_of
from ..storage.open import data_label
from ..text.terminal import printable
from ..workers.open import supervisor
from .output import ENDS_PROCESS, FAILED, OK, complain, write
from .settings import CONFIG_FILE, DEFAULTS, Flags, settings_app

_log = structlog.get_logger("agent.serve")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


command = settings_app()


@command.default
async def serve(*, settings: Annotated[Flags, Parameter(name="*")] = DEFAULTS) -> int:
    """Serve the page, the WebSocket and the HTTP API on one port, until SIGTERM or Ctrl-C; a second one ends it now.

    Each setting is a flag, an `AGENT_*` environment variable or a line in `agent.toml`; the first of them counts.
    Every setting: `agent serve --help all`

    Example: agent serve --kb docs --port 9000
    """
    share_heaps()
    shorten_switch_interval()
    if not settings.documents.kb.is_dir():
        raise UsageError(
            f"there is no knowledge base in {settings.documents.kb.absolute()}: "
            f"point to a folder of documents with --kb DIR, AGENT_KB, or kb in {CONFIG_FILE}"
        )
    life = _Life(settings)
    log.configure(settings.log.log_format, settings.log.log_level, on_dropped=life.log_line_dropped)
    with _signals_ignored():  # while the server ends; before that `heed` handles them
        try:
            with log.log_python_errors(), trio.open_signal_receiver(*_SIGNALS) as signals:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(life.heed, signals, nursery.cancel_scope)
                    nursery.start_soon(life.run, nursery.cancel_scope)
        except BaseExceptionGroup as group:
            cause = find_cause(group)
            if isinstance(cause, UsageError):
                raise cause from None
            if isinstance(cause, AgentError):
                complain(str(cause))
                return FAILED
            raise
        finally:
            life.end()
    return OK


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """Ignore further signals for the time of a block: the server is already ending, as they ask.

    Where the process ends with the command they stay ignored: a signal while the interpreter goes down would end it as
    killed, although everything was done. `SIG_IGN` comes only then, since processes that are started inherit it.
    """
    before = [(number, signal.signal(number, lambda *_: None)) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, signal.SIG_IGN if ENDS_PROCESS.get() else handler)


_SHOW_AFTER, _SHOW_EVERY = 1.0, 0.2  # seconds of reading, until it is shown, and between two times


class _Life:
    """One server of this process, from its start to its end, with its announcements and log lines."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._server = (
            supervisor(settings)
            if settings.server.workers > 1
            else Server(settings, Adapters(watch_loop=watch_loop, probes_model=settings.model.is_probed))
        )
        self._listens = False
        self._began = 0.0
        self._draining = False
        self._stopped = False
        self._end = "broken"
        self._said: Spool | None = None

    def log_line_dropped(self) -> None:
        """Count a dropped line of the log; any thread may call it."""
        self._server.metrics.count("log_lines_dropped")

    async def run(self, scope: trio.CancelScope) -> None:
        """Run the server until it has drained, and announce its address once it listens."""
        async with trio.open_nursery() as around:
            async with trio.open_nursery() as nursery:
                await nursery.start(self._server.run)
                self._announce_start()
                around.start_soon(self._say_when_ready)
            around.cancel_scope.cancel()
        self._end = "stopped" if self._stopped else "drained"
        scope.cancel()

    async def _say_when_ready(self) -> None:
        """Show the progress of the reading on a terminal; then freeze the knowledge base out of garbage collections."""
        shown = sys.stderr.isatty()
        with trio.move_on_after(_SHOW_AFTER):
            await self._server.ready()
        while self._server.unread:
            if shown:
                sys.stderr.write(f"\r{self._server.unread} ")
                sys.stderr.flush()
            with trio.move_on_after(_SHOW_EVERY):
                await self._server.ready()
        if shown:
            sys.stderr.write("\r\x1b[K")
        freeze_so_far()

    async def heed(self, signals: AsyncIterable[int], scope: trio.CancelScope) -> None:
        """Drain at the first signal, and end at the second, or at one that comes before the server listens."""
        async for _ in signals:
            if not self._listens:
                scope.cancel()
            elif self._draining:
                self._stopped = True
                self._server.stop()
            else:
                self._draining = True
                self._server.drain()

    def _announce_start(self) -> None:
        freeze_heap()
        self._listens = True
        self._began = time.monotonic()
        settings = self._settings
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(
            settings.server.host, settings.server.host
        )
        place = f"[{host}]:{self._server.port}" if ":" in host else f"{host}:{self._server.port}"
        lines = [f"page    http://{place}/", f"socket  ws://{place}/ws"]
        if settings.model.quotes:
            lines.append("answers quoting: no language model is set (--model openai:NAME asks one)")
        self._announce("".join(f"{line}\n" for line in lines))
        _log.info(
            "server started",
            version=_version(),
            host=settings.server.host,
            port=self._server.port,
            kb=settings.documents.kb.absolute(),
            model=settings.model.model,
            ledger=data_label(settings.storage.data),
        )

    def _announce(self, text: str) -> None:
        """Print `text` without waiting for its reader."""
        descriptor = descriptor_of(sys.stdout)
        if descriptor is None:
            write(text)
        else:
            self._said = Spool(descriptor, lambda _: b"")
            self._said.put(printable(text).encode())

    def end(self) -> None:
        """Log how the server ended, and wait up to `LOG_FLUSH` seconds for unwritten output. Blocks."""
        restore_collection()
        if self._listens:
            _log.info("server ended", how=self._end, seconds=round(time.monotonic() - self._began, 1))
        if self._said is not None:
            self._said.close(LOG_FLUSH)
        log.close()


def _version() -> str:
    try:
        return metadata.version("agent-server")
    except metadata.PackageNotFoundError:  # run from its source
        return "unknown"
