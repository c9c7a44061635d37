"""A whole server over streams in memory: sniffer, upgrade, session, writer and all, without a port.

On a `MockClock` an hour of it takes milliseconds. Threads do not see virtual time, so a knowledge base is built inline
here.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import trio

from ..app import App
from ..client.client import Client, connect_over
from ..compose.adapters import Adapters
from ..errors import GivenUp
from ..retrieval.load import SourceFile
from ..retrieval.reader import answer_request
from ..retrieval.search import KnowledgeBase
from ..settings import Settings
from .faults import PipeEnd, pipe


class InProcess:
    """Reads a file in this process (implements `agent.ports.work.Isolate`), with no limits but the readers' own."""

    def __init__(self) -> None:
        self._closed = False

    def start(self) -> None:
        """Start nothing; see `Isolate`."""

    def ask(
        self,
        request: bytes,
        seconds: float,
        look: Callable[[], object],
        begin: Callable[[], object] = lambda: None,
    ) -> bytes:
        """Return the reply to `request`; see `Isolate`."""
        if self._closed:
            raise GivenUp("it was closed")
        look()
        begin()
        return answer_request(request)

    def close(self) -> None:
        """Refuse further requests; see `Isolate`."""
        self._closed = True


T = TypeVar("T")


async def inline(function: Callable[[], T], begin: Callable[[], None] = lambda: None) -> T:
    """Do blocking work here and now (`agent.ports.work.RunSync` and `RunActionSync` for virtual time)."""
    await trio.lowlevel.checkpoint()
    begin()
    return function()


class Disk:
    """Does blocking work in the event loop, unless it hangs (implements `agent.ports.work.RunSync` for virtual time).

    `calls`: the number of calls so far.
    """

    def __init__(self) -> None:
        self._works = trio.Event()
        self._works.set()
        self.calls = 0

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return `function()`, once the disk does not hang."""
        self.calls += 1
        await trio.lowlevel.checkpoint()
        await self._works.wait()
        return function()

    def hang(self) -> None:
        """Make all later calls wait until `work`."""
        self._works = trio.Event()

    def work(self) -> None:
        """Let all waiting calls go on."""
        self._works.set()


class Network:
    """A running server and the connections to it."""

    def __init__(self, app: App, nursery: trio.Nursery) -> None:
        self.app = app
        self._nursery = nursery

    def open(self, room: int = 1 << 30, peer: str | None = None) -> PipeEnd:
        """Open a connection; return the client's end.

        `room`: how many bytes fit in each direction. `peer`: the client's IP address, by default this machine's.
        """
        ours, theirs = pipe(room)
        self._nursery.start_soon(self.app.serve_stream, theirs, peer)
        return ours

    @asynccontextmanager
    async def connect(self, token: str | None = None) -> AsyncGenerator[Client, None]:
        """Connect a WebSocket client; the connection is closed at the end of the block."""
        async with connect_over(self.open(), token=token) as client:
            yield client


@asynccontextmanager
async def network(
    settings: Settings, adapters: Adapters | None = None, documents: tuple[SourceFile, ...] = ()
) -> AsyncGenerator[Network, None]:
    """Run a server for the time of a block, then stop it at once.

    `documents`: the knowledge base, unless `adapters` brings one; without any, `settings.documents.kb` is read.
    """
    parts = adapters or Adapters()
    if parts.run_sync is None:
        parts = replace(parts, run_sync=inline)
    if parts.run_action_sync is None:
        parts = replace(parts, run_action_sync=inline)
    if parts.isolate is None:
        parts = replace(parts, isolate=InProcess())
    if documents and parts.knowledge is None:
        parts = replace(parts, knowledge=KnowledgeBase.build(documents))
    async with trio.open_nursery() as nursery:
        app: App = await nursery.start(App(settings, parts).run, False)
        yield Network(app, nursery)
        app.stop()
        nursery.cancel_scope.cancel()
