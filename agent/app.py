"""The composition root: settings in, a running server out. The only module that knows every package.

Nurseries nest in the order of shutdown: the ledger's is the outermost, so that it outlives the actions that it records;
inside it the actions', so that they outlive the sessions; then the timers, and innermost the server. A drain ends them
from the inside out, each within its deadline, and what a deadline leaves undone is said in the log.
"""

import resource
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog
import trio

from .actions.open import open_executor
from .actions.runner import Runner
from .answering.brain import GroundedBrain
from .answering.present import PresentBrain
from .config import (
    ACTION_TIMEOUT,
    CLOSE_TIMEOUT,
    DRAIN_TIMEOUT,
    FLUSH_TIMEOUT,
    RECORD_TIMEOUT,
    VISITORS,
    Settings,
)
from .embedding.open import open_meaning
from .errors import UsageError
from .fsm import mermaid
from .grounding.verify import read_ahead
from .llm.open import open_model
from .ports.action import Executor
from .ports.brain import Brain
from .ports.clock import Clock
from .ports.ledger import Ledger
from .ports.model import ChatModel
from .ports.observe import Observer
from .ports.work import RunSync
from .protocol import asyncapi
from .retrieval.live import LiveKnowledge
from .retrieval.search import KnowledgeBase
from .retrieval.watch import Watch, watching
from .server.addresses import Addresses
from .server.admission import Admission
from .server.http import Contents, make_app
from .server.hypercorn_edge import HttpServer
from .server.limits import Cap
from .server.metrics import Metrics
from .server.serve import Edge, Gate, serve, serve_stream
from .server.websocket import Connection
from .session.events import Drain, Kill
from .session.registry import Registry
from .session.session import Session
from .session.states import TABLE
from .session.turn import Parts
from .storage.open import opened_ledger

_log = structlog.get_logger("agent.app")
_THREADS = 4
SPARE_FILES = 256  # beside connections: the ones that are leaving, the index, webhooks, the ledger
T = TypeVar("T")


def _raise_file_limit(wanted: int) -> None:
    """Let this process open `wanted` files if it may; the server works with fewer, turning clients away sooner."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


class WallClock:
    """The world's time (implements `agent.ports.clock.Clock`)."""

    def now_ms(self) -> int:
        """Return Unix time in milliseconds."""
        return time.time_ns() // 1_000_000


class Threads:
    """Blocking work in worker threads, a few at a time (implements `agent.ports.work.RunSync`).

    size: how many threads. One that is left behind keeps its place until its function returns.
    """

    def __init__(self, size: int = _THREADS) -> None:
        self._limiter = trio.CapacityLimiter(size)

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return `function()`. Cancelled, it raises at once; what has begun goes on, which the log says."""
        began = trio.current_time()
        running = False

        def call() -> T:
            nonlocal running
            running = True
            try:
                return function()
            finally:
                running = False

        try:
            return await trio.to_thread.run_sync(call, limiter=self._limiter, abandon_on_cancel=True)
        except trio.Cancelled:
            if running:
                seconds = round(trio.current_time() - began, 1)
                _log.warning("blocking call left behind", call=_name(function), seconds=seconds)
            raise


def _name(function: Callable[..., object]) -> str:
    """Return what a function is called in the code, whatever it is wrapped in."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__name__))


def new_id() -> str:
    """Return an unguessable id: 128 random bits as URL-safe text."""
    return secrets.token_urlsafe(16)


@dataclass(frozen=True)
class Adapters:
    """Parts that stand in for the ones the settings name; None takes those. What a test or an embedder swaps.

    knowledge: never reloaded. run_sync: the system watches the folder in a thread too, so with another way to do
    blocking work it is watched only if `watch` says how. watch_loop: runs beside the server and measures its event
    loop, on real time; None measures nothing.
    """

    model: ChatModel | None = None
    brain: Brain | None = None
    knowledge: KnowledgeBase | None = None
    executor: Executor | None = None
    ledger: Ledger | None = None
    clock: Clock | None = None
    run_sync: RunSync | None = None
    watch_loop: Callable[[Observer], Awaitable[None]] | None = None
    watch: Watch | None = None
    new_id: Callable[[], str] = new_id


class App:
    """One server. `run` it in a nursery; it is ready when that has started."""

    def __init__(self, settings: Settings, adapters: Adapters | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.registry = Registry()
        self.runner: Runner | None = None
        self.port = settings.port
        self._adapters = adapters or Adapters()
        self._gate = Gate()
        self._edge: Edge | None = None
        self._live: LiveKnowledge | None = None
        self._drain = trio.Event()
        self._all = trio.CancelScope()
        self._streams: set[trio.CancelScope] = set()  # of connections that other tasks serve

    async def run(
        self, listen: bool = True, task_status: "trio.TaskStatus[App]" = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until drained or stopped. Started, with itself, once it accepts connections.

        listen: False serves no socket, only what `serve_stream` is given.
        Raises UsageError when the data folder, the knowledge base, a model or the port cannot be used. Cancelled
        (or `stop`), every session and turn ends at once; a running action is recorded within RECORD_TIMEOUT, and
        the ledger closes within LEDGER_CLOSE_TIMEOUT. What a deadline leaves undone is said in the log.
        """
        async with self._open_ledger() as ledger:  # closed last, when no action is left to record
            await self._run(ledger, listen, task_status)

    async def _run(self, ledger: Ledger, listen: bool, task_status: "trio.TaskStatus[App]") -> None:
        make_parts = await self._open(ledger)
        listeners = await self._bind() if listen else []
        with self._all:
            async with trio.open_nursery() as actions:
                parts = make_parts(actions)
                async with trio.open_nursery() as timers:
                    timers.start_soon(self.registry.keep_time)
                    timers.start_soon(self._keep_knowledge)
                    if self._adapters.watch_loop is not None:
                        timers.start_soon(self._adapters.watch_loop, self.metrics)
                    await self._serve(parts, listeners, task_status)
                    timers.cancel_scope.cancel()
                assert self.runner is not None
                # claimed, time to begin, time to end, recorded
                with trio.move_on_after(2 * ACTION_TIMEOUT + 2 * RECORD_TIMEOUT) as late:
                    await self.runner.wait_idle()
                if late.cancelled_caught:
                    self._say_what_is_open("actions given up")
                actions.cancel_scope.cancel()

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
        self.registry.post_all(Drain(trio.current_time()))

    def stop(self) -> None:
        """End everything now. Idempotent, never blocks."""
        if not self._all.cancel_called:
            self._say_what_is_open("ended at once")
        self._all.cancel()
        for scope in self._streams:
            scope.cancel()

    async def _serve(
        self, parts: Parts, listeners: Sequence[trio.SocketListener], task_status: "trio.TaskStatus[App]"
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

    async def _bind(self) -> list[trio.SocketListener]:
        _raise_file_limit(self.settings.max_connections + VISITORS + SPARE_FILES)
        try:
            listeners = await trio.open_tcp_listeners(self.settings.port, host=self.settings.host)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {self.settings.host} port {self.settings.port}: {error.strerror or error}; "
                "choose another with --host or --port"
            ) from None
        self.port = int(listeners[0].socket.getsockname()[1])
        return listeners

    def _open_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        chosen = self._adapters
        if chosen.ledger is not None:
            return nullcontext(chosen.ledger)
        run_sync, clock = chosen.run_sync or Threads(1), chosen.clock or WallClock()
        return opened_ledger(self.settings, run_sync, clock, self.metrics, self._note_ledger)

    async def _open(self, ledger: Ledger) -> Callable[[trio.Nursery], Parts]:
        """Open every other adapter; return what makes the sessions' parts once there is a nursery for actions."""
        chosen, settings = self._adapters, self.settings
        clock = chosen.clock or WallClock()
        executor = chosen.executor or open_executor(settings)
        brain = chosen.brain or await self._brain()

        def parts(actions: trio.Nursery) -> Parts:
            self.runner = Runner(actions, ledger, executor, clock, self.metrics)
            return Parts(settings, brain, self.runner, self.registry, clock, self.metrics, chosen.new_id)

        return parts

    async def _brain(self) -> Brain:
        chosen, settings = self._adapters, self.settings
        knowledge = chosen.knowledge
        if knowledge is None:
            ahead = partial(read_ahead, binding=settings.binding)
            run_sync = chosen.run_sync or Threads()
            meaning = await open_meaning(settings.vectors, settings.vectors_url, run_sync)
            self._live = await LiveKnowledge.open(settings.kb, run_sync, ahead, meaning)
            knowledge = self._live.now
        for skipped in knowledge.skipped:
            _log.warning("file left out of the knowledge base", file=skipped.file, why=skipped.reason)
        texts = tuple(snippet.text for passage in knowledge.passages for snippet in passage.snippets)
        model = chosen.model or open_model(settings, texts)

        def brain() -> Brain:
            present = self._live.now if self._live else knowledge
            return GroundedBrain(present, model, settings)

        return PresentBrain(brain) if self._live else brain()

    async def _keep_knowledge(self) -> None:
        """Take over what changes in the folder of the knowledge base."""
        watch = self._adapters.watch or (None if self._adapters.run_sync else watching)
        if self._live and watch:
            await self._live.keep(watch)

    def _make_edge(self, parts: Parts) -> Edge:
        async def handler(connection: Connection) -> None:
            await Session(parts, connection, connection.outbox, connection.agent_v1).run()

        admission = Admission.of(self.settings, self.port)
        contents = Contents(
            asyncapi.document(),
            mermaid(TABLE),
            self.metrics.text,
            lambda: self._gate.unready,
            admission.shows_token,
        )
        return Edge(
            admission=admission,
            addresses=Addresses.of(self.settings),
            handler=handler,
            http=HttpServer(make_app(contents, self.metrics)),
            cap=Cap.of(self.settings),
            observer=self.metrics,
            gate=self._gate,
        )
