"""A server's life: from settings to one that runs, and down again.

What it is made of is opened by `compose`. Nurseries nest in the order of shutdown: the ledger's is the outermost, so
that it outlives the actions that it records; inside it the actions', so that they outlive the sessions; then the
timers, and innermost the server. A drain ends them from the inside out, each within its deadline, and what a deadline
leaves undone is said in the log.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import structlog
import trio

from .actions.runner import Runner
from .compose.adapters import Adapters
from .compose.calling import consulted_of, desk_of, rooms_of
from .compose.composition import Composed, composed
from .compose.knowledge import Knowledge
from .config import (
    ACTION_TIMEOUT,
    CLOSE_TIMEOUT,
    DRAIN_TIMEOUT,
    FLUSH_TIMEOUT,
    MEMORY_DRAIN,
    RECORD_TIMEOUT,
    UPLOADS_READ_AT_ONCE,
)
from .fsm import mermaid
from .host import Threads
from .ports.remember import UNKEPT
from .protocol import asyncapi
from .server.accept import Listens, listening
from .server.addresses import Addresses
from .server.admission import Admission
from .server.api.questions import Questions
from .server.api.rooms import Rooms
from .server.api.router import HttpApi
from .server.http import Contents, make_app
from .server.hypercorn_edge import HttpServer
from .server.limits import Cap, Shared
from .server.metrics import Metrics
from .server.serve import Edge, Gate, serve, serve_stream
from .server.websocket import Connection
from .session.events import Drain, Kill
from .session.registry import Registry
from .session.session import Session
from .session.states import TABLE
from .session.turn import Parts, no_tools
from .settings import Settings
from .threads.desk import ThreadDesk
from .wire.pulse import Pulse

_log = structlog.get_logger("agent.app")


@dataclass(frozen=True, slots=True)
class Siblings:
    """What a server needs to be one of several that are one to their clients.

    listens: gives its connections. port: what they were made to. limits: those of all servers together.
    figures: returns the Prometheus text of all. unready: says why one of them is not ready, "" when all are.
    """

    listens: Listens
    port: int
    limits: Shared
    figures: Callable[[], Awaitable[bytes]]
    unready: Callable[[], Awaitable[str]]


class App:
    """One server. `run` it in a nursery; it is ready when that has started.

    siblings: given where it is one of several; None where it is the only one, which listens itself.
    """

    def __init__(
        self, settings: Settings, adapters: Adapters | None = None, siblings: Siblings | None = None
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.registry = Registry()
        self.pulse = Pulse()
        self.runner: Runner | None = None
        self.desk: ThreadDesk | None = None
        self.port = settings.server.port
        self._adapters = adapters or Adapters()
        self._siblings = siblings
        self._gate = Gate()
        self._admission: Admission | None = None
        self._edge: Edge | None = None
        self._rooms: Rooms | None = None
        self._forgetful = ""  # why nothing can be remembered just now
        self._knowledge: Knowledge | None = None
        self._drain = trio.Event()
        self._all = trio.CancelScope()
        self._streams: set[trio.CancelScope] = set()  # of connections that other tasks serve

    async def run(
        self, listen: bool = True, task_status: "trio.TaskStatus[App]" = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until drained or stopped. Started, with itself, once it accepts connections.

        The documents are read from then on, and questions wait for that (`ready`).
        listen: False serves no socket, only what `serve_stream` is given, and reads them first.
        Raises UsageError when the users' file, the data folder, the knowledge base, a model or the port cannot be used;
        of documents that cannot be read, in an ExceptionGroup. Cancelled (or `stop`), every session and turn ends at
        once; a running action is recorded within RECORD_TIMEOUT, and the ledger closes within LEDGER_CLOSE_TIMEOUT.
        What a deadline leaves undone is said in the log.
        """
        self._admission = Admission.of(self.settings.server)
        told = self._note_ledger, self._note_memory
        async with composed(self.settings, self._adapters, self.metrics, *told) as made:
            self._knowledge = made.knowledge
            if not listen:  # nobody can see how far it is
                await self._read()
            listeners = await self._bind() if listen else []
            try:
                await self._run(made, listeners, listen, task_status)
            finally:
                for each in listeners:
                    if isinstance(each, trio.SocketListener):
                        each.socket.close()

    async def _run(
        self,
        made: Composed,
        listeners: Sequence[Listens],
        listen: bool,
        task_status: "trio.TaskStatus[App]",
    ) -> None:
        with self._all:
            async with trio.open_nursery() as actions:
                self.runner = Runner(actions, made.ledger, made.executor, made.clock, self.metrics)
                parts = Parts(
                    made.settings.session,
                    made.brain,
                    self.runner,
                    self.registry,
                    self.pulse,
                    made.clock,
                    self.metrics,
                    made.new_id,
                    made.settings.answers.lang,
                    str(made.settings.documents.kb),
                    made.read_tools or no_tools,
                    made.remembering.keeper if made.remembering is not None else UNKEPT,
                    consulted_of(made, self.registry),
                )
                if made.remembering is not None:
                    actions.start_soon(made.remembering.run)
                async with trio.open_nursery() as timers:
                    if made.store is not None:
                        self.desk = desk_of(made, made.store, parts, self.runner)
                        reading = self._adapters.run_sync or Threads(UPLOADS_READ_AT_ONCE)
                        self._rooms = rooms_of(made, made.store, self.desk, self.registry, reading)
                        await timers.start(self.desk.run)
                    timers.start_soon(self.registry.keep_time)
                    timers.start_soon(self.pulse.run)
                    timers.start_soon(self._keep_knowledge, listen)
                    if self._adapters.watch_loop is not None:
                        timers.start_soon(self._adapters.watch_loop, self.metrics)
                    await self._serve(parts, listeners, task_status)
                    timers.cancel_scope.cancel()
                # claimed, time to begin, time to end, recorded
                with trio.move_on_after(2 * ACTION_TIMEOUT + 2 * RECORD_TIMEOUT) as late:
                    await self.runner.wait_idle()
                if late.cancelled_caught:
                    self._say_what_is_open("actions given up")
                if made.remembering is not None:
                    with trio.move_on_after(MEMORY_DRAIN):
                        await made.remembering.keeper.settled()
                actions.cancel_scope.cancel()

    async def ready(self) -> None:
        """Wait until the documents are read, so that nobody waits for them."""
        if self._knowledge is not None:
            await self._knowledge.wait_read()

    @property
    def unread(self) -> str:
        """What is still to be read, as a sentence; "" when nothing is."""
        return self._knowledge.unread if self._knowledge is not None else ""

    @property
    def unready(self) -> str:
        """Why new clients should be sent elsewhere, as a sentence; "" when they are welcome."""
        return self._gate.unready or self.unread

    async def _read(self) -> None:
        if self._knowledge is not None:
            await self._knowledge.read()

    async def _keep_knowledge(self, listen: bool) -> None:
        """Read the documents, unless that was done before anybody listened, and take over what changes."""
        if listen:
            await self._read()
        if self._knowledge is not None:
            await self._knowledge.keep()

    async def serve_stream(self, stream: trio.abc.Stream, peer: str | None = None) -> None:
        """Serve one connection over any stream while `run` runs; returns when it has ended and is closed.

        peer: the IP address it counts for; None is that of a socket, or else this machine. After a `stop` the stream
        is closed at once.
        """
        assert self._edge is not None, "the server is not running"
        with trio.CancelScope() as scope:
            if self._all.cancel_called:
                scope.cancel()
            self._streams.add(scope)
            try:
                await serve_stream(self._edge, stream, peer)
            finally:
                self._streams.discard(scope)

    def drain(self) -> None:
        """Begin to go down: accept nothing new, let what is in progress end. Idempotent, never blocks."""
        if self._drain.is_set():
            return
        self._drain.set()
        self._gate.drain()
        self.registry.draining = True
        self.pulse.hurry()
        self.registry.post_all(Drain(trio.current_time()))

    def stop(self) -> None:
        """End everything now. Idempotent, never blocks."""
        if not self._all.cancel_called:
            self._say_what_is_open("ended at once")
        self._all.cancel()
        for scope in self._streams:
            scope.cancel()

    async def _serve(
        self, parts: Parts, listeners: Sequence[Listens], task_status: "trio.TaskStatus[App]"
    ) -> None:
        async with trio.open_nursery() as serving:
            self._edge = self._make_edge(parts)
            if listeners:
                await serving.start(serve, listeners, self._edge)
            self._gate.open()  # also where there is no socket to open it
            task_status.started(self)
            await self._drain.wait()
            with trio.move_on_after(DRAIN_TIMEOUT) as late:
                await self.registry.wait_empty()
            if late.cancelled_caught:
                self._say_what_is_open("sessions cut short")
            self.registry.post_all(Kill(1012, "going down", trio.current_time()))
            with trio.move_on_after(CLOSE_TIMEOUT + FLUSH_TIMEOUT) as late:
                await self._edge.cap.wait_unused()  # plain HTTP, and handshakes, whose sessions are told too
            if late.cancelled_caught:
                self._say_what_is_open("connections cut off")
            serving.cancel_scope.cancel()

    def _say_what_is_open(self, event: str) -> None:
        """Log what a deadline, or an end at once, leaves undone, if anything is."""
        undone = {
            "sessions": len(self.registry),
            "connections": self._edge.cap.used if self._edge else 0,
            "actions": self.runner.running if self.runner else 0,
        }
        if any(undone.values()):
            _log.warning(event, **undone)

    def _note_ledger(self, trouble: str) -> None:
        """Be told why nothing can be claimed, or "" when it can be again."""
        self._gate.trouble = f"Actions cannot be run, because of the ledger: {trouble}." if trouble else ""

    def _note_memory(self, trouble: str) -> None:
        """Be told why nothing can be remembered, or "" when it can be again; turns go on meanwhile."""
        self._forgetful = f"What is said is not remembered: {trouble}." if trouble else ""

    async def _bind(self) -> Sequence[Listens]:
        if self._siblings is not None:
            self.port = self._siblings.port
            return [self._siblings.listens]
        listeners = await listening(self.settings.server)
        self.port = int(listeners[0].socket.getsockname()[1])
        return listeners

    def _make_edge(self, parts: Parts) -> Edge:
        def handler(connection: Connection) -> Awaitable[None]:
            return Session(parts, connection, connection.agent_v1, user=connection.user).run()

        assert self._admission is not None
        admission = replace(self._admission, port=self.port)
        siblings = self._siblings
        limits = siblings.limits if siblings is not None else None
        cap = Cap.of(self.settings.server, self.settings.session.rate_limit, limits)
        contents = Contents(
            asyncapi.document(),
            mermaid(TABLE),
            siblings.figures if siblings is not None else self._own_figures,
            siblings.unready if siblings is not None else self._own_unready,
            admission.shows_token,
            self._knowledge.sections if self._knowledge is not None else lambda _: (),
            self._knowledge.openers if self._knowledge is not None else lambda _: (),
            self.settings.server.name,
            self.settings.server.greeting,
            lambda: self._forgetful,
            admission.shows_any_token,
        )
        return Edge(
            admission=admission,
            addresses=Addresses.of(self.settings.server),
            handler=handler,
            http=HttpServer(make_app(contents, self.metrics)),
            cap=cap,
            observer=self.metrics,
            gate=self._gate,
            apis=(
                *self._http_api(admission, cap),
                Questions(
                    parts,
                    admission,
                    cap,
                    self._unanswerable,
                    self.settings.answers.limit,
                    self.settings.server.name,
                ),
            ),
        )

    def _http_api(self, admission: Admission, cap: Cap) -> tuple[HttpApi, ...]:
        """Return the HTTP API, where there is something that it can work on."""
        if self._rooms is None:
            return ()
        pace = self.settings.session.pace_ms / 1000
        return (
            HttpApi(
                self._rooms,
                admission,
                cap,
                self.metrics,
                self._unanswerable,
                lambda: self._gate.draining,
                pace,
            ),
        )

    async def _own_figures(self) -> bytes:
        return self.metrics.text()

    async def _own_unready(self) -> str:
        return self.unready

    def _unanswerable(self) -> str:
        """Return why a question that came in a plain request cannot be answered now; "" when it can."""
        return self._gate.unready if self._gate.draining else self.unread
