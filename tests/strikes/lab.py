"""A small server for proofs: the whole `App` but HTTP, with a model and an executor that can be broken.

The client's end is synchronous, so that a strike can speak, leave or reset in the middle of any step; everything that
happens is written to one transcript in its order, so that what was stopped can be told from what had begun.
"""

import gc
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import trio

from agent.answering.brain import GroundedBrain
from agent.app import App
from agent.compose.adapters import Adapters
from agent.compose.composition import Composition
from agent.ports.conversation import Scope
from agent.ports.decide import Decision
from agent.ports.remember import MemoryAccess
from agent.protocol import inbound
from agent.server.accept import ListenerSource
from agent.server.admission import Admission
from agent.server.api.keys import Keys
from agent.server.http_server import HttpServer
from agent.server.limits import ConnectionLimits
from agent.server.metrics import Metrics
from agent.server.serve import Edge
from agent.server.websocket import Connection
from agent.session.context import SessionContext
from agent.session.events import ClientDisconnected, DrainStarted, Event, FrameReceived, KillRequested
from agent.session.session import Session
from agent.settings import Settings
from agent.testing.breakable import BreakableExecutor, BreakableModel, DraftScript
from agent.testing.fake_memory import FakeMemory, make_item
from agent.testing.fakes import Figures, FixedRetriever, Noon, SlowLedger
from agent.testing.faults import PipeEnd, pipe_to
from agent.testing.network import inline

from ..consulted import with_memory
from .keeping import WatchedMemory, WatchedNoter
from .raw import RawClient, decode_frames, whole
from .tooling import BreakableDecider, deciding, free

CONFIRM_TIME = 30.0  # virtual seconds for a confirm: a scenario ends after the suggestions that it left

SIDE: ContextVar[str] = ContextVar("side", default="")  # whose task this is; "struck" are the ones counted
STRUCK, INNOCENT = "struck", "innocent"
STOPPED = "the server stops"
ANYBODY = Scope("lab", "thread", "anybody")


@dataclass(slots=True)
class Entry:
    """A line of the transcript: at which virtual time, who, and what.

    who: "->" received and handled, "<-" begun to be written, "**" an effect outside, "??" the model decided, "--" the
    client leaves or the server stops, "!!" the strike. turn: the message that was in progress before this was handled.
    """

    at: float
    who: str
    what: Any
    turn: str | None = None

    def __str__(self) -> str:
        return f"{self.at:9.3f} {self.who} {self.what}"


class WatchedSession(Session):
    """A session that writes what it handles to the transcript."""

    __slots__ = ("project", "side", "transcript")
    transcript: list["Entry"]
    side: str  # whose tasks it starts, whoever posts
    project: str

    def post(self, event: Event) -> None:
        """Note what a client sent, and what ends a session, after it was handled."""
        turn, left = self.current_message, self._has_left
        token = SIDE.set(self.side)
        try:
            super().post(event)
        finally:
            SIDE.reset(token)
        if left:
            return
        if isinstance(event, FrameReceived):
            self.transcript.append(Entry(trio.current_time(), "->", event.frame, turn))
        elif isinstance(event, ClientDisconnected | DrainStarted | KillRequested):
            self.transcript.append(Entry(trio.current_time(), "->", event, turn))

    def cut_turn(self) -> None:
        """Cancel the scope of the turn in progress, which the session does not know of."""
        if self._turn is not None:
            self._turn.cancel_scope.cancel()


class WatchedPipe(PipeEnd):
    """The server's end: every frame goes to the transcript when its first byte is taken."""

    transcript: list[Entry]
    _left = 0  # bytes of the frame whose first one was taken

    def send_now(self, data: bytes) -> int:
        """Take what there is room for, and note the frames that this begins."""
        taken = super().send_now(data)
        at = min(self._left, taken)
        self._left -= at
        while at < taken:
            size = whole(data[at:])
            for frame in decode_frames(data[at : at + size]):
                self.transcript.append(Entry(trio.current_time(), "<-", frame))
            at += size
            self._left = max(0, at - taken)
        return taken


class WatchedApp(App):
    """The server as it is, but for its HTTP, its metrics and who makes its sessions."""

    def __init__(
        self,
        settings: Settings,
        adapters: Adapters,
        figures: Figures,
        session: Callable[[SessionContext, Connection], Session],
        memory: WatchedMemory | None = None,
    ) -> None:
        super().__init__(settings, adapters)
        self._memory = memory
        self.metrics = cast(Metrics, figures)
        self.cap = ConnectionLimits(9)
        self._session = session

    async def _run(
        self,
        composition: Composition,
        listeners: Sequence[ListenerSource],
        listen: bool,
        task_status: "trio.TaskStatus[App]",
    ) -> None:
        memory = self._memory
        if memory is None or composition.memory is None:
            await super()._run(composition, listeners, listen, task_status)
            return
        memory.open(composition.memory)
        executor = memory.carrying_out(composition.executor)
        await super()._run(replace(composition, executor=executor), listeners, listen, task_status)
        await memory.read_out()

    def _make_edge(self, parts: SessionContext) -> Edge:
        async def handler(connection: Connection) -> None:
            await self._session(parts, connection).run()

        admission = Admission.of(self.settings.server)
        keys = Keys(admission, self.cap.wrong_tokens)
        return Edge(
            admission=admission,
            handler=handler,
            http=HttpServer(keys, self.cap, self.metrics, {}, {}, parts.new_id),
            limits=self.cap,
            observer=self.metrics,
            gate=self.readiness.gate,
        )


@dataclass
class Lab:
    """One run: a server, its clients, and the transcript of the struck one. `open` it before anything else.

    decisions: the model's, where there are tools. free: those that may run unconfirmed. remembers: seconds that it
    takes to answer what is asked of what is remembered, an item of anybody's; None remembers nothing. keeps: what is
    said is remembered. finds: seconds that a memory model takes to read a message; None: there is none.
    """

    nursery: trio.Nursery
    drafts: Sequence[DraftScript] = (DraftScript("It costs 299 kr."),)
    before: float = 0.0
    after: float = 0.0
    deaf: bool = False
    claim: float = 0.0  # seconds that the ledger takes for one
    decisions: Sequence[Decision] = ()
    remembers: float | None = None
    keeps: bool = False
    finds: float | None = None
    by_sentence: bool = False
    transcript: list[Entry] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = Settings.of(
            pace_ms=20.0,
            rate_limit=0,
            memory="on" if self.keeps else "off",
            confirm_time=CONFIRM_TIME,
            verify="sentence" if self.by_sentence else "whole",
        )
        clock = Noon()
        self.kept = WatchedMemory(self.note, clock) if self.keeps else None
        self.noter = None if self.finds is None else WatchedNoter(self.finds)
        self.model = BreakableModel(self.drafts)
        self.executor = BreakableExecutor(self.before, self.after, self.deaf, partial(self.note, "**"))
        self.ledger = SlowLedger(self.claim)
        self.figures = Figures()
        self.watched: dict[str, weakref.ref[WatchedSession]] = {}
        self.left_behind: list[str] = []  # what the struck connection left when it had ended
        self.parted = trio.Event()  # the struck connection has ended
        self.over = trio.Event()  # the server has
        self.stopped = False
        self.free = free(self.decisions)
        self.memory: FakeMemory | None = None
        if self.remembers is not None:
            self.memory = FakeMemory(clock=Noon(), kept=[make_item(ANYBODY)], wait=self.remembers)
        ids = itertools.count(1)
        grounded = GroundedBrain(FixedRetriever(), self.model, settings.answers, memory=self.kept)
        decider = BreakableDecider(self.decisions, self.model, self._decided)
        adapters = Adapters(
            brain=deciding(grounded, decider, self.figures) if self.decisions else grounded,
            executor=self.executor,
            ledger=self.ledger,
            clock=clock,
            run_sync=inline,
            new_id=lambda: f"id{next(ids)}",
            noter=self.noter,
        )
        self.app = WatchedApp(settings, adapters, self.figures, self._make_session, self.kept)

    async def open(self) -> None:
        """Start the server."""
        await self.nursery.start(self._serve)

    def note(self, who: str, what: Any) -> None:
        """Write a line of the transcript."""
        session = self.session()
        turn = session.current_message if session else None
        self.transcript.append(Entry(trio.current_time(), who, what, turn))

    def _decided(self, decision: Decision) -> None:
        if SIDE.get() == STRUCK:
            self.note("??", decision)

    def session(self) -> WatchedSession | None:
        """Return the struck session, while there is one."""
        ref = self.watched.get(STRUCK)
        return ref() if ref else None

    def connect(
        self, side: str = STRUCK, room: int = 1 << 30, reads: bool = True, answers: bool = True
    ) -> RawClient:
        """Open a connection and send its upgrade; tasks of the server's end carry `side`."""
        ours, theirs = pipe_to(WatchedPipe, room)
        theirs.transcript = self.transcript if side == STRUCK else []
        leaving = partial(self.note, "--") if side == STRUCK else lambda how: None
        token = SIDE.set(side)
        try:
            self.nursery.start_soon(self._connection, theirs, name=f"connection {side}")
        finally:
            SIDE.reset(token)
        client = RawClient(ours, leaving, answers)
        if reads:
            self.nursery.start_soon(client.read_all)
        return client

    def drain(self) -> None:
        """Let the server go down."""
        self.app.drain()

    async def forget(self, *, elsewhere: bool = False) -> None:
        """Have the struck client's first live item forgotten; `elsewhere`: by a process that tells no session here."""
        session = self.session()
        scope = None if session is None else session._core.consults.scope
        del session  # which may end meanwhile, and is not to be kept alive from here
        if self.kept is not None and scope is not None:
            await self.kept.forget(scope, None if elsewhere else self.app.registry)

    def stop(self) -> None:
        """End the server now."""
        self.stopped = True
        self.note("--", STOPPED)
        self.app.stop()

    async def _serve(self, task_status: "trio.TaskStatus[App]") -> None:
        await self.app.run(False, task_status)
        self.over.set()

    async def _connection(self, stream: WatchedPipe) -> None:
        await self.app.serve_stream(stream)
        if SIDE.get() == STRUCK:
            await (
                trio.lowlevel.checkpoint()
            )  # until then the loop holds a cancel that came here, and its frames
            self.left_behind += self._remains(stream)
            self.parted.set()

    def _make_session(self, parts: SessionContext, connection: Connection) -> WatchedSession:
        scope = None
        if self.memory is not None:
            parts = with_memory(parts, MemoryAccess(self.memory, self.memory))
            scope = ANYBODY
        session = WatchedSession(parts, connection, connection.agent_v1, scope)
        session.side = SIDE.get()
        session.project = parts.project
        session.transcript = self.transcript if session.side == STRUCK else []
        self.watched[SIDE.get()] = weakref.ref(session)
        return session

    def _remains(self, stream: WatchedPipe) -> list[str]:
        """Return what is left of the struck connection at the instant when it has ended."""
        found = [] if stream.is_closed else ["the stream is open"]
        found += [f"the task {name} runs" for name in struck_tasks() if not name.startswith("action ")]
        if self.app.registry.armed_count:
            found.append(f"{self.app.registry.armed_count} timers are armed")
        gc.collect()
        if self.session() is not None:
            found.append("the session is alive")
        return found


def struck_tasks() -> list[str]:
    """Return the names of all tasks of the struck side but the current one."""
    here = trio.lowlevel.current_task()
    root = trio.lowlevel.current_root_task()
    tasks = tasks_below(root) if root else ()
    return [task.name for task in tasks if task is not here and task.context.get(SIDE) == STRUCK]


def tasks_below(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    """Yield the tasks in the nurseries of a task, and in theirs."""
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield child
            yield from tasks_below(child)


def is_frame(entry: Entry, kind: str) -> bool:
    """Whether an entry is a frame of this type to the client."""
    return entry.who == "<-" and isinstance(entry.what, dict) and entry.what["type"] == kind


def is_received(entry: Entry, kind: type[inbound.Inbound]) -> bool:
    """Whether an entry is a client's frame of this type, as it was handled."""
    return entry.who == "->" and isinstance(entry.what, kind)
