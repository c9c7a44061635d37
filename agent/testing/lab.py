"""A small server for proofs: every part of the real path but HTTP, a model and an executor that can be broken.

The client's end is synchronous, so that a strike can speak, leave or reset in the middle of any step; everything that
happens is written to one transcript in its order.
"""

import contextlib
import itertools
import json
import struct
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import trio

from ..actions.runner import Runner
from ..answering.brain import GroundedBrain
from ..config import Settings
from ..ports.action import Call
from ..ports.model import Delta, Prompt
from ..ports.search import Hit, Lang, Passage, Snippet
from ..protocol import inbound
from ..server.admission import Admission
from ..server.hypercorn_edge import HttpServer
from ..server.limits import Cap
from ..server.serve import Edge, serve_stream
from ..server.websocket import Connection
from ..session.events import Drain, Event, Received
from ..session.registry import Registry
from ..session.session import Session
from ..session.turn import Parts
from ..storage.memory import MemoryLedger
from .faults import PipeEnd, pipe_to

SIDE: ContextVar[str] = ContextVar("side", default="")  # whose task this is; "struck" are the ones counted
SENTINEL = "31337"
SNIPPETS = ("The Standard plan costs 299 kr a month.", "The notice period is 14 days.")
_UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost:8787\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Say:
    """A draft: seconds to think, then a text in two deltas with a pause between."""

    text: str
    think: float = 0.1
    hang: bool = False  # after the first delta
    fail: bool = False


class _Breakable:
    """Pauses, and raises out of the next pause when it is told to break."""

    def __init__(self) -> None:
        self._poke = trio.Event()
        self._fault = False

    def fault(self) -> None:
        """Break: a bug, not a failure that anyone expects."""
        self._fault = True
        self._poke.set()

    async def _pause(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await self._poke.wait()
        if self._fault:
            self._fault = False
            self._poke = trio.Event()
            raise RuntimeError(f"{type(self).__name__} broke at {SENTINEL}")


class BreakableModel(_Breakable):
    """Drafts what it is told, one `Say` per attempt (the last repeats)."""

    def __init__(self, drafts: Sequence[Say]) -> None:
        super().__init__()
        self._drafts = drafts

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the draft of this attempt."""
        say = self._drafts[min(prompt.attempt, len(self._drafts) - 1)]
        await self._pause(say.think)
        half = len(say.text) // 2
        yield Delta(say.text[:half])
        await self._pause(float("inf") if say.hang else 0.01)
        if say.fail:
            raise RuntimeError(f"the model failed at {SENTINEL}")
        yield Delta(say.text[half:])


class BreakableExecutor(_Breakable):
    """Sleeps before and after `begin()`, and remembers every effect."""

    def __init__(self, before: float, after: float) -> None:
        super().__init__()
        self.before = before
        self.after = after
        self.begun: list[str] = []

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Carry out a call, slowly."""
        await self._pause(self.before)
        begin()
        self.begun.append(call.suggestion_id)
        await self._pause(self.after)
        return {"ran": call.action}


class OneFile:
    """A retriever that always finds the same two snippets."""

    def __init__(self) -> None:
        snippets = tuple(Snippet("kb/terms.md", text, n, n) for n, text in enumerate(SNIPPETS, 1))
        passage = Passage("kb/terms.md", ("Terms",), "en", snippets)
        self._hits = tuple(Hit(snippet, passage, 0.9) for snippet in snippets)

    async def search(self, query: str, lang: Lang, limit: int) -> tuple[Hit, ...]:
        """Return them, unless the question is about nothing."""
        await trio.lowlevel.checkpoint()
        return () if "nothing" in query else self._hits[:limit]


class Figures:
    """An Observer that keeps the levels and the words it was given."""

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self.words: set[str] = set()

    def count(self, metric: str, label: str = "") -> None:
        """Keep the label."""
        self.words.add(label)

    def measure(self, metric: str, seconds: float) -> None:
        """Keep nothing."""

    def gauge(self, metric: str, change: int) -> None:
        """Keep the level."""
        self.levels[metric] = self.levels.get(metric, 0) + change


class Noon:
    """It is always the same moment in the world."""

    def now_ms(self) -> int:
        """Return that moment."""
        return 1_700_000_000_000


@dataclass(slots=True)
class Entry:
    """A line of the transcript: at which virtual time, who, and what."""

    at: float
    who: str  # "->" received and handled, "<-" begun to be written, "!!" the strike
    what: Any
    turn: str | None = None  # the message in progress before this was handled

    def __str__(self) -> str:
        return f"{self.at:9.3f} {self.who} {self.what}"


class WatchedSession(Session):
    """A session that writes what it handles to the transcript."""

    __slots__ = ("transcript",)
    transcript: list["Entry"]

    def post(self, event: Event) -> None:
        """Note a client's frame after it was handled."""
        turn, left = self.asking, self._left
        super().post(event)
        if isinstance(event, Received) and not left:
            self.transcript.append(Entry(trio.current_time(), "->", event.frame, turn))


class WatchedPipe(PipeEnd):
    """The server's end: every write goes to the transcript when it begins."""

    transcript: list[Entry]

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Note it, then send it."""
        for frame in decode_frames(bytes(data)):
            self.transcript.append(Entry(trio.current_time(), "<-", frame))
        await super().send_all(data)


@dataclass
class Lab:
    """One run: the server's parts, its clients, and the transcript of the first one."""

    nursery: trio.Nursery
    drafts: Sequence[Say] = (Say("It costs 299 kr."),)
    before: float = 0.0
    after: float = 0.0
    pace_ms: float = 20.0
    transcript: list[Entry] = field(default_factory=list)
    watched: list[weakref.ref[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settings = Settings(pace_ms=self.pace_ms, rate_limit=0)
        self.model = BreakableModel(self.drafts)
        self.executor = BreakableExecutor(self.before, self.after)
        self.ledger = MemoryLedger()
        self.registry = Registry()
        self.figures = Figures()
        self.runner = Runner(self.nursery, self.ledger, self.executor, Noon(), self.figures)
        ids = itertools.count(1)
        brain = GroundedBrain(OneFile(), self.model, self.settings, lambda question, lang: question)
        self.parts = Parts(
            self.settings, brain, self.runner, self.registry, Noon(), self.figures, lambda: f"id{next(ids)}"
        )
        self.edge = Edge(
            Admission.of(self.settings),
            self._handle,
            http=cast(HttpServer, None),
            cap=Cap(9),
            observer=self.figures,
        )
        self.session: Callable[[], WatchedSession | None] = lambda: None
        self.nursery.start_soon(self.registry.keep_time)

    async def _handle(self, connection: Connection) -> None:
        session = WatchedSession(self.parts, connection, connection.outbox, connection.agent_v1)
        session.transcript = self.transcript if SIDE.get() == "struck" else []
        self.watched.append(weakref.ref(session))
        if SIDE.get() == "struck":
            self.session = weakref.ref(session)
        await session.run()

    def connect(self, side: str = "struck", room: int = 1 << 30, reads: bool = True) -> "RawClient":
        """Open a connection and send its upgrade; tasks of the server's end carry `side`."""
        ours, theirs = pipe_to(WatchedPipe, room)
        theirs.transcript = self.transcript if side == "struck" else []
        token = SIDE.set(side)
        try:
            self.nursery.start_soon(partial(serve_stream, self.edge, theirs), name=f"connection {side}")
        finally:
            SIDE.reset(token)
        client = RawClient(ours)
        if reads:
            self.nursery.start_soon(client.read_all)
        return client

    def drain(self) -> None:
        """Let the server go down."""
        self.registry.draining = True
        self.registry.post_all(Drain(trio.current_time()))


class RawClient:
    """A WebSocket client: sends at once, from synchronous code; reads in a task, which also answers pings."""

    def __init__(self, end: PipeEnd) -> None:
        self.end = end
        self.frames: list[dict[str, Any]] = []
        self._rest = b""
        self._upgraded = False
        self._grown = trio.Event()
        end.feed(_UPGRADE)

    def send(self, kind: str, **fields: Any) -> None:
        """Send a frame; after the connection was cut it goes nowhere."""
        self.end.feed(client_frame(json.dumps({"type": kind, **fields}).encode()))

    async def until(self, kind: str, count: int = 1) -> dict[str, Any]:
        """Wait until `count` frames of a type have come; return the last of them. The caller has a deadline."""
        while sum(frame["type"] == kind for frame in self.frames) < count:
            self._grown = trio.Event()
            await self._grown.wait()
        return [frame for frame in self.frames if frame["type"] == kind][count - 1]

    async def read_all(self) -> None:
        """Read until the connection ends."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await self.end.receive_some():
                self._read(data)
                self._grown.set()

    def _read(self, data: bytes) -> None:
        self._rest += data
        if not self._upgraded:
            head, found, self._rest = self._rest.partition(b"\r\n\r\n")
            if not found:
                self._rest = head
                return
            self._upgraded = True
        whole, self._rest = _split(self._rest)
        for frame in map(_decode, whole):
            if isinstance(frame, dict):
                self.frames.append(frame)
            elif frame == "ping":
                self.end.feed(client_frame(b"", 0xA))


def client_frame(payload: bytes, opcode: int = 1) -> bytes:
    """Return a masked frame (the mask is zero: RFC 6455 lets a client choose, and the payload stays readable)."""
    size = len(payload)
    length = bytes((0x80 | size,)) if size < 126 else b"\xfe" + struct.pack("!H", size)
    return bytes((0x80 | opcode,)) + length + b"\0\0\0\0" + payload


def decode_frames(data: bytes) -> list[Any]:
    """Return what a server's write holds: frames as objects, control frames and the upgrade's answer as words."""
    if data.startswith(b"HTTP/"):
        return [data.split(b"\r\n", 1)[0].decode()]
    return [_decode(frame) for frame in _split(data)[0]]


def _split(data: bytes) -> tuple[list[tuple[int, bytes]], bytes]:
    frames = []
    while len(data) >= 2:
        size, start = data[1], 2
        if size == 126:
            size, start = int.from_bytes(data[2:4], "big"), 4
        elif size == 127:
            size, start = int.from_bytes(data[2:10], "big"), 10
        if len(data) < start + size:
            break
        frames.append((data[0], data[start : start + size]))
        data = data[start + size :]
    return frames, data


def _decode(frame: tuple[int, bytes]) -> Any:
    first, payload = frame
    if first == 0x81:
        return json.loads(payload)
    words = {0x88: "close", 0x89: "ping", 0x8A: "pong"}
    code = f" {int.from_bytes(payload[:2], 'big')}" if first == 0x88 else ""
    return words.get(first, f"frame {first:#x}") + code


def is_frame(entry: Entry, kind: str) -> bool:
    """Whether an entry is a frame of this type to the client."""
    return entry.who == "<-" and isinstance(entry.what, dict) and entry.what["type"] == kind


def is_received(entry: Entry, kind: type[inbound.Inbound]) -> bool:
    """Whether an entry is a client's frame of this type, as it was handled."""
    return entry.who == "->" and isinstance(entry.what, kind)
