"""The life of a server: from its settings to a server that runs, and down again.

`agent.compose` opens the wings. Here the nurseries nest in the order of shutdown, outermost first:

1. the nursery of the ledger, inside the storage, so that the ledger outlives the actions that it records;
2. the nursery of the actions, so that actions outlive the sessions;
3. the nursery of the timers;
4. the nursery of the server.

A drain ends the nurseries from the inside out, each within its deadline, and the log lists the work that a deadline
leaves undone.
"""

from collections.abc import Sequence
from dataclasses import replace

import structlog
import trio

from .actions.runner import Runner
from .compose.adapters import Adapters
from .compose.answering import make_openers
from .compose.composition import Composition, open_composition
from .compose.edge import EdgeParts, Siblings, make_api_services, make_edge
from .compose.nodes import NodeComparison
from .compose.readiness import Readiness
from .compose.sessions import make_parts, make_question_parts, make_thread_desk
from .compose.stories import StoryWing, make_story_wing
from .config import ACTION_TIMEOUT, CLOSE_TIMEOUT, DRAIN_TIMEOUT, FLUSH_TIMEOUT, RECORD_TIMEOUT
from .heap import release_heap, reuse_heap
from .host import WorkerThreads
from .server.accept import ListenerSource, open_listeners
from .server.admission import Admission
from .server.api.context import ApiServices
from .server.api.key_watch import KeyWatch
from .server.branding import Branding, read_branding
from .server.crowd_memory import release_after_crowds
from .server.metrics import Metrics
from .server.serve import Edge, serve, serve_stream
from .session.context import SessionContext
from .session.events import DrainStarted, KillRequested
from .session.registry import Registry
from .settings import Settings
from .threads.desk import ThreadDesk
from .wire.pulse import Pulse

_log = structlog.get_logger("agent.app")
_MEMORY_DRAIN = 5.0  # seconds of a drain in which the memory keeps the exchanges that still wait
_STORY_DRAIN = 5.0  # seconds of a drain in which told scenes that still wait are stored
# Threads that read uploads; each of them may take its turn at the interpreter before the event loop.
_UPLOADS_READ_AT_ONCE = 2


class App:
    """One server. Start `run` in a nursery; the server is ready for connections once `run` has started.

    `siblings`: the parts that several servers share; a server with siblings does not listen itself.
    """

    def __init__(
        self, settings: Settings, adapters: Adapters | None = None, siblings: Siblings | None = None
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.registry = Registry(settings.session.confirm_time)
        self.pulse = Pulse()
        self.readiness = Readiness()
        self.runner: Runner | None = None
        self.desk: ThreadDesk | None = None
        self.port = settings.server.port
        self._adapters = adapters or Adapters()
        self._siblings = siblings
        self._admission: Admission | None = None
        self._branding = Branding()
        self._edge: Edge | None = None
        self._api_services: ApiServices | None = None
        self._edge_parts: EdgeParts | None = None
        self._drain = trio.Event()
        self._run_scope = trio.CancelScope()
        self._stream_scopes: set[trio.CancelScope] = set()  # of connections that other tasks serve

    async def run(
        self, listen: bool = True, task_status: "trio.TaskStatus[App]" = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until drained or stopped; calls `task_status.started(self)` once the server accepts connections.

        From then on the documents are read, and questions wait until all are read (`ready`). `listen`: `False` opens
        no socket: the server serves only the streams of `serve_stream`, and reads the documents before it starts.

        Raises `UsageError` when the users' file, a file for the page, the data folder, the knowledge base, a model or
        the port cannot be used; for documents that cannot be read, within an `ExceptionGroup`. Cancelled (or after
        `stop`), every session and turn ends at once; a running action is recorded within `RECORD_TIMEOUT`, and the
        ledger closes within `LEDGER_CLOSE_TIMEOUT`. The log lists the sessions, connections and actions that a deadline
        leaves undone.
        """
        self._admission = Admission.of(self.settings.server, clock=self._adapters.clock)
        self._branding = read_branding(self.settings.server, self.settings.answers.lang)
        async with open_composition(
            settings=self.settings,
            adapters=self._adapters,
            observer=self.metrics,
            on_ledger_trouble=self.readiness.note_ledger_trouble,
            on_memory_trouble=self.readiness.note_memory_trouble,
            on_story_trouble=self.readiness.note_story_trouble,
            on_model_trouble=self.readiness.note_model_trouble,
        ) as composition:
            self.readiness.knowledge = composition.documents.knowledge
            if not listen:  # no client can see the progress of the reading
                await self._read_documents()
            listeners = await self._bind() if listen else []
            try:
                await self._run(composition, listeners, listen, task_status)
            finally:
                for each in listeners:
                    if isinstance(each, trio.SocketListener):
                        each.socket.close()

    async def _run(
        self,
        composition: Composition,
        listeners: Sequence[ListenerSource],
        listen: bool,
        task_status: "trio.TaskStatus[App]",
    ) -> None:
        """Run the nurseries of the actions, the timers and the server; end them from the inside out."""
        memory = composition.memory
        with self._run_scope:
            async with trio.open_nursery() as actions:
                self.runner = Runner(
                    actions,
                    composition.storage.ledger,
                    composition.executor,
                    composition.clock,
                    self.metrics,
                    composition.tracer,
                    composition.toolbox.operator,
                )
                parts = make_parts(
                    composition=composition,
                    runner=self.runner,
                    registry=self.registry,
                    pulse=self.pulse,
                    observer=self.metrics,
                )
                stories = self._make_stories(composition)
                edge_parts = self._edge_parts = self._make_edge_parts(composition, parts, stories)
                actions.start_soon(stories.keeper.run)
                if memory is not None:
                    actions.start_soon(memory.run)
                async with trio.open_nursery() as timers:
                    await self._start_timers(timers, composition, parts, self.runner, stories)
                    timers.start_soon(self._keep_knowledge, listen)
                    if (comparison := self._make_comparison(composition)) is not None:
                        timers.start_soon(comparison.run)
                    timers.start_soon(self._prepare_answers, composition, edge_parts)
                    if edge_parts.key_watch is not None:
                        timers.start_soon(edge_parts.key_watch.run)
                    if composition.answering.model is not None and self._adapters.probes_model:
                        timers.start_soon(composition.answering.probe_model, self.settings.model)
                    if self._adapters.watch_loop is not None:
                        timers.start_soon(self._adapters.watch_loop, self.metrics)
                    await self._serve(parts, listeners, task_status)
                    timers.cancel_scope.cancel()
                # An action may still be claimed, begin, end and be recorded.
                with trio.move_on_after(2 * ACTION_TIMEOUT + 2 * RECORD_TIMEOUT) as late:
                    await self.runner.wait_idle()
                if late.cancelled_caught:
                    self._log_undone("actions given up")
                if memory is not None:
                    with trio.move_on_after(_MEMORY_DRAIN):
                        await memory.keeper.wait_settled()
                with trio.move_on_after(_STORY_DRAIN):
                    await stories.keeper.wait_settled()
                actions.cancel_scope.cancel()

    async def _start_timers(
        self,
        timers: trio.Nursery,
        composition: Composition,
        parts: SessionContext,
        runner: Runner,
        stories: StoryWing,
    ) -> None:
        """Start the threads over HTTP, where a store keeps them, and then the timers of the sessions."""
        store = composition.storage.store
        if store is not None:
            self.desk = make_thread_desk(composition=composition, store=store, parts=parts, runner=runner)
            self._api_services = make_api_services(
                composition=composition,
                store=store,
                desk=self.desk,
                registry=self.registry,
                run_sync=self._adapters.run_sync or WorkerThreads(_UPLOADS_READ_AT_ONCE),
                stories=stories.desk,
            )
            await timers.start(self.desk.run)
        if parts.consultant is not None:
            timers.start_soon(parts.consultant.run)
        timers.start_soon(self.registry.keep_time)
        timers.start_soon(self.pulse.run)

    async def ready(self) -> None:
        """Wait until the documents are read; from then on no question waits for them."""
        await self.readiness.wait_read()

    @property
    def unread(self) -> str:
        """The progress of reading the documents, as a sentence; "" once they are read."""
        return self.readiness.unread

    @property
    def unready(self) -> str:
        """The reason to send new clients elsewhere, as a sentence; "" when they are welcome."""
        return self.readiness.unready

    async def _read_documents(self) -> None:
        if self.readiness.knowledge is not None:
            await self.readiness.knowledge.read()

    async def _keep_knowledge(self, listen: bool) -> None:
        """Read the documents, unless `run` has read them, and take over their changes."""
        if listen:
            await self._read_documents()
        if self.readiness.knowledge is not None:
            await self.readiness.knowledge.keep()

    async def _prepare_answers(self, composition: Composition, edge_parts: EdgeParts) -> None:
        """Read the uploads and look for opening questions, once the documents are read; no client waits for it."""
        await self.readiness.wait_read()
        if composition.answering.house is not None:
            await composition.answering.house.load_snapshot()
        await edge_parts.openers.run()

    async def serve_stream(self, stream: trio.abc.Stream, peer: str | None = None) -> None:
        """Serve one connection over any stream while `run` runs; returns when it has ended and is closed.

        `peer`: the IP address that the connection counts for; `None` takes that of a socket, or else this machine's.
        After a `stop` the stream is closed at once.
        """
        assert self._edge is not None, "the server is not running"
        with trio.CancelScope() as scope:
            if self._run_scope.cancel_called:
                scope.cancel()
            self._stream_scopes.add(scope)
            try:
                await serve_stream(self._edge, stream, peer)
            finally:
                self._stream_scopes.discard(scope)

    def drain(self) -> None:
        """Begin to go down: accept no connection, and let turns and actions end. Idempotent, never blocks."""
        if self._drain.is_set():
            return
        self._drain.set()
        self.readiness.gate.drain()
        self.registry.draining = True
        self.pulse.hurry()
        self.registry.post_all(DrainStarted(trio.current_time()))

    def stop(self) -> None:
        """End everything now. Idempotent, never blocks."""
        if not self._run_scope.cancel_called:
            self._log_undone("ended at once")
        self._run_scope.cancel()
        for scope in self._stream_scopes:
            scope.cancel()

    async def _serve(
        self, parts: SessionContext, listeners: Sequence[ListenerSource], task_status: "trio.TaskStatus[App]"
    ) -> None:
        """Serve connections until drained; then end the sessions and the connections, each within its deadline."""
        async with trio.open_nursery() as serving:
            self._edge = self._make_edge(parts)
            if listeners:
                await serving.start(serve, listeners, self._edge)
            run_sync = self._adapters.run_sync or WorkerThreads(1)
            serving.start_soon(release_after_crowds, self._edge.limits, release_heap, reuse_heap, run_sync)
            self.readiness.gate.open()  # also where no listener opens it
            task_status.started(self)
            await self._drain.wait()
            with trio.move_on_after(DRAIN_TIMEOUT) as late:
                await self.registry.wait_empty()
            if late.cancelled_caught:
                self._log_undone("sessions cut short")
            self.registry.post_all(KillRequested(1012, "going down", trio.current_time()))
            with trio.move_on_after(CLOSE_TIMEOUT + FLUSH_TIMEOUT) as late:
                # Also plain HTTP requests and handshakes; a session that a handshake starts gets the kill request too.
                await self._edge.limits.wait_unused()
            if late.cancelled_caught:
                self._log_undone("connections cut off")
            serving.cancel_scope.cancel()

    def _make_comparison(self, composition: Composition) -> NodeComparison | None:
        """Return the comparison with the other servers on the database; `None` where there can be none."""
        store, knowledge = composition.storage.store, composition.documents.knowledge
        if store is None or store.nodes is None or knowledge is None:
            return None
        return NodeComparison(
            store.nodes,
            self.settings.socket_project,
            lambda: knowledge.digest,
            self.readiness.note_differences,
        )

    def _make_stories(self, composition: Composition) -> StoryWing:
        return make_story_wing(
            settings=self.settings,
            adapters=self._adapters,
            clock=composition.clock,
            store=composition.stories,
            model=composition.answering.model,
            guests=bool(self._admission and self._admission.token and self._admission.lets_guests_in),
        )

    def _make_edge_parts(
        self, composition: Composition, parts: SessionContext, stories: StoryWing
    ) -> EdgeParts:
        store = composition.storage.store
        return EdgeParts(
            question_parts=make_question_parts(composition=composition, parts=parts),
            stories=stories,
            branding=self._branding,
            openers=make_openers(
                settings=self.settings.answers,
                knowledge=composition.documents.knowledge,
                starters=self._branding.starters,
            ),
            projects=composition.answering.projects,
            key_watch=None if store is None else KeyWatch(store.projects),
            voice=composition.voice,
        )

    def _make_edge(self, parts: SessionContext) -> Edge:
        assert self._admission is not None
        assert self._edge_parts is not None
        return make_edge(
            settings=self.settings,
            admission=replace(self._admission, port=self.port),
            parts=parts,
            edge_parts=self._edge_parts,
            readiness=self.readiness,
            metrics=self.metrics,
            api_services=self._api_services,
            siblings=self._siblings,
        )

    async def _bind(self) -> Sequence[ListenerSource]:
        """Open the sockets of the settings, or take the connections that the siblings share."""
        if self._siblings is not None:
            self.port = self._siblings.port
            return [self._siblings.listens]
        listeners = await open_listeners(self.settings.server)
        self.port = int(listeners[0].socket.getsockname()[1])
        return listeners

    def _log_undone(self, event: str) -> None:
        """Log how many sessions, connections and actions a deadline or a `stop` leaves undone, unless none is."""
        undone = {
            "sessions": len(self.registry),
            "connections": self._edge.limits.used if self._edge else 0,
            "actions": self.runner.running_count if self.runner else 0,
        }
        if any(undone.values()):
            _log.warning(event, **undone)
